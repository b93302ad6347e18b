"""Async tools in the code of an agent: it calls them as plain functions, they run on your loop."""

import asyncio

from tinyagent import RunFinished, ScriptedModel, TinyCodeAgent, ToolFinished, tool

DEGREES = {"Lisbon": 17, "Oslo": 6, "Cairo": 22}


@tool
async def temperature(city: str) -> int:
    """Look up the mean temperature of a city in degrees Celsius."""
    await asyncio.sleep(0.01)  # stands for a request to a server
    return DEGREES[city]


@tool
def fahrenheit(celsius: float) -> float:
    """Convert degrees Celsius; a tool that is not async runs in a thread."""
    return celsius * 1.8 + 32


MODEL = ScriptedModel(
    [
        """```python
warmest = max(["Lisbon", "Oslo", "Cairo"], key=temperature)
final_answer(f"{warmest}, at {fahrenheit(temperature(warmest)):.0f} degrees Fahrenheit")
```"""
    ]
)


async def main() -> None:
    agent = TinyCodeAgent(MODEL, [temperature, fahrenheit])
    async for event in agent.stream("Which city is the warmest?"):
        match event:
            case ToolFinished(result=result):
                print(f"{result.call.name}({dict(result.call.arguments)}) -> {result.content}")
            case RunFinished(result=result):
                print(result)
            case _:
                pass


if __name__ == "__main__":
    asyncio.run(main())
