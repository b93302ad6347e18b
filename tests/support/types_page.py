"""Writes the tables of docs/types.md: `python -m tests.support.types_page`."""

from collections.abc import Iterator
from pathlib import Path

from tests.skillian.data.schema.type_cases import ENGINES, SHOWN

from skillian.data.schema.types import LOSSES, parse_type, relation

PAGE = Path(__file__).parents[2] / "docs" / "types.md"

_FIRST = f"\n## From {next(iter(ENGINES.values()))}\n"


def page() -> str:
    """Return the text of the page, whose beginning is written by hand."""
    beginning = PAGE.read_text(encoding="utf-8").partition(_FIRST)[0]
    losses = "".join(f"| {loss} | {words} |\n" for loss, words in LOSSES.items())
    assert f"|---|---|\n{losses}\n" in beginning
    return beginning + "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    for a, name_a in ENGINES.items():
        yield f"\n## From {name_a}"
        for b, name_b in ENGINES.items():
            yield f"\n### {name_a} to {name_b}\n"
            yield f"| {name_a} | same values | holds more | loses |"
            yield "|---|---|---|---|"
            yield from (_row(a, each, b) for each in SHOWN[a])


def _row(engine: str, text: str, other: str) -> str:
    same, more = list[str](), list[str]()
    less: dict[str, list[str]] = {}
    for candidate in SHOWN[other]:
        how = relation(parse_type(engine, text), parse_type(other, candidate))
        if how.kind == "loses":
            less.setdefault(" and ".join(how.losses), []).append(f"`{candidate}`")
        elif how.kind != "differs":
            (same if how.kind == "equivalent" else more).append(f"`{candidate}`")
    losses = "; ".join(f"{loss}: {', '.join(types)}" for loss, types in less.items())
    return f"| `{text}` | {', '.join(same)} | {', '.join(more)} | {losses} |"


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
