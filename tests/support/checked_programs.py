"""The tools and programs of the tests of the check of code."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from typing import Any, Literal, NamedTuple

from tinyagent import Tool
from tinyagent.agents.code_check.check import CodeCheck
from tinyagent.agents.code_prompt import HELPERS
from tinyagent.agents.code_reply import read_code_reply
from tinyagent.execution.trust import TrustLevel, imports_at

FOLDER = Path(__file__).parents[1] / "tinyagent" / "agents" / "code_checks"


class Block(NamedTuple):
    """One block, and whether it is to fail when it runs."""

    code: str
    fails: bool = False


class Program(NamedTuple):
    """The blocks of one run, and what a report must hold."""

    name: str
    blocks: tuple[Block, ...]
    says: tuple[str, ...] = ()


def programs(file: str) -> Iterator[Program]:
    """The programs of a file."""
    parts = f"\n{(FOLDER / file).read_text(encoding='utf-8')}".split("\n===")[1:]
    for number, part in enumerate(parts, 1):
        head, _, text = part.partition("\n")
        blocks = tuple(_blocks(text))
        says = tuple(word.strip() for word in head.split(";") if word.strip())
        yield Program(f"{file}-{number}", blocks, says)


def _blocks(text: str) -> Iterator[Block]:
    fails = False
    lines: list[str] = []
    for line in [*text.splitlines(), "--- then"]:
        if not line.startswith("--- "):
            lines.append(line)
            continue
        if any(lines):
            yield Block("\n".join(lines), fails)
        fails, lines = line == "--- fails", []


def stock(item: str) -> int:
    """How many there are."""
    return len(item)


def order(item: str, quantity: int, express: bool = False) -> str:  # noqa: FBT001, FBT002 - for a model
    """Order something."""
    return f"{quantity} {item} {express}"


def send_mail(to: str, subject: str, body: str = "", cc: list[str] | None = None) -> str:
    """Send a mail."""
    return f"{to} {subject} {body} {cc}"


def get_weather(city: str, unit: Literal["C", "F"] = "C") -> dict[str, Any]:
    """The weather now."""
    return {"t": len(city), "unit": unit}


def search(query: str, limit: int | None = 10) -> list[dict[str, Any]]:
    """Search pages."""
    return [{"title": query, "score": score} for score in range(min(limit or 1, 3))]


def add_event(title: str, day: date, minutes: int = 30) -> str:
    """Add an event to the calendar."""
    return f"{title} {day} {minutes}"


def convert(amount: float, currency: Literal["EUR", "USD", "GBP"]) -> float:
    """Convert an amount."""
    return amount * len(currency)


def save_record(record: dict[str, int]) -> str:
    """Save a record."""
    return str(record)


def rate(scores: list[int]) -> float:
    """The mean of scores."""
    return sum(scores) / len(scores)


FUNCTIONS = (stock, order, send_mail, get_weather, search, add_event, convert, save_record, rate)
TOOLS = {each.__name__: Tool.from_function(each) for each in FUNCTIONS}


def new_check(names: Iterable[str] = ()) -> CodeCheck:
    """The check of a run in a sandbox of its own, in which these names exist."""
    imports = imports_at(TrustLevel.ISOLATED, ())
    return CodeCheck({*HELPERS, *names}, imports, knows_names=True, is_module=True)


def check(program: Program) -> None:
    """Check all blocks in their order."""
    checker = new_check()
    for block in program.blocks:
        checker.check(read_code_reply(f"```python\n{block.code}\n```").tree, TOOLS)
