"""Writes docs/types.md from the matrix: `python -m tests.skillian.data.schema.types_page`."""

from collections.abc import Iterator
from pathlib import Path

from tests.skillian.data.schema.type_cases import ENGINES, SHOWN

from skillian.data.schema.matrix import LOSSES, relation
from skillian.data.schema.types import parse_type

PAGE = Path(__file__).parents[4] / "docs" / "types.md"

_HEAD = """\
# Types

Which types of two databases hold the same values? This page answers that for every pair of engines,
in both directions. `skillian schema` and every comparison use the same table
(`src/skillian/data/schema/`), and a test compares this page, cell by cell, with it.

Read a row as: values of this type of the first engine are put into that type of the second.

- **Same values**: both hold exactly the same values. No difference is reported.
- **Holds more**: every value fits, and others would, too. It is reported, and is not a finding.
- **Loses**: some values change or do not fit, and the word before the types says what is lost. It
  is a finding.

A type that a row does not name holds values of another kind: it is a finding, too. Types of your
own tables may have other lengths and digits; the same rules apply to them.

| lost | what |
|---|---|
"""
_NOTES = """
Rules that need to be stated:

- Years before 1 and after 9999, NaN and the infinities are left out: not every engine has them.
- A binary float holds a decimal fraction such as 0.1 only approximately, so a decimal with digits
  after the point loses digits in it. Row comparisons nevertheless compare a float by its shortest
  decimal.
- `tinyint(1)` is MySQL's BOOLEAN and is treated as one, though it may hold other numbers.
- SQLite enforces no types. What counts is the declaration, by which skillian reads the values. A
  column declared without a type, or as a number without digits (`NUMERIC`, `decimal`), has the type
  of its first values if these are all numbers.
  A number of more than 64 bits, or with more than 15 digits and a point, is stored as a binary
  float there.
- DuckDB, SQLite, Parquet, Spark and ClickHouse hardly ever state the length of a text. A shorter
  text on the other side is reported, and is not a finding.
- The types of CSV, Excel and JSON-lines files are guessed from their values, so they are never a
  finding. Widths are not compared, and texts may be anything that a file can only hold as text.
- A ClickHouse `DateTime` with a time zone is an instant; without one it is a date and a time.
  Versions before 26 hold only the years 1900 to 2299 in `Date32` and `DateTime64`.
- Parquet has no enumerations and no milliseconds of their own: DuckDB reads them as `VARCHAR` and
  `TIMESTAMP`.
"""


def page() -> str:
    """Return the text of the page."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    yield _HEAD.rstrip("\n")
    yield from (f"| {loss} | {words} |" for loss, words in LOSSES.items())
    yield _NOTES.rstrip("\n")
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
