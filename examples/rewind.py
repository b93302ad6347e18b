"""Steps that can be taken back: each runs in a fork, and earlier states are kept.

A step that fails badly loses only itself; `rewind` goes back behind steps that went well.
"""

import asyncio

from tinyagent import ExecutionLimits, Sandbox
from tinyagent.execution import ProcessExecutor


async def main() -> None:
    async with ProcessExecutor(Sandbox(limits=ExecutionLimits(timeout_seconds=1))) as executor:

        async def step(code: str) -> None:
            result = await executor.run(code)
            said = (result.error or result.value_text).strip().splitlines()[-1:]
            print(f"{code:<42} {''.join(said)}")

        await step("rows = [3, 1, 2]; rows")
        await step("while True: rows.pop() if rows else None")
        await step("rows")

        await step("rows.clear(); rows")
        executor.rewind()
        print("rewind()")
        await step("rows")

        await step("rows.append(4); rows")
        await step("rows.append(5); rows")
        executor.rewind(2)
        print("rewind(2)")
        await step("rows")


if __name__ == "__main__":
    asyncio.run(main())
