"""Compares the rows of two tables: in their database, or in DuckDB after both are staged there."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from sqlglot import exp

from skillian.connectors.duckdb.workspace import Workspace
from skillian.data import sql
from skillian.data.comparison.place import Progress, together
from skillian.data.declare.rules import Rules
from skillian.data.query.binding import Binder, BoundSource
from skillian.data.query.filters import Filters, conditions
from skillian.data.query.shared import one_state
from skillian.data.query.unfit import what_text_holds
from skillian.data.schema.diff import SchemaDiff, compare_schemas, distinct_names, pair_columns
from skillian.data.tables.columns import (
    ColumnPair,
    NotCompared,
    Pairing,
    check_countable,
    key_pairs,
    left_out,
    misplaced_rule,
    of_two_engines,
    paired,
    selected,
)
from skillian.data.tables.differing import DifferingRows, Keep
from skillian.data.tables.findings import Findings
from skillian.data.tables.keys import most_meet, primary_key, proposed_keys, proven, unidentified
from skillian.data.tables.place import RowComparison, SideRows, null_of
from skillian.data.tables.proposals import proposed_renames
from skillian.data.tables.results import ColumnCoverage, TableKey, TableResult
from skillian.data.tables.sentences import in_words, notes_on
from skillian.errors import InvalidInputError, UnreadableColumnError

TOP = 10


@dataclass(frozen=True, slots=True)
class TableQuestion:
    """What to compare.

    Attributes:
        a: The source that is the baseline.
        b: The source to compare with it.
        key: The columns that identify a row; empty to find them.
        columns: The only columns to compare; None for all.
        ignore: Columns not to compare.
        accept: Columns whose schema differences are not findings; `*` is all of them.
        mapping: The name in b of columns of a that have another one there.
        rules: How cells are compared.
        filters: Which rows to compare, in the filter language; names are columns of both.
        multiset: Whether rows have no key and are compared with their counts.
        listed: How many rows of each class to list besides the samples.
    """

    a: str
    b: str
    key: tuple[str, ...] = ()
    columns: tuple[str, ...] | None = None
    ignore: tuple[str, ...] = ()
    accept: tuple[str, ...] = ()
    mapping: Mapping[str, str] = field(default_factory=dict[str, str])
    rules: Rules = field(default_factory=Rules)
    filters: Filters = field(default_factory=dict[str, object])
    multiset: bool = False
    listed: int = 0


@dataclass(frozen=True, slots=True)
class TablePreview:
    """What a comparison would compare.

    Attributes:
        key: The columns that identify a row; None if none were found.
        no_key: Why none were found; empty if they were.
        pairs: The columns that would be compared, in the order of a.
        not_compared: The columns of both sides that would not be.
    """

    key: TableKey | None
    no_key: str
    pairs: tuple[ColumnPair, ...]
    not_compared: tuple[NotCompared, ...]


class TableEngine:
    """Compares the rows of two sources; close it to drop what it has staged.

    Args:
        binder: Binds the sources to their databases.
        top: How many pairs of values and samples a result has.
    """

    def __init__(self, binder: Binder, top: int = TOP) -> None:
        self._binder = binder
        self._top = top
        self._workspace = Workspace()

    async def compare(
        self,
        question: TableQuestion,
        progress: Progress | None = None,
        keep: Keep | None = None,
    ) -> TableResult:
        """Compare all rows of two tables.

        A column that cannot be read, because one of its values is not of its type, is not compared.

        Args:
            question: What to compare.
            progress: Gets the name of a source and how many of its rows are staged.
            keep: Gets all rows that differ, with all of their cells; they are dropped afterwards.

        Raises:
            ToolError: A name is wrong, no key was found, or a database refuses.
        """
        bound = await self._bound(question)
        unread: list[UnreadableColumnError] = []
        while True:
            try:
                async with one_state(*bound) as sources:
                    pairing, sides = await _paired(question, sources)
                    for error in unread:
                        pairing = _without_unread(error, pairing, sides, question.key)
                    return await self._compared(question, pairing, sides, progress, keep)
            except UnreadableColumnError as error:
                if error in unread:
                    raise
                unread.append(error)

    async def _compared(
        self,
        question: TableQuestion,
        pairing: Pairing,
        sides: tuple[SideRows, SideRows],
        progress: Progress | None,
        keep: Keep | None,
    ) -> TableResult:
        best: tuple[TableResult, DifferingRows] | None = None
        tried: list[set[str]] = []
        async with AsyncExitStack() as comparisons:
            for key in await _keys(question, pairing, sides):
                if any(columns < {*key.columns} for columns in tried):
                    continue
                first = key_pairs(pairing, key.columns)
                pairs = (*first, *(pair for pair in pairing.pairs if pair not in first))
                comparison = RowComparison(
                    self._workspace, pairs, len(first), sides, progress, whole=keep is not None
                )
                comparisons.push_async_callback(comparison.drop)
                compared = await self._run(question, pairing, key, comparison)
                if compared is None:
                    continue
                tried.append({*key.columns})
                is_good = key.origin != "profile" or most_meet(compared[0].rows)
                if best is None or is_good:
                    best = compared
                if is_good:
                    break
            if best is None:
                raise unidentified(pairing)
            result, rows = best
            if keep is not None:
                await keep(rows)
            return result

    async def preview(self, question: TableQuestion) -> TablePreview:
        """Which columns would be compared, and by which key; raises as `compare` does."""
        pairing, sides = await _paired(question, await self._bound(question))
        key, refusal = None, ""
        try:
            key = (await _keys(question, pairing, sides))[0]
        except InvalidInputError as error:
            refusal = str(error)
        return TablePreview(key, refusal, pairing.pairs, pairing.not_compared)

    async def _bound(self, question: TableQuestion) -> tuple[BoundSource, BoundSource]:
        a, b = await together(self._binder.bind(question.a), self._binder.bind(question.b))
        return a, b

    async def _run(
        self,
        question: TableQuestion,
        pairing: Pairing,
        key: TableKey,
        comparison: RowComparison,
    ) -> tuple[TableResult, DifferingRows] | None:
        """The result and its rows; None if a key that was proposed is repeated on both sides."""
        started = datetime.now(UTC).isoformat(timespec="seconds")
        sides = comparison.sides  # which the comparison may narrow
        compared_rows = await comparison.run(started)
        plan, table = compared_rows.plan, compared_rows.table
        findings = Findings(self._workspace, table, plan, self._top)
        counts, mismatches = await findings.counts()
        reasoned = proven(key, counts, [side.name for side in sides])
        if reasoned is None:
            return None
        compared = counts.matched + counts.differing
        columns = [
            replace(
                await findings.column(index, compared, mismatches[index]),
                type_a=comparison.pairs[index].cells.a.sql,
                type_b=comparison.pairs[index].cells.b.sql,
            )
            for index in range(plan.keys, len(plan.pairs))
        ]
        result = TableResult(
            source_a=question.a,
            source_b=question.b,
            key=reasoned,
            rows=counts,
            columns=tuple(columns),
            coverage=_coverage(question, comparison),
            not_compared=pairing.not_compared,
            schema=_schema(question, sides, pairing).where_values_fit(
                [pair.a for pair in comparison.pairs if counts.are_equal and pair.is_exact]
            ),
            samples=await findings.samples(self._top, counts, mismatches),
            listed=await findings.samples(question.listed, counts, mismatches),
            proposals=await proposed_renames(pairing.only_a, pairing.only_b, sides),
            notes=(*notes_on(comparison.pairs), *filter(None, [comparison.segments.sentence()])),
            proof=compared_rows.proof,
            filters=tuple(sides[0].where),
        )
        result = replace(result, sentences=in_words(result))
        return result, DifferingRows(self._workspace, table, plan, result)

    async def aclose(self) -> None:
        """Drop everything that is staged."""
        await self._workspace.aclose()


def _coverage(question: TableQuestion, comparison: RowComparison) -> ColumnCoverage:
    a, b = (side.source.columns for side in comparison.sides)
    others = left_out(comparison.pairs, a, b, question.mapping)
    return ColumnCoverage(len(comparison.pairs), others)


async def _paired(
    question: TableQuestion, sources: Sequence[BoundSource]
) -> tuple[Pairing, tuple[SideRows, SideRows]]:
    names = pair_columns([*sources[0].columns], [*sources[1].columns], question.mapping)
    return await _pairing(question, _sides(question, sources, names))


def _sides(
    question: TableQuestion, sources: Sequence[BoundSource], names: Mapping[str, str]
) -> tuple[SideRows, SideRows]:
    """The rows that the filters keep; b's columns may have other names."""
    translated = {
        name if name in sources[1].definition.dimensions else names.get(name, name): test
        for name, test in question.filters.items()
    }
    a, b = sources[0].with_columns(question.filters), sources[1].with_columns(translated)
    values = sql.BoundValues()
    return (
        SideRows(a, conditions(a, question.filters), values),
        SideRows(b, conditions(b, translated), values),
    )


async def _pairing(
    question: TableQuestion, sides: tuple[SideRows, SideRows]
) -> tuple[Pairing, tuple[SideRows, SideRows]]:
    """The pairs of columns; a column without any value fits every type."""
    columns = [{name: side.type_of(name) for name in side.source.columns} for side in sides]
    dialects = sides[0].connector.dialect, sides[1].connector.dialect
    partners = pair_columns([*columns[0]], [*columns[1]], question.mapping)
    missing: list[dict[str, exp.Expr]] = [{}, {}]
    pairing = paired(columns[0], columns[1], question.mapping, question.rules)
    for refused in pairing.not_compared:
        names = refused.column, partners[refused.column]
        for index, side in enumerate(sides):
            if not await side.has_values(names[index]):
                kind = columns[1 - index][names[1 - index]]
                missing[index][names[index]] = null_of(kind, dialects)
                columns[index][names[index]] = kind
                break
    if any(missing):
        pairing = paired(columns[0], columns[1], question.mapping, question.rules)
    for pair in pairing.misplaced:
        if not await _is_empty_in_a_file(pair, sides):
            raise misplaced_rule(pair, question.rules)
    pairing = await _explained(pairing, partners, sides)
    key = question.key
    if not key and question.columns is not None:
        catalogued = primary_key(pairing, sides)
        key = catalogued.columns if catalogued else ()
    pairing.check(name for name in question.accept if name != "*")
    pairing = selected(pairing, question.columns, question.ignore, key)
    empty = [side.without(nulls) for side, nulls in zip(sides, missing, strict=True)]
    if dialects[0] != dialects[1]:
        pairing = of_two_engines(pairing)
    return pairing, (empty[0], empty[1])


def _without_unread(
    error: UnreadableColumnError,
    pairing: Pairing,
    sides: Sequence[SideRows],
    key: Sequence[str],
) -> Pairing:
    """The columns without one that cannot be read; raises the error if it is needed."""
    keys = {pairing.find(name) for name in key}
    for index, side in enumerate(sides):
        table = side.source.table
        if error.source == side.name or (table and not error.source and table.name == error.table):
            for pair in pairing.pairs:
                if (pair.a, pair.b)[index] != error.column:
                    continue
                if pair in keys:
                    raise error.of_key()
                brief = f"{side.name} holds a value that is not of its type"
                return pairing.without(pair, f"{side.name} {error.reason}", brief)
    raise error


async def _explained(
    pairing: Pairing, partners: Mapping[str, str], sides: tuple[SideRows, SideRows]
) -> Pairing:
    """Add to each refused text the values because of which it is not of the other side's type."""
    refused: list[NotCompared] = []
    for each in pairing.not_compared:
        names = each.column, partners[each.column]
        kinds = [side.source.columns[name] for side, name in zip(sides, names, strict=True)]
        reason = each.reason
        for index, side in enumerate(sides):
            if kinds[index].kind == "text":
                value, kind = side.value(names[index]), kinds[1 - index].kind
                holds = await what_text_holds(side.source, value, kind)
                reason += f"; {side.name} holds {holds}" if holds else ""
        refused.append(replace(each, reason=reason, brief=each.without_values))
    return replace(pairing, not_compared=tuple(refused))


async def _is_empty_in_a_file(pair: ColumnPair, sides: Sequence[SideRows]) -> bool:
    """Whether a file has no value in a column, which then fits every rule."""
    for side, name in zip(sides, (pair.a, pair.b), strict=True):
        table = side.source.table
        if table is not None and table.inferred and not await side.has_values(name):
            return True
    return False


def _schema(
    question: TableQuestion, sides: tuple[SideRows, SideRows], pairing: Pairing
) -> SchemaDiff:
    """The schemas of both sides, as far as the question is about their columns."""
    tables = [side.source.table for side in sides]
    if tables[0] is None or tables[1] is None:
        raise AssertionError("a bound source has a table")
    ignored = set(question.ignore)
    if question.columns is not None:
        names = {name for pair in pairing.pairs for name in (pair.a, pair.b)}
        ignored |= {name for side in sides for name in side.source.columns if name not in names}
    return compare_schemas(
        tables[0],
        tables[1],
        {one: other for one, other in question.mapping.items() if one not in ignored},
        ignored,
        names=distinct_names((question.a, question.b)),
    ).accepting(question.accept)


async def _keys(
    question: TableQuestion, pairing: Pairing, sides: tuple[SideRows, SideRows]
) -> tuple[TableKey, ...]:
    """The key, or the keys that are proposed, the best first."""
    if not pairing.pairs:
        raise InvalidInputError(
            f"{sides[0].name} and {sides[1].name} have no column in common that can be compared;"
            f" columns: {_listed(sides[0])}, and {_listed(sides[1])}; if two belong together,"
            " map one to the other"
        )
    if question.multiset:
        if question.key:
            raise InvalidInputError("a comparison without a key takes no key columns")
        check_countable(pairing)
        reason = "Rows are compared without a key, with how often each occurs."
        return (TableKey((), "none", reason),)
    if question.key:
        names = tuple(pair.a for pair in key_pairs(pairing, question.key))
        return (TableKey(names, "given", ""),)
    catalogued = primary_key(pairing, sides)
    if catalogued:
        return (catalogued,)
    return await proposed_keys(pairing, sides)


def _listed(side: SideRows) -> str:
    return ", ".join([*side.source.columns][:20]) or "none"
