"""What `skillian compare` compares: two files, two sources, or the comparisons of a saved file."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

from pydantic import ValidationError

from skillian.cli.shell import notes, read_settings
from skillian.connectors.files.connector import SUFFIXES, is_table
from skillian.connectors.files.options import split_name
from skillian.data.declare.infer import (
    declared_files,
    is_whole,
    looks_like_key,
    sources_of,
    tables_of,
)
from skillian.data.declare.saved import Saved, SavedComparison, read_saved
from skillian.data.declare.sources import SourceRegistry
from skillian.display import printable
from skillian.errors import InvalidInputError

if TYPE_CHECKING:
    from skillian.connectors.base import Table

_HINT = "name what to compare with --measure, and what to align on with --by"


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


async def load_options(options: dict[str, Any], sources: Path | None) -> Saved:
    """Read the two files or the two sources that the command line names.

    Args:
        options: The fields of a `SavedComparison`.
        sources: The `sources.yaml`; None to use the configured one, if it exists.

    Raises:
        ToolError: A name or an option is wrong, or a file cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    if sources is None and is_file(options["a"]) and is_file(options["b"]):
        registry = await _of_files(options)
    else:
        registry = _of_sources(options, sources)
    try:
        comparison = SavedComparison.model_validate(_resolved(options, registry))
        return Saved(registry, (comparison,))
    except ValidationError as error:
        faults = (f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in error.errors())
        raise InvalidInputError("; ".join(faults)) from None


def _resolved(options: dict[str, Any], registry: SourceRegistry) -> dict[str, Any]:
    """The options with the names that the first source has, where only their case differs."""
    source = registry.get(options["a"])
    names = [*source.dimensions, *source.measures]

    def known(name: str) -> str:
        alike = [each for each in names if each.casefold() == name.casefold()]
        return alike[0] if name not in names and len(alike) == 1 else name

    align_on = options["align_on"]
    return options | {
        "measures": [known(name) for name in options["measures"]],
        "align_on": align_on and [known(name) for name in align_on],
        "filters": {known(name): test for name, test in options["filters"].items()},
    }


async def _of_files(options: dict[str, Any]) -> SourceRegistry:
    """The files as sources: as the `sources.yaml` declares them, otherwise by their columns."""
    names = options["a"], options["b"]
    path = read_settings(sources=None).sources
    declared = SourceRegistry.load(path) if path.exists() else None
    known = declared_files(names, declared)
    undeclared = [name for name in names if name not in known]
    for name in undeclared:
        check_file(name)
    tables = await tables_of(undeclared)
    measures = options["measures"]
    if not measures:
        raise InvalidInputError(_columns(tables))
    for warning in _code_warnings(tables, measures):
        message = printable(f"warning: {warning}")
        notes.print(message, style="yellow", markup=False, soft_wrap=True)
    keys = (*(options["align_on"] or ()), *options["filters"])
    return sources_of(tables, measures, keys, known, declared)


def _of_sources(options: dict[str, Any], sources: Path | None) -> SourceRegistry:
    names = options["a"], options["b"]
    path = read_settings(sources=sources).sources
    registry = SourceRegistry.load(path) if sources is not None or path.exists() else None
    _check_names(names, registry, path)
    if registry is None:
        raise AssertionError("without sources these names are refused")
    if not options["measures"]:
        raise InvalidInputError(_measures(names, registry))
    return registry


def is_file(name: str) -> bool:
    """Return whether a name is that of a file; `#` separates a workbook from one of its sheets."""
    file = split_name(name)[0]
    return any(is_table(Path(part)) for part in (file, file.partition("#")[0]))


def addressed(name: str, options: Sequence[str]) -> str:
    """Return a name on the command line as the tables are named: a file with its options.

    Args:
        name: A file, a database file such as `shop.sqlite#orders`, or any other name.
        options: The options of `--csv`, such as `decimal=,`.
    """
    file, _, table = name.partition("#")
    kind = _database(Path(file))
    if kind and not is_file(name):
        return f"{kind}:///{Path(file).absolute()}" + (f"#{table}" if table else "")
    if not options or not is_file(name):
        return name
    path, query = split_name(name)
    pairs = (option.partition("=") for option in options)
    stated = urlencode([(key, value) for key, _, value in pairs], quote_via=quote)
    return f"{path}?{'&'.join(part for part in (query, stated) if part)}"


def _database(path: Path) -> str:
    """Return the scheme of a database file by how it starts; empty for any other file."""
    try:
        with path.open("rb") as file:
            start = file.read(16)
    except OSError:
        return ""
    return (
        "sqlite"
        if start.startswith(b"SQLite format 3")
        else ("duckdb" if start[8:12] == b"DUCK" else "")
    )


def check_file(name: str) -> None:
    """Raise `InvalidInputError` if there is no file of this name."""
    file = split_name(name)[0]
    candidates = [Path(file), Path(file.partition("#")[0])]
    if not any(path.exists() for path in candidates):
        raise InvalidInputError(f"there is no file {name!r} in {Path.cwd()}")
    if all(path.is_dir() for path in candidates):
        raise InvalidInputError(f"{name!r} is a folder; name a file in it")


def _check_names(names: Sequence[str], registry: SourceRegistry | None, path: Path) -> None:
    """Explain names that are not sources but look like files.

    Args:
        names: The names on the command line.
        registry: The declared sources; None if the file that declares them does not exist.
        path: The path of that file.

    Raises:
        InvalidInputError: A name is neither a source nor a file that can be compared.
    """
    known = () if registry is None else registry.names
    unknown = [name for name in names if name not in known]
    for name in unknown:
        if is_file(name):
            check_file(name)
        elif Path(name).exists() or (registry is None and Path(name).suffix):
            kinds = ", ".join(sorted(SUFFIXES))
            raise InvalidInputError(
                f"{name!r} is not a file that can be compared; supported suffixes: {kinds}"
            )
    for name in filter(is_file, unknown):
        other = next((each for each in names if each != name), name)
        raise InvalidInputError(
            f"a file can only be compared with another file, and {other!r} is not"
            f" one; declare {name!r} in {path} to compare it with a source"
        )
    if registry is None:
        raise InvalidInputError(
            f"{names[0]!r} and {names[1]!r} are not files, and there is no {path} that declares"
            " them as sources; name a sources file with --sources, or write a first one with:"
            " skillian sources infer URL"
        )


def _columns(tables: Mapping[str, Table]) -> str:
    """The columns that can be compared, for a command line without measures."""
    lines = [f"{_HINT}; the columns are:"]
    for name, table in tables.items():
        columns = ", ".join(f"{column} ({kind.sql})" for column, kind in table.columns.items())
        lines.append(f"  {name}: {columns}")
    first, second = (list(tables.values()) * 2)[:2]
    shared = {c: kind for c, kind in first.columns.items() if c in second.columns}
    amounts = [c for c, kind in shared.items() if kind.kind in {"decimal", "float"}]
    whole = [c for c, kind in shared.items() if is_whole(kind) and not looks_like_key(c, kind)]
    measure = next(iter([*amounts, *whole]), None)
    keys = [c for c in shared if c not in amounts and c != measure]
    if measure is not None and keys:
        by = " ".join(f"--by {key}" for key in keys[:2])
        names = " ".join((list(tables) * 2)[:2])
        lines.append(f"For example: skillian compare {names} --measure {measure} {by}")
    return "\n".join(lines)


def _measures(names: Sequence[str], registry: SourceRegistry) -> str:
    """The measures that can be compared, for a command line without measures."""
    lines = [f"{_HINT}; the sources have:"]
    for name in dict.fromkeys(names):
        source = registry.get(name)
        lines.append(f"  {name}: measures {', '.join(source.measures) or 'none'};")
        lines[-1] += f" dimensions {', '.join(source.dimensions) or 'none'}"
    return "\n".join(lines)


def _code_warnings(tables: Mapping[str, Table], measures: Collection[str]) -> Iterator[str]:
    """A warning for each measure that looks like a code, whose sum means nothing."""
    names = {measure.casefold() for measure in measures}
    codes = {
        column
        for table in tables.values()
        for column, kind in table.columns.items()
        if column.casefold() in names and looks_like_key(column, kind)
    }
    for column in sorted(codes):
        yield f"{column!r} looks like a code rather than an amount; its numbers are summed"
