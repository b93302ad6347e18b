"""Agents as tools of each other: one that writes code asks one that looks things up."""

import asyncio

from tinyagent import ReactAgent, ScriptedModel, TinyCodeAgent, scripted_call, tool
from tinyagent.core import ModelRequest, RawToolCall

PEOPLE = {"Lisbon": 545_000, "Porto": 232_000}


@tool
def population(city: str) -> int:
    """Look up how many people live in a city."""
    return PEOPLE[city]


def look_up(request: ModelRequest) -> str | RawToolCall:
    """Replace a model: call the tool, then say what it gave."""
    last = request.messages[-1]
    if last.role == "tool":
        return last.text
    return scripted_call("population", city=last.text.split()[-1])


CODER = ScriptedModel(
    [
        """```python
people = {city: int(ask_archive(f"people in {city}")) for city in ("Lisbon", "Porto")}
final_answer(round(people["Lisbon"] / people["Porto"], 2))
```"""
    ]
)


COMPUTER = ScriptedModel(["```python\nfinal_answer(2 ** 10)\n```"])
CHIEF = ScriptedModel([scripted_call("compute", task="2 ** 10"), "It is 1,024."])


async def main() -> None:
    archive = ReactAgent(ScriptedModel(look_up), [population])
    tools = [archive.as_tool("ask_archive", "Knows the archive.")]
    result = await TinyCodeAgent(CODER, tools).run("How many times as large is Lisbon as Porto?")
    print(f"{result} times, by {result.usage.requests} requests of both models together")

    computer = TinyCodeAgent(COMPUTER, output_type=int)
    chief = ReactAgent(CHIEF, [computer.as_tool("compute", "Computes anything, exactly.")])
    print(await chief.run("How much is 2 to the power of 10?"))


if __name__ == "__main__":
    asyncio.run(main())
