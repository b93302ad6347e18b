"""What `skillian compare` compares: two tables, or the comparisons of a saved file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillian.cli.shell import notes, sources_file
from skillian.connectors.files.connector import is_table
from skillian.connectors.files.options import FileOptions, split_name, taken_options
from skillian.data.declare.saved import Saved, read_saved
from skillian.data.named import (
    is_file,
    named_tables,
    saved_comparison,
    source_of,
    with_known_names,
    with_options,
)
from skillian.display import printable

if TYPE_CHECKING:
    from skillian.connectors.base import Table
    from skillian.data.declare.definitions import Source
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.query.relation import SourceOfTable

_SIDES = ("a.", "b.")


async def load_saved(path: Path, fail_on: str | None) -> Saved:
    """Read the comparisons of a saved file.

    Args:
        path: The file.
        fail_on: Overrides what the file counts as a finding.

    Raises:
        ConfigurationError: The file has faults.
    """
    saved = read_saved(path)
    if fail_on is None:
        return saved
    update = {"fail_on": fail_on}
    comparisons = tuple(each.model_copy(update=update) for each in saved.comparisons)
    return replace(saved, comparisons=comparisons)


async def load_asked(
    names: tuple[str, str], asked: Mapping[str, Any], sources: Path | None
) -> Saved:
    """Read the two tables that the command line compares.

    Args:
        names: The two tables: files, addresses of tables, or declared sources.
        asked: The fields of a `SavedComparison` that the command line states.
        sources: The `sources.yaml`; None to use the configured one, if it exists.

    Raises:
        ToolError: A name or an option is wrong, or a table cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    codes: set[str] = set()
    make = source_of(asked)

    def as_source(connection: str, table: Table) -> Source:
        codes.update(_codes(table, asked.get("measures", ())))
        return make(connection, table)

    registry, (a, b) = await named_by_command(names, sources, as_source)
    for column in sorted(codes):
        warning = f"{column!r} looks like a code rather than an amount; its numbers are summed"
        _note(f"warning: {warning}")
    fields = with_known_names({"name": f"{a} and {b}", "a": a, "b": b, **asked}, registry)
    return Saved(registry, (saved_comparison(fields),))


async def named_by_command(
    names: tuple[str, str], sources: Path | None, as_source: SourceOfTable | None = None
) -> tuple[SourceRegistry, tuple[str, ...]]:
    """The tables that a command line names as sources, and the names of these sources.

    Args:
        names: The two tables: files, addresses of tables, or declared sources.
        sources: The `sources.yaml`; None to use the configured one, if it exists.
        as_source: Makes a source of a table that nobody has declared.

    Raises:
        ToolError: A name is wrong, or a table cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    path = sources_file(sources)
    return await named_tables(names, path, _note, as_source, is_stated=sources is not None)


def _note(text: str) -> None:
    notes.print(printable(text), style="yellow", markup=False, soft_wrap=True)


def addressed(a: str, b: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """Names on the command line as the tables are named: files with their options.

    Args:
        a: A file, a database file such as `shop.sqlite#orders`, or any other name.
        b: The other name.
        options: The options of `--csv`, such as `decimal=,`, or `a.decimal=,` for the first of
            the two; each file gets those that it takes.

    Raises:
        BadParameter: Neither of the two takes an option.
    """
    first, second = (
        [option for option in _of_side(side, options) if _takes(name, option.partition("=")[0])]
        for side, name in (("a.", a), ("b.", b))
    )
    for option in options:
        stated = option[2:] if option.startswith(_SIDES) else option
        if stated not in {*first, *second}:
            raise typer.BadParameter(
                f"--csv {option} does not go with files of these kinds: {a}, {b}"
            )
    return with_options(a, first), with_options(b, second)


def _of_side(side: str, options: Sequence[str]) -> list[str]:
    """The options for one of the two names: those for both, then its own."""
    shared = [option for option in options if not option.startswith(_SIDES)]
    return shared + [option.removeprefix(side) for option in options if option.startswith(side)]


def _takes(name: str, option: str) -> bool:
    """Whether a file or a folder of files takes an option; an unknown one is refused later."""
    path = Path(split_name(name)[0])
    is_unknown = option not in FileOptions.__dataclass_fields__
    if path.is_dir():
        return True
    file = path if is_table(path) else Path(str(path).partition("#")[0])
    return is_file(name) and (is_unknown or option in taken_options(file))


def _codes(table: Table, measures: Collection[str]) -> Iterator[str]:
    """Yield each measure that looks like a code, whose sum means nothing."""
    if not measures:
        return
    from skillian.data.declare.infer import looks_like_key

    names = {measure.casefold() for measure in measures}
    for column, kind in table.columns.items():
        if column.casefold() in names and looks_like_key(column, kind):
            yield column
