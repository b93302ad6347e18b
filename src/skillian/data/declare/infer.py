"""Sources inferred from the catalogue of a database."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path

from sqlglot import exp

from skillian.connectors import floats
from skillian.connectors.base import ColumnType, Connector, Table
from skillian.connectors.dialects import compile_sql
from skillian.data import sql
from skillian.data.declare.definitions import Dimension, Measure, Source
from skillian.data.declare.names import JOINING, months, synonyms, words_of
from skillian.data.declare.sources import Connections, connection_name, free_name, registry_of
from skillian.data.sql.values import python_rows
from skillian.errors import QueryError, UnreadableColumnError

_REPEATED = 20
_CODE_DIGITS = 3
_PLAIN = frozenset({"text", "boolean", "date", "timestamp", "timestamptz"})
_UNSCALED = ("NUMERIC", "DECIMAL", "NUMBER")
# The meaning of whole numbers, by the last word of their column's name that is in a list.
_AMOUNTS = frozenset(
    {
        *("amount", "balance", "births", "budget", "calls", "cases", "clicks", "cost"),
        *("costs", "count", "credit", "deaths", "debit", "delay", "discount", "distance"),
        *("duration", "fee", "fees", "gross", "hours", "income", "minutes", "net", "paid"),
        *("passengers", "payment", "payments", "people", "pieces", "points", "pop"),
        *("population", "price", "profit", "qty", "quantity", "revenue", "salary", "sales"),
        *("seconds", "stock", "sum", "tax", "total", "turnover", "units", "value", "views"),
        *("visits", "volume", "votes", "wages", "weight"),
    }
)
_KEYS = frozenset(
    {
        *("account", "center", "centre", "code", "company", "customer", "day", "doc"),
        *("document", "entity", "fiscal", "id", "item", "key", "line", "month", "no", "nr"),
        *("num", "number", "order", "period", "plant", "position", "product", "project"),
        *("quarter", "ref", "segment", "unit", "vendor", "version", "week", "year", "zip"),
    }
)
_KEY_ENDS = ("key", "id", "code", "number", "year")
_COUNTING = frozenset({"no", "nr", "num", "number"})
_LONGEST_WORD = 20
_NUMBER = re.compile(r"[+-]?[0-9]+(\.[0-9]+)?([eE][+-]?[0-9]+)?")


@dataclass(frozen=True, slots=True)
class ColumnSample:
    """What the first rows of a table show about a column of whole numbers.

    Attributes:
        rows: The number of rows.
        distinct: The number of distinct values.
        completes_key: Whether rows are unique by the columns whose names are those of keys and this
            one, but not without it.
        is_code: Whether all values have the same number of digits, at least three, as codes have.
        has_key: Whether the columns whose names are those of keys, or one of this kind that
            completes them, make the rows unique.
        is_beside_key: Whether no value of a text, a date or a time repeats.
        word: The only text in a column of a file that is otherwise numbers, such as NA.
    """

    rows: int
    distinct: int
    completes_key: bool = False
    is_code: bool = False
    has_key: bool = False
    is_beside_key: bool = False
    word: str = ""


@dataclass(frozen=True, slots=True)
class Role:
    """The inferred definition of a column, or None, and a remark on what to check."""

    definition: Dimension | Measure | None
    remark: str = ""


def is_whole(kind: ColumnType) -> bool:
    """Whether values are whole numbers, which may be amounts or keys."""
    return kind.kind == "integer" or (kind.kind == "decimal" and kind.scale == 0)


def role_of(
    column: str, kind: ColumnType, sample: ColumnSample, dialect: str, table: str = ""
) -> Role:
    """The role of a column of a table that nobody has declared."""
    if kind.kind in _PLAIN:
        return Role(Dimension(column=column), _about_word(sample.word) if sample.word else "")
    if is_whole(kind):
        return _whole_number(column, sample, table)
    exact = kind.kind == "float" and dialect in floats.EXACT
    if kind.kind == "decimal" or exact:
        return Role(Measure(column=column, aggregation="sum"))
    if kind.kind == "float" or kind.sql.upper().startswith(_UNSCALED):
        cast = exp.cast(exp.column(column, quoted=True), "DECIMAL(18, 2)").sql(dialect)
        remark = f"check: {kind.sql} is rounded to two digits to be exact"
        return Role(Measure(expression=cast, aggregation="sum"), remark)
    return Role(None, f"left out: {column} is {kind.sql}")


def _about_word(word: str) -> str:
    fix = f"if it stands for no value, add ?null={word} to the URL"
    return f"check: {word!r} makes it a text; {fix}"


def _whole_number(column: str, sample: ColumnSample, table: str) -> Role:
    """The role of whole numbers: by the column's name, or else by its values."""
    telling = _telling(column)
    key, amount = Role(Dimension(column=column)), Role(Measure(column=column, aggregation="sum"))
    if telling:
        return key if telling in _KEYS else amount
    is_named = column.casefold().rstrip("s") == table.casefold().rstrip("s")
    is_alone = sample.distinct == sample.rows and not sample.is_beside_key
    has_amounts = sample.has_key and not sample.is_code
    # By the first reason that holds.
    keys = {
        "its name is the table's": is_named,
        "rows are unique only with it": sample.completes_key,
        "no value repeats": is_alone and not has_amounts,
        "its values repeat": sample.distinct * _REPEATED <= sample.rows and not has_amounts,
    }
    reason = next((reason for reason, holds in keys.items() if holds), "")
    if reason:
        return replace(key, remark=f"check: read as a key, since {reason}")
    because = ", since other columns are a key" if has_amounts else "; declare a key as a dimension"
    return replace(amount, remark=f"check: read as an amount{because}")


def looks_like_key(column: str, kind: ColumnType) -> bool:
    """Whether whole numbers are codes rather than amounts, by their column's name."""
    return is_whole(kind) and _telling(column) in _KEYS


def _telling(column: str) -> str:
    """The last word of a name's noun that indicates its content; empty if none does."""
    words = words_of(column)
    if "of" in words[1:2] and words[0] in _COUNTING:  # the number of orders
        return "count"
    words = words[:1] + list(takewhile(lambda word: word not in JOINING, words[1:]))
    known = (word for word in reversed(words) if word in _AMOUNTS | _KEYS)
    ends = (end for word in words[-1:] for end in _KEY_ENDS if word.endswith(end))
    return next(known, next(ends, ""))


_SAMPLED_ROWS = 10_000
_MAX_NAME = 200


@dataclass(frozen=True, slots=True)
class InferredSource:
    """One table as a source; `remarks` say what to check about its columns."""

    name: str
    definition: Source
    remarks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Inferred:
    """A connection's tables as sources; `omitted` has the reason for each other table.

    `align_on` are the dimensions that at least two of the sources have, with those of the databases
    before it.
    """

    connection: str
    sources: tuple[InferredSource, ...]
    omitted: Mapping[str, str]
    align_on: tuple[str, ...]


async def infer_sources(
    url: str,
    folder: Path,
    others: Sequence[Inferred] = (),
    starting: Callable[[str], object] = str,
) -> Inferred:
    """Sources for all tables of a database.

    Args:
        url: Its URL; a path in it is relative to `folder`.
        folder: The folder of the file to be written.
        others: The databases before it in the same file, whose names are taken.
        starting: Gets the name of each table before it is read.

    Raises:
        UnavailableError: The driver is not installed, or the URL is malformed.
        QueryError: The database cannot be read.
    """
    connection = free_name(connection_name(url), [other.connection for other in others])
    taken = {source.name: source for other in others for source in other.sources}
    sources = dict(taken)
    omitted: dict[str, str] = {}
    async with Connections(registry_of({connection: url}, {}, folder)) as opened:
        connector = opened.get(connection)
        known = set[str]()
        for table in await connector.catalog():
            # The bare name belongs to the first table of that name, in the default schema.
            named = f"{table.schema}.{table.name}" if table.name in known else table.name
            known.add(table.name)
            starting(named)
            try:
                short = _short(table)
                name = (
                    short if free_name(short, sources) == short else free_name(table.name, sources)
                )
                sources[name] = await _source(name, connection, named, table, connector)
            except QueryError as error:
                omitted[f"{table.schema}.{table.name}"] = str(error)
    shared = _shared([source.definition for source in sources.values()])
    own = tuple(source for name, source in sources.items() if name not in taken)
    return Inferred(connection, own, omitted, shared)


def _short(table: Table) -> str:
    """The name of a table; of a file, without its suffixes."""
    is_file = table.engine == "files" and "#" not in table.name
    return Path(table.name.removesuffix(".gz")).stem if is_file else table.name


async def _source(
    name: str, connection: str, named: str, table: Table, connector: Connector
) -> InferredSource:
    """A table as a source; raises `QueryError` for an unsuitable table."""
    table, samples, remarks = await _sampled(table, connector)
    dimensions: dict[str, Dimension] = {}
    measures: dict[str, Measure] = {}
    called = synonyms([column for column, _ in usable_columns(table)], name)
    for column, kind in usable_columns(table):
        sample = samples.get(column, ColumnSample(0, 0))
        role = role_of(column, kind, sample, connector.dialect, name)
        logical = free_name(column, (*dimensions, *measures))
        update = {"synonyms": called.get(column, ())}
        if isinstance(role.definition, Dimension):
            dimensions[logical] = role.definition.model_copy(update=update)
        elif role.definition is not None:
            measures[logical] = role.definition.model_copy(update=update)
        if role.remark:
            remarks.append(f"{logical}: {role.remark}")
    remarks += [
        f"{column} is left out: {reason}"
        for column in table.forbidden
        if (reason := table.declared[column].unreadable)
    ]
    if not dimensions:
        raise QueryError("no column of it can be a dimension")
    kinds = {each: table.columns[one.column].kind for each, one in dimensions.items()}
    for date, month in months(kinds).items():
        dimensions[free_name(f"{date}_month", (*dimensions, *measures))] = Dimension(
            column=dimensions[date].column, type="text", format="%Y-%m", synonyms=(month,)
        )
    measures[free_name("rows", (*dimensions, *measures))] = Measure(
        expression="1", aggregation="count"
    )
    source = Source(connection=connection, table=named, dimensions=dimensions, measures=measures)
    return InferredSource(name, source, tuple(remarks))


async def _sampled(
    table: Table, connector: Connector
) -> tuple[Table, dict[str, ColumnSample], list[str]]:
    """A table without the columns that cannot be read, its sample, and remarks on these columns."""
    remarks: list[str] = []
    while True:
        try:
            return table, await _sample(table, connector), remarks
        except UnreadableColumnError as error:
            if error.column not in table.columns:
                raise
            columns = {name: kind for name, kind in table.columns.items() if name != error.column}
            table = replace(table, columns=columns)
            remarks.append(f"{error.column}: left out: {error.column} {error.reason}")


async def _sample(table: Table, connector: Connector) -> dict[str, ColumnSample]:
    """What the first rows show about the columns of whole numbers, and the texts of a file.

    Of SQLite, where any column may have a value that is not of its type, all of them are read.
    """
    whole = [column for column, kind in usable_columns(table) if is_whole(kind)]
    is_loose = table.engine == "sqlite"
    if not (whole or table.is_text or is_loose):
        return {}
    keys = [
        column
        for column, kind in usable_columns(table)
        if (is_whole(kind) or kind.kind in _PLAIN) and _telling(column) in _KEYS
    ]
    plain = [column for column, kind in usable_columns(table) if kind.kind in _PLAIN]
    others = [column for column, kind in usable_columns(table) if is_loose and kind.sql != "BLOB"]
    columns = list(dict.fromkeys((*keys, *whole, *plain, *others)))
    first = exp.select(*(sql.bare(column) for column in columns))
    first.from_(sql.relation(table, "source"), copy=False)
    result = await connector.run(compile_sql(first.limit(_SAMPLED_ROWS), connector.dialect), {})
    rows = python_rows(result)
    completing = _completing(rows, keys, [column for column in whole if not _telling(column)])
    has_key = bool(keys) and (completing is not None or _is_unique(rows, keys))
    is_beside_key = any(_is_unique(rows, [column]) for column in plain)
    return {
        column: ColumnSample(
            rows=len(rows),
            distinct=_values(rows, column),
            completes_key=column == completing,
            is_code=_is_code(rows, column),
            has_key=has_key,
            is_beside_key=is_beside_key,
            word=_word(rows, column) if table.is_text and column in plain else "",
        )
        for column in columns
    }


def _completing(
    rows: Sequence[Mapping[str, object]], keys: Sequence[str], others: Sequence[str]
) -> str | None:
    """The first of the other columns with which the keys, not unique alone, are unique."""
    if not keys or _is_unique(rows, keys):
        return None
    # With many values it may be unique by chance, as amounts are.
    few = [column for column in others if _values(rows, column) * _REPEATED <= len(rows)]
    return next((column for column in few if _is_unique(rows, [*keys, column])), None)


def _is_unique(rows: Sequence[Mapping[str, object]], columns: Sequence[str]) -> bool:
    return len({tuple(row[column] for column in columns) for row in rows}) == len(rows)


def _is_code(rows: Sequence[Mapping[str, object]], column: str) -> bool:
    widths = {len(str(row[column]).lstrip("-")) for row in rows if row[column] is not None}
    return len(widths) == 1 and min(widths) >= _CODE_DIGITS


def _word(rows: Sequence[Mapping[str, object]], column: str) -> str:
    """The only text that is not a number, if all others are numbers."""
    texts = {row[column] for row in rows if isinstance(row[column], str)}
    words = [text for text in texts if not _NUMBER.fullmatch(str(text))]
    word = str(words[0]) if len(words) == 1 < len(texts) else ""
    return word if len(word) <= _LONGEST_WORD and word.isprintable() else ""


def _values(rows: Sequence[Mapping[str, object]], column: str) -> int:
    return len({row[column] for row in rows})


def usable_columns(table: Table) -> Iterator[tuple[str, ColumnType]]:
    """Yield the columns whose names are valid in a `sources.yaml`."""
    for name, kind in table.columns.items():
        if name.isprintable() and 0 < len(name) <= _MAX_NAME:
            yield name, kind


def _shared(sources: Sequence[Source]) -> tuple[str, ...]:
    names = [n for source in sources for n, one in source.dimensions.items() if not one.format]
    return tuple(dict.fromkeys(name for name in names if names.count(name) > 1))
