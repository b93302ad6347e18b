"""What `skillian compare` is asked: its tables or saved file, and its options as fields."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from skillian.cli.shell import (
    IN_QUOTES,
    SOURCES,
    column_map,
    listed,
    refuse,
    say,
    sources_file,
    unquoted,
)
from skillian.connectors import PATHS, scheme
from skillian.connectors.files.connector import is_table
from skillian.connectors.files.options import FileOptions, split_name, taken_options
from skillian.data.declare.saved import Saved, read_saved
from skillian.data.declare.sources import VARIABLE
from skillian.data.named import (
    is_file,
    named_tables,
    saved_comparison,
    source_of,
    with_known_names,
    with_options,
)
from skillian.data.subjects import subject_of
from skillian.errors import InvalidInputError

if TYPE_CHECKING:
    from skillian.connectors.base import Table
    from skillian.data.declare.definitions import Source
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.query.relation import SourceOfTable

_SIDES = ("a.", "b.")

_FLAGS = ("trim", "ignore_case", "nfc", "collapse_whitespace", "empty_is_null")
_NUMBER = re.compile(r"(?P<number>\d+(?:\.\d+)?|\.\d+)(?P<unit>%|s|)")
_VALUE = re.compile(
    r"(?P<name>factor|divisor|plus|round|length|zone|zone-a|zone-b|precision)=(?P<value>[^=]+)"
    r"|shift=(?P<shift>[+-]?\d+(?:\.\d+)?)(?P<span>[smhd])"
)
_SPANS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_PERCENT = Decimal(100)
_DECIMAL_COMMA = re.compile(r"(?<![\d.])(?:\d+|[1-9]\d{0,2}(?:\.\d{3})+),\d+(?![\d.])")
_TEST = re.compile(
    rf'(?P<name>\s*"{IN_QUOTES}"\s*|\s*[^<>!="\s][^<>!=]*)'
    r"(?P<operator>>=|<=|<>|!=|==|>|<|=)(?P<value>.*)",
    re.DOTALL,
)
_OPERATORS = {">=": "gte", "<=": "lte", ">": "gt", "<": "lt", "!=": "ne", "<>": "ne"}
_NULL = {("is", "not", "null"): "ne", ("is", "null"): None}
_CLASSES = {"match": "match", "minor": "minor_diff"}


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
    if sources is None and path != SOURCES and not path.exists():
        _note(f"warning: there is no {path}, which SKILLIAN_SOURCES names")
    return await named_tables(names, path, _note, as_source, is_stated=sources is not None)


def _note(text: str) -> None:
    say(text, "yellow")


def addressed(a: str, b: str, options: Sequence[str] = ()) -> tuple[str, str]:
    """Names on the command line as the tables are named: files with their options.

    Args:
        a: A file, a database file such as `shop.sqlite#orders`, or any other name.
        b: The other name.
        options: The options of `--csv`, such as `decimal=,`, or `a.decimal=,` for the first of
            the two; each file gets those that it takes.

    Raises:
        BadParameter: Neither of the two takes an option, or a variable in a path is not set.
    """
    a, b = _filled(a), _filled(b)
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


def _filled(name: str) -> str:
    """A name with the values of variables in a path; in other URLs they may be secret."""
    if scheme(name) not in PATHS:
        return name
    try:
        return VARIABLE.sub(lambda match: os.environ[match[1]], name)
    except KeyError as error:
        raise typer.BadParameter(f"{name}: {error.args[0]} is not set") from None


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


def read_rule(entry: str) -> tuple[str, dict[str, Any]]:
    """The column, or "" for all, and the rule of `0.01`, `name:5s` or `name:trim,factor=100`."""
    name, colon, text = entry.rpartition(":")
    parts = _parts("--rule", entry, text) if bool(colon) == bool(name) else []
    stated = [_part_of_rule(part) for part in parts]
    if not stated or not all(stated):
        raise InvalidInputError(
            f"--rule {entry!r} is not understood; write 0.01 for the largest difference of numbers,"
            " 1% for a percentage, 5s for seconds, or one of"
            f" {', '.join(flag.replace('_', '-') for flag in _FLAGS)}; what is done with the value"
            " of a is factor=100, divisor=1.19, plus=5, shift=2h or zone-b=Europe/Berlin, and with"
            " both zone=Europe/Berlin, round=2, length=20 or precision=day; for one column:"
            " name:0.01"
        )
    rule: dict[str, Any] = {}
    for part in stated:
        _add("--rule", entry, rule, part)
    return name, rule


def _parts(option: str, entry: str, text: str) -> list[str]:
    """The parts of a rule or limit; raises `InvalidInputError` for a decimal comma."""
    if _DECIMAL_COMMA.search(text):
        raise InvalidInputError(
            f"{option} {entry!r} has a comma between two digits; write a decimal point (0.5), or"
            f" state the two parts in two options {option}"
        )
    return [part.strip() for part in text.split(",")]


def _part_of_rule(word: str) -> dict[str, Any]:
    """What one part of a rule states; empty if it is not understood."""
    if number := _NUMBER.fullmatch(word):
        value = Decimal(number["number"])
        unit = {"": "absolute", "%": "relative", "s": "seconds"}[number["unit"]]
        return {unit: value / _PERCENT if unit == "relative" else value}
    flag = word.replace("-", "_")
    if flag in _FLAGS:
        return {flag: True}
    stated = _VALUE.fullmatch(word)
    if stated is None:
        return {}
    if stated["shift"] is not None:
        return {"shift": Decimal(stated["shift"]) * _SPANS[stated["span"]]}
    return {stated["name"].replace("-", "_"): stated["value"]}


def _add(option: str, entry: str, known: dict[str, Any], more: Mapping[str, Any]) -> None:
    """Add to what options have stated; raises `InvalidInputError` for what they have already."""
    if known.keys() & more.keys():
        raise InvalidInputError(
            f"{option} {entry!r} states again what is stated already; state each part once"
        )
    known.update(more)


def read_rules(entries: Iterable[str]) -> dict[str, Any]:
    """The rules of `--rule`, each for one column or for all; raises `InvalidInputError`."""
    rules: dict[str, Any] = {"all": {}, "columns": {}}
    for entry in entries:
        name, rule = read_rule(entry)
        own = rules["columns"].setdefault(name, {}) if name else rules["all"]
        _add("--rule", entry, own, rule)
    return rules


def read_limits(entries: Iterable[str]) -> dict[str, dict[str, Decimal]]:
    """The limits of classes as a saved comparison has them, of `match:0.01` or `minor:1%,5`.

    Raises:
        BadParameter: One is not understood.
        InvalidInputError: One is stated twice.
    """
    thresholds: dict[str, dict[str, Decimal]] = {}
    for entry in entries:
        name, _, text = entry.partition(":")
        limits = thresholds.setdefault(_CLASSES.get(name, ""), {})
        for part in _parts("--limit", entry, text):
            number = _NUMBER.fullmatch(part)
            if name not in _CLASSES or number is None or number["unit"] == "s":
                raise typer.BadParameter(
                    f"--limit {entry!r} is not understood; write match:0.01 or minor:1%, or both"
                    " limits of a class as minor:1%,5"
                )
            kind = "percentage" if number["unit"] else "absolute"
            _add("--limit", entry, limits, {kind: Decimal(number["number"])})
    return thresholds


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
        name, operator, value = test.groups()
        # Blanks on both sides of an operator are not part of the value.
        value = value.lstrip() if name[-1].isspace() else value
        if operator == "=" and value.startswith(("<", ">")):
            raise typer.BadParameter(
                f"--where {entry!r}: write {value[0]}= for an order, or =={value} for the text"
            )
        return unquoted(name), _OPERATORS.get(operator), value
    for words, operator in _NULL.items():
        named = entry.rsplit(maxsplit=len(words))
        if len(named) > len(words) and [word.casefold() for word in named[1:]] == [*words]:
            return unquoted(named[0]), operator, None
    raise typer.BadParameter(
        f"--where {entry!r} is not of the form name=value, name!=value, name>=value, 'name is null'"
        " or 'name is not null'; a name with <, >, ! or = is in double quotes"
    )


FIELDS: Mapping[str, tuple[str, Callable[[Any], object]]] = {
    "--measure": ("measures", list),
    "--by": ("align_on", listed),
    "--where": ("filters", read_filters),
    "--limit": ("thresholds", read_limits),
    "--key": ("key", listed),
    "--columns": ("columns", listed),
    "--map": ("map", column_map),
    "--ignore": ("ignore", listed),
    "--accept": ("accept", listed),
    "--rule": ("rules", read_rules),
    "--multiset": ("multiset", bool),
    "--fail-on": ("fail_on", str),
}
"""The field of a `SavedComparison` that each option states, and how its value is read."""
_LISTS = frozenset({"--by", "--key", "--columns", "--ignore", "--accept"})


def asked(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a `SavedComparison` that the options of a command line state.

    Args:
        given: The value of each option that is stated.

    Raises:
        BadParameter: A value is not understood, or an option does not go with the others.
        InvalidInputError: A rule is not understood.
    """
    subject = subject_of(given.get("--measure"))
    stated = {option: FIELDS.get(option, (option.removeprefix("--"),))[0] for option in given}
    reason = subject.reason
    for option, (field, _) in FIELDS.items():
        reason = reason.replace(f"`{field}`", option)
    refuse([option for option, field in stated.items() if field in subject.foreign], reason)
    for name in sorted(_LISTS & given.keys()):
        if not all(listed([entry]) for entry in given[name]):
            raise typer.BadParameter(f"{name} names nothing; leave it out, or name a column")
    return {field: read(given[name]) for name, (field, read) in FIELDS.items() if name in given}
