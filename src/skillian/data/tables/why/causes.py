"""Which rules and filters explain the rows that differ: guessed from them, then proved."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias

from skillian.data.declare.rules import Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.query.filters import MAX_VALUES
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import map_options
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.engine import TableEngine
from skillian.data.tables.statement import DIFFERING, DUPLICATE
from skillian.data.tables.why.guesses import LEAST, guessed, is_equal
from skillian.data.tables.why.rates import Rates
from skillian.data.tables.why.results import (
    CLASSES,
    Cause,
    Fact,
    ProvedRule,
    Report,
    Why,
    differences,
    in_rows,
    of_filter,
    of_rule,
)
from skillian.data.tables.why.shared_values import InCommon, SharedValues
from skillian.errors import ToolError
from skillian.tasks import within

_SAMPLE = 2000
_RERUNS = 8
_TRIED = 3
_GONE = 0.5
_LOST = 0.1
_HALF = 0.5
_APPLIED = ("key", "map", "filters", "rules")
# Numbers of two types are written with more or fewer zeros.
_SHORTEST = "CASE WHEN CONTAINS({0}, '.') THEN RTRIM(RTRIM({0}, '0'), '.') ELSE {0} END"
_Mismatched: TypeAlias = tuple[int, ColumnPair, int]


async def why(
    engine: TableEngine,
    question: SavedComparison,
    result: ComparisonResult,
    rows: DifferingRows,
    report: Report | None = None,
) -> Why:
    """What explains the rows that differ; each rule is proved by another comparison.

    Raises:
        ToolError: The rows that differ cannot be read.
    """
    if result.rows.are_equal:
        return Why(nothing="All rows match, so there is nothing to explain.")
    if not rows.plan.keys:
        without = "Rows that are compared without a key are not explained; name a key."
        return Why(nothing=without)
    return await _CauseSearch(engine, question, result, rows, report or (lambda _: None)).run()


def _are_exchanged(one: _Mismatched, other: _Mismatched) -> str:
    """The test whether each of two columns that differ has the value of the other one in b."""
    form = _SHORTEST if one[1].cells.family in {"number", "float"} else "{0}"
    places = (one[0], other[0]), (other[0], one[0])
    return " AND ".join(
        f"d{x} AND {form.format(f'a{x}')} IS NOT DISTINCT FROM {form.format(f'b{y}')}"
        for x, y in places
    )


class _CauseSearch:
    def __init__(
        self,
        engine: TableEngine,
        question: SavedComparison,
        result: ComparisonResult,
        rows: DifferingRows,
        report: Report,
    ) -> None:
        self._engine = engine
        self._asked = question
        self._question = question.model_copy(update={"key": result.key.columns})
        self._report = report
        self._result = result
        self._rows = rows
        self._reruns = 0
        self._proved: list[ProvedRule] = []
        self._facts: list[Fact] = []
        self._options: list[str] = []

    async def run(self) -> Why:
        swapped = await self._swapped()
        known = {name for cause in swapped for name in cause.columns}
        groups = [[cause] for cause in swapped]
        groups += [
            group
            for group in await self._of_columns()
            if group and known.isdisjoint(group[0].columns)
        ]
        of_columns = [cause for group in groups for cause in group]
        groups += [await self._of_class(name) for name in CLASSES]
        mismatched = self._mismatched()
        for group in sorted(filter(None, groups), key=lambda each: -each[0].weight):
            await self._prove(group)
        named: set[str] = set()
        for index, pair, mismatches in mismatched:
            if pair.a in named:
                continue
            left = differences(self._result, (pair.a,))
            is_open = left >= _HALF * mismatches
            if is_open and await self._prove_rates(index, pair):
                continue
            own = [cause for cause in of_columns if pair.a in cause.columns]
            if is_open and (cause := await self._prove_in_rows(own, index, pair)):
                named.update(cause.columns)
                continue
            shared = await SharedValues(self._rows).of_column(index)
            if not is_open:
                await self._add_facts(own, shared)
            else:
                without = [each for each in shared if each.facts]
                await self._prove([of_filter((pair.a,), each, left) for each in without[:2]])
        return Why(tuple(self._proved), tuple(self._facts))

    async def _prove_rates(self, index: int, pair: ColumnPair) -> bool:
        """Name the factor of each value of another column."""
        if pair.cells.family not in {"number", "float"}:
            return False
        is_proved = False
        for cause in await Rates(self._rows).of_column(index):
            after, left = await self._alone(cause)
            if after is not None:
                self._add_alone(cause, after, left)
                is_proved = True
        return is_proved

    async def _add_facts(self, causes: Sequence[Cause], shared: Sequence[InCommon]) -> None:
        """Say which rows need a proved rule, if most others have another value."""
        if not (causes and shared and shared[0].facts):
            return
        first = shared[0]
        if first.column in self._question.filters:
            return
        only = in_rows(causes[0], first.column, [fact.value for fact in first.facts])
        after = await self._compared(only)
        if after is not None and after.rows.met <= _HALF * self._result.rows.met:
            self._facts += first.facts

    async def _prove_in_rows(
        self, causes: Sequence[Cause], index: int, pair: ColumnPair
    ) -> Cause | None:
        """Name the cause that only the rows have in which a column differs: the best range."""
        best: tuple[float, Cause, ComparisonResult, int, InCommon] | None = None
        pairs: list[tuple[InCommon, Cause]] = []
        for cause in causes:
            rule = cause.rules.get(pair.a)
            cells = f"a{index}", f"b{index}"
            explained = "" if rule is None else is_equal(pair.cells, rule, *cells)
            shared = await SharedValues(self._rows).of_column(index, explained)
            pairs += [(each, cause) for each in shared]
        pairs.sort(key=lambda each: (not each[0].facts, each[0].rank))
        for each, cause in pairs[: 2 * _TRIED]:
            kept = each.within or [fact.value for fact in each.facts]
            own = replace(cause, weight=each.count * len(cause.columns))
            own = in_rows(own, each.column, kept)
            after, left = await self._alone(own)
            if after is None:
                continue
            if best is None or left / own.weight < best[0]:
                best = left / own.weight, own, after, left, each
            if each.facts:
                break
        if best is None:
            return None
        _, own, after, left, each = best
        self._facts += each.facts
        self._add_alone(own, after, left)
        return own

    async def _alone(self, cause: Cause) -> tuple[ComparisonResult | None, int]:
        """The result of only the rows of a cause, if they are nearly all equal with it."""
        if not cause.filters.keys().isdisjoint(self._question.filters):
            return None, 0
        after = await self._compared(cause)
        if after is None or after.rows.met * len(cause.columns) < _HALF * cause.weight:
            return None, 0  # the filter does not find the rows, such as those of a 32-bit 0.1
        left = differences(after, cause.columns)
        return (after if left <= _LOST * cause.weight else None), left

    def _add_alone(self, cause: Cause, after: ComparisonResult, left: int) -> None:
        count = max(differences(self._result, cause.columns), cause.weight)
        self._add(cause, after, cause.weight - left, count, alone=True)

    async def _of_columns(self) -> list[list[Cause]]:
        """The rules that may explain each column."""
        found: list[list[Cause]] = []
        for index, pair, mismatches in self._mismatched():
            cells = (
                f'SELECT a{index} AS a, b{index} AS b FROM "{self._rows.table}"'  # noqa: S608 - our own names
                f" WHERE class = {DIFFERING} AND d{index} ORDER BY {self._order} LIMIT {_SAMPLE}"
            )
            guesses = await guessed(self._rows.workspace, cells, pair)
            found.append(
                [
                    of_rule(pair.a, guess, mismatches * guess.explained // guess.of)
                    for guess in guesses
                ]
            )
        return found

    def _mismatched(self) -> list[_Mismatched]:
        """The columns that differ in enough rows, with their index."""
        counts = {column.a: column.mismatches for column in self._result.columns}
        return [
            (index, pair, counts[pair.a])
            for index, pair in enumerate(self._rows.plan.pairs)
            if index >= self._rows.plan.keys and counts.get(pair.a, 0) >= LEAST
        ]

    @property
    def _order(self) -> str:
        """An order by the keys that is not theirs."""
        keys = ", ".join(f"k{index}" for index in range(self._rows.plan.keys))
        return f"HASH({keys}), {keys}"

    async def _swapped(self) -> list[Cause]:
        """Pairs of columns of one type, each of which has the values of the other one in b."""
        columns = self._mismatched()
        pairs = [
            (one, other)
            for number, one in enumerate(columns)
            for other in columns[number + 1 :]
            if one[1].cells.family == other[1].cells.family
        ]
        if not pairs:
            return []
        counted = ", ".join(
            f"COUNT_IF({_are_exchanged(one, other)}) AS c{number}"
            for number, (one, other) in enumerate(pairs)
        )
        [row] = await self._rows.ask(counted)
        found: list[Cause] = []
        for number, (one, other) in enumerate(pairs):
            count = int(row[f"c{number}"] or 0)
            if count >= max(LEAST, _HALF * max(one[2], other[2])):
                a, b = one[1], other[1]
                mapping = {a.a: b.b, b.a: a.b}
                about = f"The exchange of {a.a} and {b.a}"
                option = map_options(mapping.items())
                found.append(Cause((a.a, b.a), about, option, 2 * count, mapping=mapping))
        return found

    async def _of_class(self, name: str) -> list[Cause]:
        """Filters without which there may be no rows that only one side has, or repeated keys."""
        rows = differences(self._result, (name,))
        if rows < LEAST:
            return []
        if name.startswith("repeated"):
            shared = await self._of_repeated(name)
        else:
            shared = await SharedValues(self._rows).of_class(name)
        can_tell = any(each.rarity is not None for each in shared)
        most = _TRIED if can_tell else _RERUNS
        return [of_filter((name,), each, rows) for each in shared[:most]]

    async def _of_repeated(self, name: str) -> list[InCommon]:
        """What the rows have in common that one side has more often, of a sample of their keys."""
        keys = [f"k{index}" for index in range(self._rows.plan.keys)]
        tests = f"class = {DUPLICATE}", f"rows_{name[-1]} > 1", *(f"{k} IS NOT NULL" for k in keys)
        rows = await self._rows.ask(
            ", ".join(keys),
            f"WHERE {' AND '.join(tests)} ORDER BY {self._order}",
            f"LIMIT {MAX_VALUES // (2 * len(keys))}",
        )
        if len(rows) < LEAST:
            return []
        names = (pair.a for pair in self._rows.plan.pairs)
        only = {
            key: sorted({row[column] for row in rows})
            for column, key in zip(keys, names, strict=False)
            if key not in self._question.filters
        }
        filters = {**self._question.filters, **only}
        self._reruns += 1
        counted = {"key": (), "multiset": True, "rules": Rules(), "filters": filters}
        question = self._question.model_copy(update=counted)
        try:
            async with self._engine.compared(question, whole=True) as (_, repeated):
                return await SharedValues(DifferingRows(repeated), self._rows).of_repeated(name)
        except ToolError:
            return []

    async def _prove(self, causes: Sequence[Cause]) -> None:
        """Compare with each cause; accept the first rule, or the filter that is the best."""
        best: tuple[int, Cause, ComparisonResult, int] | None = None
        count = differences(self._result, causes[0].columns) if causes else 0
        for cause in causes:
            after = await self._compared(cause)
            if after is None:
                continue
            before = self._result
            gone = count - differences(after, cause.columns)
            if gone < max(LEAST, _GONE * count):
                continue
            lost = 0
            if cause.filters:
                # Rows without the cause stay: it is rarer among all rows than among these.
                lost = max(0, before.rows.met - after.rows.met)
                most = _LOST if cause.columns[0] in CLASSES else _HALF
                is_rare = lost <= most * before.rows.met * gone / count and after.rows.met > 0
            else:
                is_rare = after.rows.matched >= before.rows.matched
            if is_rare and (best is None or gone - lost > best[0]):
                best = gone - lost, cause, after, gone
            is_exact = gone - lost == count or (len(cause.facts) == 1 and lost <= _LOST * gone)
            if is_rare and (not cause.filters or is_exact):
                break
        if best is not None:
            _, cause, after, gone = best
            self._add(cause, after, gone, count, alone=False)

    async def _compared(self, cause: Cause) -> ComparisonResult | None:
        """The result with a cause and those that are proved; None if it fails, or after many."""
        if self._reruns >= _RERUNS or not cause.fits(self._question):
            return None
        self._reruns += 1
        self._report(f"comparing again with {cause.option}")
        try:
            with within(f"explaining, rule {self._reruns} of at most {_RERUNS}"):
                return await self._engine.compute(cause.applied(self._question))
        except ToolError:
            return None

    def _add(
        self, cause: Cause, after: ComparisonResult, explained: int, count: int, *, alone: bool
    ) -> None:
        """Add a rule that is proved, which explains so many of a number of differences.

        The rules after it are proved together with it, unless it was compared `alone`.
        """
        question, options = cause.applied(self._question), [*self._options, cause.option]
        if not alone:
            self._question, self._options, self._result = question, options, after
        changes = {
            name: getattr(question, name)
            for name in _APPLIED
            if getattr(question, name) != getattr(self._asked, name)
        }
        self._facts += cause.facts
        self._proved.append(
            ProvedRule(
                about=cause.about,
                option=cause.option,
                options=" ".join(options),
                explained=explained,
                differences=count,
                matched=after.rows.matched,
                total=after.rows.rows_a,
                columns=cause.columns,
                kinds=cause.kinds,
                changes=changes,
                of=cause.of,
            )
        )
