"""Three tries from one state, of which a test chooses one. Runs offline: a scripted model.

The candidates share the loaded data; each has variables and files of its own.
"""

import asyncio

from tinyagent import ScriptedModel, TinyCodeAgent
from tinyagent.execution import ProcessExecutor

TRIES = ("rows[-1]", "sum(rows) // len(rows)", "sorted(rows)[len(rows) // 2]")
TEST = """
half = len(rows) / 2
assert sum(row <= answer for row in rows) >= half
assert sum(row >= answer for row in rows) >= half
"""


async def main() -> None:
    model = ScriptedModel([f"```python\nfinal_answer({answer})\n```" for answer in TRIES])
    async with ProcessExecutor() as executor:
        await executor.run("rows = [n * n % 101 for n in range(1001)]")
        agent = TinyCodeAgent(model, output_type=int, executor=executor)
        best = await agent.best_of("What is the median of rows?", 3, TEST)
        for result, score in zip(best.candidates, best.scores, strict=True):
            print(result.output, "wrong" if score is None else "right")
        print("chosen:", best.output, "after", best.usage.requests, "requests")


asyncio.run(main())
