"""What `skillian compare` compares: two tables, or the comparisons of a saved file."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlencode

import typer
from pydantic import ValidationError

from skillian.cli.shell import notes, read_settings
from skillian.connectors import PATHS, scheme
from skillian.connectors.base import path_of
from skillian.connectors.files.connector import SUFFIXES, is_table
from skillian.connectors.files.options import FileOptions, split_name, taken_options
from skillian.data.declare.document import reason_of
from skillian.data.declare.files import measured_source
from skillian.data.declare.infer import looks_like_key
from skillian.data.declare.saved import Saved, SavedComparison, read_saved
from skillian.data.declare.sources import SourceRegistry
from skillian.data.tables.relation import address_of, bare_tables, declared_name
from skillian.display import printable
from skillian.errors import InvalidInputError, SourceNotFoundError

if TYPE_CHECKING:
    from skillian.connectors.base import Table
    from skillian.data.declare.definitions import Source
    from skillian.data.tables.relation import SourceOfTable


_SIDES = ("a.", "b.")
_TEST = re.compile(r"(?P<name>[^<>!=]+)(?P<operator>>=|<=|!=|>|<|=)(?P<value>.*)", re.DOTALL)
_OPERATORS = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt", "!=": "ne"}
_NULL = {("is", "not", "null"): "ne", ("is", "null"): None}


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


async def load_measures(options: dict[str, Any], sources: Path | None) -> Saved:
    """Read the two tables whose measures the command line compares.

    Args:
        options: The fields of a `SavedComparison`.
        sources: The `sources.yaml`; None to use the configured one, if it exists.

    Raises:
        ToolError: A name or an option is wrong, or a table cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    measures, keys = options["measures"], (*(options["align_on"] or ()), *options["filters"])
    codes: set[str] = set()

    def as_source(connection: str, table: Table) -> Source:
        codes.update(_codes(table, measures))
        return measured_source(connection, table, measures, keys)

    registry, (a, b) = await named_tables((options["a"], options["b"]), sources, as_source)
    for column in sorted(codes):
        warning = f"{column!r} looks like a code rather than an amount; its numbers are summed"
        _note(f"warning: {warning}")
    resolved = _resolved({**options, "a": a, "b": b, "name": f"{a} and {b}"}, registry)
    return Saved(registry, (saved_comparison(resolved),))


def saved_comparison(content: Mapping[str, Any]) -> SavedComparison:
    """The comparison of these fields; raises `InvalidInputError` with what is wrong."""
    try:
        return SavedComparison.model_validate(content)
    except ValidationError as error:
        faults = (
            f"{'.'.join(map(str, each['loc']))}: {reason_of(each)}" for each in error.errors()
        )
        raise InvalidInputError("; ".join(faults)) from None


async def named_tables(
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
    path = read_settings(sources=sources).sources
    needed = sources is not None or any(address_of(name) is None for name in names)
    declared = SourceRegistry.load(path) if needed and (sources or path.exists()) else None
    for name in names:
        source = None if declared is None else declared_name(name, declared)
        if source is None:
            _check_name(name, declared, path)
        elif source != name:
            _note(f"{name} is read as {path} declares it: source {source}")
    return await bare_tables(names, declared, as_source)


def _note(text: str) -> None:
    notes.print(printable(text), style="yellow", markup=False, soft_wrap=True)


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


def read_filters(entries: Iterable[str]) -> dict[str, Any]:
    """The filters of `--where`: values of a name match any of them, ranges must all hold.

    Raises:
        BadParameter: One is not a filter, or two of a name exclude each other.
    """
    filters: dict[str, Any] = {}
    for entry in entries:
        name, operator, value = _test(entry)
        known = filters.setdefault(name, [] if operator is None else {})
        if isinstance(known, list) is not (operator is None):
            raise typer.BadParameter(f"--where {entry!r}: {name} has a value and a range")
        if operator is None:
            known.append(value)
        elif operator == "ne":
            known.setdefault("ne", []).append(value)
        elif operator in known:
            raise typer.BadParameter(f"--where {entry!r}: {name} has this limit already")
        else:
            known[operator] = value and value.strip()
    return filters


def _test(entry: str) -> tuple[str, str | None, str | None]:
    """The name, operator and value of a filter; the value of `name is null` is None."""
    if test := _TEST.fullmatch(entry):
        return test["name"].strip(), _OPERATORS.get(test["operator"]), test["value"]
    for words, operator in _NULL.items():
        named = entry.rsplit(maxsplit=len(words))
        if len(named) > len(words) and [word.casefold() for word in named[1:]] == [*words]:
            return named[0].strip(), operator, None
    raise typer.BadParameter(
        f"--where {entry!r} is not of the form name=value, name!=value, name>=value, 'name is null'"
        " or 'name is not null'"
    )


def is_file(name: str) -> bool:
    """Whether a name is that of a file; `#` separates a workbook from one of its sheets."""
    file = split_name(name)[0]
    return any(is_table(Path(part)) for part in (file, file.partition("#")[0]))


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
            is_sheet = option.startswith("sheet=")
            said = "--sheet goes with Excel files" if is_sheet else f"--csv {option}"
            kinds = "" if is_sheet else " does not go with files of these kinds"
            raise typer.BadParameter(f"{said}{kinds}: {a}, {b}")
    return _addressed(a, first), _addressed(b, second)


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


def _addressed(name: str, options: Sequence[str]) -> str:
    file, _, table = name.partition("#")
    kind = _database(Path(file))
    if kind and not is_file(name):
        return f"{kind}:///{Path(file).absolute()}" + (f"#{table}" if table else "")
    if not options:
        return name
    path, query = split_name(name)
    pairs = (option.partition("=") for option in options)
    stated = urlencode([(key, value) for key, _, value in pairs], quote_via=quote)
    named = f"files:///{Path(path).absolute()}" if Path(path).is_dir() else path
    return f"{named}?{'&'.join(part for part in (query, stated) if part)}"


def _database(path: Path) -> str:
    """The scheme of a database file by how it starts; empty for any other file."""
    if not path.is_file():  # opening a pipe would wait for its writer
        return ""
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


def _check_name(name: str, declared: SourceRegistry | None, path: Path) -> None:
    """Explain a name that is neither a declared source nor the address of a table that exists.

    Args:
        name: The name on the command line.
        declared: The declared sources; None if the file that declares them does not exist.
        path: The path of that file.

    Raises:
        InvalidInputError: It is not the name of a file that can be compared.
        SourceNotFoundError: No such source is declared.
    """
    address = address_of(name)
    if address is not None:
        _check_path(address.url)
    elif is_file(name):
        check_file(name)
    elif Path(name).exists() or Path(name).suffix:
        raise InvalidInputError(
            f"{name!r} is not a file that can be compared; supported suffixes:"
            f" {', '.join(sorted(SUFFIXES))}; a table of a database is named by its URL, such"
            " as sqlite:///shop.sqlite#orders"
        )
    elif declared is not None:
        raise SourceNotFoundError(name, declared.names)
    else:
        raise InvalidInputError(
            f"{name!r} is not a file or the URL of a table, and there is no {path} that"
            " declares it as a source; write a first one with: skillian sources infer URL"
        )


def _check_path(url: str) -> None:
    """Raise `InvalidInputError` if the path in a URL leads nowhere."""
    kind = scheme(url)
    if kind not in PATHS:
        return
    path = path_of(url, Path())
    plain = path_of(url.partition("?")[0], Path())
    before, mark, table = str(plain).rpartition("#")
    if mark and Path(before).exists():
        raise InvalidInputError(
            f"{table!r} is not the name of a table; write one without slashes and `@` after the"
            f" `#`, such as {kind}:///{before}#orders"
        )
    if not path.exists() and not plain.exists():
        hint = "" if plain.is_absolute() else f"; for /{plain} write {kind}:////{plain}"
        raise InvalidInputError(f"there is no {str(plain)!r} in {Path.cwd()}{hint}")


def _codes(table: Table, measures: Collection[str]) -> Iterator[str]:
    """Yield each measure that looks like a code, whose sum means nothing."""
    names = {measure.casefold() for measure in measures}
    for column, kind in table.columns.items():
        if column.casefold() in names and looks_like_key(column, kind):
            yield column
