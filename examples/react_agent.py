"""An agent that looks things up before it answers. Runs offline: its model is scripted.

With a real one: ReactAgent("openai:gpt-4.1-mini", [population, area])
"""

import asyncio

from tinyagent import ReactAgent, RunFinished, ScriptedModel, ToolFinished, scripted_call, tool

PEOPLE = {"Lisbon": 545_000, "Porto": 232_000}
SQUARE_KM = {"Lisbon": 100, "Porto": 41}


@tool
def population(city: str) -> int:
    """Look up how many people live in a city."""
    return PEOPLE[city]


@tool
async def area(city: str) -> int:
    """Look up the area of a city in square kilometres."""
    return SQUARE_KM[city]


MODEL = ScriptedModel(
    [
        [scripted_call("population", city="Lisbon"), scripted_call("area", city="Lisbon")],
        "About 5,450 people live on each square kilometre of Lisbon.",
    ]
)


async def main() -> None:
    agent = ReactAgent(MODEL, [population, area])
    async for event in agent.stream("How dense is Lisbon?"):
        match event:
            case ToolFinished(result=result):
                print(f"{result.call.name}: {result.content}")
            case RunFinished(result=result):
                print(f"{result} [{result.state}, {result.steps_taken} steps]")
            case _:
                pass


if __name__ == "__main__":
    asyncio.run(main())
