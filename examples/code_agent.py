"""An agent that writes Python: from a CSV file to a plot. Runs offline: its model is scripted.

With a real one: TinyCodeAgent("openai:gpt-4.1-mini", sandbox=Sandbox(files=[...]))
"""

import tempfile
from pathlib import Path

from tinyagent import Sandbox, ScriptedModel, TinyCodeAgent

SALES = "month,amount\n2026-01,120\n2026-02,80\n2026-03,190\n"

MODEL = ScriptedModel(
    [
        """I look at the file.
```python
import csv
rows = list(csv.DictReader(open("sales.csv")))
rows[0]
```""",
        """The amounts are texts. I draw them as numbers.
```python
import matplotlib.pyplot as plt
amounts = [int(row["amount"]) for row in rows]
plt.bar([row["month"] for row in rows], amounts)
plt.title("Sales")
```""",
        """```python
final_answer(f"{sum(amounts)} were sold, most of it in {rows[-1]['month']}.")
```""",
    ]
)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        sales = Path(folder) / "sales.csv"
        sales.write_text(SALES)
        result = TinyCodeAgent(MODEL, sandbox=Sandbox(files=[sales])).run_sync(
            "Draw the sales and add them up."
        )
    for step in result.steps:
        print(f"{step.code}\n  -> {step.observation}\n")
    print(result)
    for artifact in result.artifacts:
        print(f"saved {artifact.save('.')}, {artifact.media_type}")


if __name__ == "__main__":
    main()
