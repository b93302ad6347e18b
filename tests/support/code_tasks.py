"""Small tasks for a code agent, each with what a right answer is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from tinyagent import RunResult, Tool, ToolRetry

SALES = """month,region,amount
2026-01,north,120
2026-01,south,75
2026-02,north,80
2026-02,south,95
2026-03,north,190
2026-03,south,60
"""
DEGREES = {"Lisbon": 17, "Oslo": 6, "Cairo": 22, "Lima": 19}
PRICES = {"AB-7": 12.5, "CD-9": 30.0}


def temperature(city: str) -> int:
    """Look up the mean temperature of a city in degrees Celsius.

    Args:
        city: the city's name.
    """
    return DEGREES[city]


def price(code: str) -> float:
    """Look up the price of an article.

    Args:
        code: the article's code.
    """
    if code not in PRICES:
        raise ToolRetry(f"there is no article {code!r}; codes are in capitals, such as 'XY-1'")
    return PRICES[code]


class CodeTask(NamedTuple):
    """A task, what the agent is given for it, and what shows that it was done."""

    name: str
    task: str
    is_right: Callable[[RunResult[Any]], bool]
    output_type: Any = None
    tools: Sequence[Tool] = ()
    files: tuple[str, ...] = ()


def _made_a_plot(result: RunResult[Any]) -> bool:
    return any(artifact.data.startswith(b"\x89PNG") for artifact in result.artifacts)


TASKS = [
    CodeTask(
        "a loop over a tool",
        "Which of the cities Lisbon, Oslo, Cairo and Lima is the warmest? Answer with its name.",
        lambda result: "Cairo" in result.output,
        tools=[Tool.from_function(temperature)],
    ),
    CodeTask(
        "a table from a file",
        "The file sales.csv has the columns month, region and amount. What is the sum of amount"
        " for the region north?",
        lambda result: result.output == 390,
        output_type=int,
        files=("sales.csv",),
    ),
    CodeTask(
        "a corrected error",
        "What do the articles ab-7 and cd-9 cost together?",
        lambda result: result.output == 42.5,
        output_type=float,
        tools=[Tool.from_function(price)],
    ),
    CodeTask(
        "work on a text",
        "How many words of this sentence have more than four letters: The quick brown fox jumps"
        " over the lazy dog",
        lambda result: result.output == 3,
        output_type=int,
    ),
    CodeTask(
        "dates",
        "How many days are there from 2024-02-10 to 2024-03-10?",
        lambda result: result.output == 29,
        output_type=int,
    ),
    CodeTask(
        "a plot",
        "Draw a line plot of the squares of the numbers 1 to 5 with matplotlib and save it as"
        " squares.png. Then answer with the name of the file.",
        lambda result: "squares.png" in result.output and _made_a_plot(result),
    ),
]


def write_files(task: CodeTask, folder: Path) -> list[Path]:
    """The files that the task names, written into the folder."""
    contents = {"sales.csv": SALES}
    for name in task.files:
        (folder / name).write_text(contents[name])
    return [folder / name for name in task.files]
