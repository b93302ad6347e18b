"""`skillian.compare`: one comparison, from what a caller states to its result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Context, Decimal, localcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack, cast

from skillian.data.comparison import TOP, Depth
from skillian.data.declare.definitions import Thresholds
from skillian.data.declare.rules import Rule, Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import ComparisonEngine, open_engine
from skillian.data.named import saved_comparison, source_of, with_known_names
from skillian.data.tables.why.results import Why
from skillian.errors import InvalidInputError, nearest, quoted
from skillian.library.comparison import Comparison
from skillian.library.kept import RowsFile
from skillian.library.running import run
from skillian.library.sides import Sides, sides_of
from skillian.reports.outcome import GROUPS, Compared, OnResult, run_one

if TYPE_CHECKING:
    from skillian.data.results.result import ComparisonResult


_NAMES = ("a", "b")


class Options(TypedDict, total=False):
    """The options of a comparison; those of a saved comparison have the same names.

    Attributes:
        key: The columns that identify a row; by default they are found. Here and in other lists of
            columns, a label of pandas that is a number is that number or its text.
        measures: The measures whose sums are compared; without them whole rows are compared.
        by: The dimensions that measures are compared by.
        columns: The only columns to compare, or a map of them to their names in b.
        map: The names in b of columns of a.
        ignore: Columns not to compare.
        accept: Columns whose schemas may differ, such as `schema:name`.
        rules: How cells are compared.
        absolute: The largest difference of two numbers, of all columns.
        relative: The same as a fraction of the number in a.
        where: Which rows are compared, in the filter language.
        multiset: Whether rows have no key and are compared with their counts.
        thresholds: The limits of the classes of measures.
        names: What data frames and SQL are called.
        sources: The `sources.yaml`; by default the configured one, if it exists.
    """

    key: str | int | Sequence[str | int]
    measures: str | int | Sequence[str | int]
    by: str | int | Sequence[str | int]
    columns: str | int | Sequence[str | int] | Mapping[str, str]
    map: Mapping[str, str]
    ignore: str | int | Sequence[str | int]
    accept: str | Sequence[str]
    rules: Rules | Mapping[str, Any]
    absolute: Decimal | float | str
    relative: Decimal | float | str
    where: Mapping[str, Any]
    multiset: bool
    thresholds: Thresholds | Mapping[str, Any]
    names: tuple[str, str]
    sources: str | Path


_FIELDS = {"by": "align_on", "where": "filters"}
_LISTS = frozenset({"key", "measures", "align_on", "columns", "ignore", "accept"})
_LIMITS = frozenset({"absolute", "relative"})


def compare(a: object, b: object, **options: Unpack[Options]) -> Comparison:
    """Compare two tables, row by row, or the sums of `measures`; a is the baseline.

    A side is a path (CSV, Parquet, Excel, JSON lines; `book.xlsx#Sheet`), the URL of a table
    (`postgresql://…/shop#orders`), a declared source, `skillian.sql(...)`, or a data frame: of
    pandas, of polars, of Arrow, or a relation of DuckDB. It works where an event loop runs, too.

    Args:
        a: One side.
        b: The other side.
        **options: See `Options`.

    Raises:
        ToolError: A name or an option is wrong, or a side cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    return run(compare_async(a, b, **options))


async def compare_async(a: object, b: object, **options: Unpack[Options]) -> Comparison:
    """Compare two tables as `compare` does.

    Args:
        a: One side.
        b: The other side.
        **options: See `Options`.

    Raises:
        ToolError: A name or an option is wrong, or a side cannot be read.
        ConfigurationError: The `sources.yaml` has faults.
    """
    kept = RowsFile()

    async def keep(engine: ComparisonEngine, result: ComparisonResult) -> None:
        await kept.write(engine.batches(result.cache_key))

    async def why() -> Why:
        outcome, _ = await _outcome(a, b, options, Depth(why=True))
        return outcome.why or Why()

    outcome, sides = await _outcome(a, b, options, Depth(groups=GROUPS), keep)
    if outcome.reason is not None:
        raise InvalidInputError(outcome.reason)
    return Comparison(outcome, kept, why, sides.remarks, sides.files)


async def _outcome(
    a: object, b: object, options: Options, depth: Depth, keep: OnResult | None = None
) -> tuple[Compared, Sides]:
    """The outcome of a comparison, and its sides."""
    with localcontext(Context()):  # the caller's may round to a few digits
        stated = {name: _plain(value) for name, value in options.items() if value is not None}
        fields = _fields(stated)
        names = _names(stated.get("names", _NAMES))
        _checked({**fields, "name": "a and b", "a": "a", "b": "b"})  # before anything is read
        sources = stated.get("sources")
        path = None if sources is None else Path(str(sources))
        sides = await sides_of((a, b), names, path, source_of(fields))
        one, other = sides.names
        fields |= {"name": f"{one} and {other}", "a": one, "b": other}
        question = _checked(with_known_names(fields, sides.registry))
        async with open_engine(sides.registry, TOP, keep_rows=True, given=sides.given) as engine:
            outcome = await run_one(engine, question, depth, lambda _: None, keep)
        return outcome, sides


def _fields(stated: Mapping[str, object]) -> dict[str, Any]:
    """The options as fields of a `SavedComparison`; raises `InvalidInputError`."""
    unknown = [name for name in stated if name not in Options.__annotations__]
    if unknown:
        known = nearest(unknown[0], Options.__annotations__)
        raise InvalidInputError(
            f"there is no option {quoted(unknown[0])}; did you mean {known[0]!r}? options:"
            f" {', '.join(known)}"
        )
    fields: dict[str, Any] = {}
    for option, value in stated.items():
        name = _FIELDS.get(option, option)
        if name in {"names", "sources", "rules", *_LIMITS}:
            continue
        fields[name] = _listed(value) if name in _LISTS else value
    if not stated.keys().isdisjoint({"rules", *_LIMITS}):
        fields["rules"] = _rules(stated)
    return fields


def _checked(fields: Mapping[str, Any]) -> SavedComparison:
    """The comparison of these fields; raises `InvalidInputError` in the words of the options."""
    try:
        return saved_comparison(fields)
    except InvalidInputError as error:
        text = str(error)
        for option, field in _FIELDS.items():
            text = text.replace(f"`{field}`", f"`{option}`").replace(f"{field}.", f"{option}.")
        raise InvalidInputError(text) from None


def _rules(stated: Mapping[str, object]) -> object:
    """The rules, in which `absolute` and `relative` are those of all columns."""
    rules = stated.get("rules", {})
    if isinstance(rules, Rules):
        rules = rules.model_dump(exclude_unset=True)
    limits = {name: stated[name] for name in _LIMITS & stated.keys()}
    if not limits or not isinstance(rules, Mapping):
        return rules
    content = cast("Mapping[str, Any]", rules)
    common = content.get("all", {})
    if isinstance(common, Rule):
        common = common.model_dump(exclude_unset=True)
    return {**content, "all": {**common, **limits}} if isinstance(common, Mapping) else content


def _names(value: object) -> tuple[str, str]:
    """What data frames and SQL are called."""
    names: Any = value
    fault = ""
    if not isinstance(value, tuple | list) or len(names) != len(_NAMES):
        fault = "it is not a pair"
    elif not all(isinstance(name, str) and name and name.isprintable() for name in names):
        fault = "a name is not a text, is empty or has characters that are not printed"
    elif names[0].casefold() == names[1].casefold():
        fault = "both are the same, or differ only in case"
    if fault:
        raise InvalidInputError(f"names: {fault}; name both sides, such as ('old', 'new')")
    return names[0], names[1]


def _listed(value: object) -> object:
    """A list of names; a label of pandas that is a number is named by its text."""
    if not isinstance(value, str | int | list | tuple):
        return value
    names = cast("Sequence[object]", (value,) if isinstance(value, str | int) else value)
    return [str(each) if type(each) is int else each for each in names]


def _plain(value: Any) -> Any:
    """A value, and what it holds, without the types of NumPy."""
    if isinstance(value, Mapping):
        content = cast("Mapping[object, object]", value)
        return {name: _plain(each) for name, each in content.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in cast("Sequence[object]", value)]
    kind = cast("Any", type(value))
    if kind.__module__ != "numpy":
        return value
    return str(value) if kind.__name__ == "datetime64" else value.tolist()
