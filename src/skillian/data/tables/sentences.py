"""A row comparison in sentences, the most important first."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from skillian.data.results.result import ComparisonResult
from skillian.data.schema.diff import distinct_names
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.place import SideRows


def in_words(result: ComparisonResult) -> tuple[str, ...]:
    """What differs, and what to know about the comparison."""
    return (_verdict(result), *_keys(result), *_columns(result), *_schema(result), *result.notes)


def findings(result: ComparisonResult) -> tuple[str, ...]:
    """The sentences after the verdict, what differs before how it was compared."""
    return (*_columns(result), *_keys(result), *_schema(result), *result.notes)


def _verdict(result: ComparisonResult) -> str:
    rows, (a, b) = result.rows, _names(result)
    if not rows.rows_a and not rows.rows_b:
        return f"Neither {a} nor {b} has rows{' that meet the filters' if result.filters else ''}."
    scope, rest = result.coverage.words, result.coverage.rest
    if rows.are_equal:
        if rows.rows_a == 1:
            return f"No row differs: the only row of {a} and {b} matches{scope}{rest}."
        return f"No row differs: all {rows.rows_a:,} rows of {a} and {b} match{scope}{rest}."
    parts: list[str] = []
    if rows.differing:
        parts.append(f"{_rows(rows.differing)} differ{'s' if rows.differing == 1 else ''}")
    for count, name in ((rows.only_in_a, a), (rows.only_in_b, b)):
        if count:
            parts.append(f"{_rows(count)} {'is' if count == 1 else 'are'} only in {name}")
    duplicates = rows.duplicate_rows_a + rows.duplicate_rows_b
    if duplicates:
        has = "has" if duplicates == 1 else "have"
        parts.append(f"{_rows(duplicates)} {has} a key that is repeated")
    matched = f"{_rows(rows.matched)} match{'es' if rows.matched == 1 else ''}"
    return f"{', '.join(parts)}; {matched}{scope}{rest}."


def _keys(result: ComparisonResult) -> Iterator[str]:
    rows, key, (a, b) = result.rows, result.key, _names(result)
    if key.origin != "given":
        yield key.reason
    repeated = [
        f"{keys:,} {'key' if keys == 1 else 'keys'} in {count:,} rows of {name}"
        for keys, count, name in (
            (rows.duplicate_keys_a, rows.duplicate_rows_a, a),
            (rows.duplicate_keys_b, rows.duplicate_rows_b, b),
        )
        if keys
    ]
    if repeated:
        yield (
            f"The key ({', '.join(key.columns)}) is not unique: {' and '.join(repeated)}; these"
            " rows were not compared."
        )


def _columns(result: ComparisonResult) -> Iterator[str]:
    worst = sorted(result.columns, key=lambda column: -column.mismatches)
    for column in [column for column in worst if column.mismatches][:3]:
        gap = f", by at most {column.largest_gap:f}" if column.largest_gap is not None else ""
        share = column.percentage
        yield f"{column.a} differs in {_rows(column.mismatches)} ({share} of those compared){gap}."


def _schema(result: ComparisonResult) -> Iterator[str]:
    yield from (f"{text[0].upper()}{text[1:]}." for text in result.schema.sentences)
    for each in result.not_compared:
        yield f"Column {each.column} was not compared: {each.reason}."
    for proposal in result.proposals:
        yield f"{proposal.sentence}; they were not compared."


def _names(result: ComparisonResult) -> tuple[str, str]:
    return distinct_names((result.source_a, result.source_b))


def _rows(count: int) -> str:
    return f"{count:,} {'row' if count == 1 else 'rows'}"


def remarks_on(sides: Sequence[SideRows]) -> Iterator[str]:
    """Yield how the rows of each side are read, where that is not obvious."""
    for side in sides:
        table = side.source.table
        if table.remark:
            yield f"{side.name} {table.remark}."
        if texts := side.read_as(text=True):
            is_one = len(texts) == 1
            how = "is compared as text, as it is" if is_one else "are compared as text, as they are"
            yield f"{', '.join(texts)} of {side.name} {how} written."
        if others := side.read_as(text=False):
            how = "is text, read in the type" if len(others) == 1 else "are text, read in the types"
            yield f"{', '.join(others)} of {side.name} {how} of the other side."


def notes_on(pairs: Sequence[ColumnPair]) -> Iterator[str]:
    """Yield how the values of columns are compared, where that is not obvious."""
    for pair in pairs:
        a, b, rule = pair.cells.a, pair.cells.b, pair.cells.rule
        kinds = {a.kind, b.kind}
        if "timestamptz" in kinds and len(kinds) > 1:
            zone = (rule.zone_b if a.kind == "timestamptz" else rule.zone_a) or rule.zone or "UTC"
            yield f"Times of {pair.a} without a zone are read as {zone}."
        elif kinds == {"date", "timestamp"}:
            yield f"Dates of {pair.a} are compared as midnight."
        if a.nanos != b.nanos and pair.cells.family == "timestamp" and rule.precision is None:
            yield f"{pair.a} has nanoseconds on one side and microseconds on the other."
        if "boolean" in kinds and pair.cells.family == "number":
            yield f"Numbers of {pair.a} are compared with 1 for true and 0 for false."
