"""A run that outlives its process: killed in the middle of a block of code, it goes on there.

The program starts itself twice. The first process kills itself before the third call; the second
takes the run up, makes only that call, and has the variables of all three.
"""

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from tinyagent import ScriptedModel, TinyCodeAgent, tool
from tinyagent.durable import DurableRuns

REPLIES = [
    """```python
stock = {}
for item in ("bolts", "nuts", "washers"):
    stock[item] = count(item)
```""",
    """```python
final_answer(sum(stock.values()))
```""",
]


def storekeeper(*, first_life: bool) -> TinyCodeAgent[int]:
    @tool
    def count(item: str) -> int:
        """Count an item in the warehouse."""
        if first_life and item == "washers":
            os.kill(os.getpid(), signal.SIGKILL)
        print(f"  counted {item}", flush=True)
        return len(item)

    by_turn = ScriptedModel(lambda request: REPLIES[len(request.messages) // 2 - 1])
    return TinyCodeAgent(by_turn, [count], output_type=int)


async def live(folder: str, *, first_life: bool) -> None:
    agents = {"storekeeper": storekeeper(first_life=first_life)}
    async with DurableRuns(f"sqlite:///{folder}/runs.sqlite", agents) as runs:
        record = await runs.run("storekeeper", "How many parts are there?", run_id="stocktaking")
        if record.state == "needs_decision":
            # The call was begun and has no result. Counting again does no harm.
            print(f"  in doubt: {record.questions[0].tool} {record.questions[0].arguments}")
            await runs.decide("stocktaking", "retry")
            record = await runs.wait("stocktaking")
        print(f"  {record.output} parts", flush=True)


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        for life in ("first", "second"):
            print(f"{life} process", flush=True)
            command = [sys.executable, str(Path(__file__)), folder, life]
            print(f"  ended with {subprocess.run(command, check=False).returncode}")  # noqa: S603


if __name__ == "__main__":
    if sys.argv[1:]:
        asyncio.run(live(sys.argv[1], first_life=sys.argv[2] == "first"))
    else:
        main()
