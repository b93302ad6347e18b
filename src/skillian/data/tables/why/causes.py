"""Which rules and filters explain the rows that differ: guessed from them, then proved."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from sqlglot import exp

from skillian.data import sql
from skillian.data.declare.rules import EXACT, Rule, Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.phases import within
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import map_options
from skillian.data.sql import Statement
from skillian.data.sql.rows import fetch
from skillian.data.tables.columns import ColumnPair
from skillian.data.tables.differing import DifferingRows
from skillian.data.tables.engine import TableEngine
from skillian.data.tables.statement import DIFFERING
from skillian.data.tables.why.guesses import LEAST, guessed
from skillian.data.tables.why.rates import Rates
from skillian.data.tables.why.results import Fact, ProvedRule, Report, Why
from skillian.data.tables.why.shared_values import InCommon, SharedValues
from skillian.errors import ToolError

_SAMPLE = 2000
_RERUNS = 8
_GONE = 0.5
_LOST = 0.1
_HALF = 0.5
_CLASSES = ("only in a", "only in b")
_APPLIED = ("key", "map", "filters", "rules")


async def why(
    engine: TableEngine,
    question: SavedComparison,
    result: ComparisonResult,
    rows: DifferingRows,
    report: Report | None = None,
) -> Why:
    """What explains the rows that differ; each rule is proved by another comparison.

    Args:
        engine: Compares.
        question: What was compared.
        result: Its result.
        rows: Its rows that differ, with all of their cells.
        report: Gets what is tried.

    Raises:
        ToolError: The rows that differ cannot be read.
    """
    if result.rows.are_equal:
        return Why(nothing="All rows match, so there is nothing to explain.")
    if not rows.plan.keys:
        without = "Rows that are compared without a key are not explained; name a key."
        return Why(nothing=without)
    return await _CauseSearch(engine, question, result, rows, report or _ignored).run()


def _ignored(_doing: str) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Cause:
    """A possible cause: the question that proves it, and what it is about."""

    columns: tuple[str, ...]
    about: str
    option: str
    weight: int
    rules: Mapping[str, Rule] = field(default_factory=dict[str, Rule])
    mapping: Mapping[str, str] = field(default_factory=dict[str, str])
    filters: Mapping[str, Any] = field(default_factory=dict[str, Any])
    facts: tuple[Fact, ...] = ()

    @property
    def kinds(self) -> tuple[str, ...]:
        """What it consists of, without any value."""
        parts = (each.model_dump(exclude_none=True) for each in self.rules.values())
        others = {"map": self.mapping, "filter": self.filters}
        return (*(name for each in parts for name in each), *(n for n, v in others.items() if v))

    def applied(self, question: SavedComparison) -> SavedComparison:
        """The question with this cause."""
        rules = question.rules
        own = {**rules.columns}
        for name, rule in self.rules.items():
            own[name] = rule.over(own.get(name, EXACT))
        return question.model_copy(
            update={
                "rules": Rules(all=rules.all, types=rules.types, columns=own),
                "map": {**question.map, **self.mapping},
                "filters": _both(question.filters, self.filters),
            }
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
        groups += [await self._of_class(name) for name in _CLASSES]
        for group in sorted(filter(None, groups), key=lambda each: -each[0].weight):
            await self._prove(group)
        for index, pair, mismatches in self._mismatched():
            left = _differences(self._result, (pair.a,))
            if left >= _HALF * mismatches:
                if await self._prove_rates(index, pair):
                    continue
                shared = await SharedValues(self._rows).of_column(index)
                await self._prove(self._filters(shared[:2], (pair.a,), left))
        return Why(tuple(self._proved), tuple(self._facts))

    async def _prove_rates(self, index: int, pair: ColumnPair) -> bool:
        """Name the factor of each value of another column; each is proved by these rows alone."""
        if pair.cells.family not in {"number", "float"}:
            return False
        count, is_proved = _differences(self._result, (pair.a,)), False
        for rate in await Rates(self._rows).of_column(index):
            if rate.column in self._question.filters:
                continue
            test = shlex.quote(f"{rate.column}={rate.value}")
            cause = _Cause(
                (pair.a,),
                f"In rows with {rate.column} = {rate.value}, {pair.a} ({rate.guess.rule.words()})",
                f"--where {test} --rule {shlex.quote(f'{pair.a}:{rate.guess.written}')}",
                rate.rows,
                {pair.a: rate.guess.rule},
            )
            filters = {**self._question.filters, rate.column: [rate.value]}
            alone = self._question.model_copy(update={"filters": filters})
            after = await self._compared(cause, alone)
            if after is None:
                continue
            left = _differences(after, cause.columns)
            if left <= _LOST * rate.rows:
                options = [*self._options, cause.option]
                self._add(cause, after, (rate.rows - left, count), cause.applied(alone), options)
                is_proved = True
        return is_proved

    async def _of_columns(self) -> list[list[_Cause]]:
        """The rules that may explain each column."""
        found: list[list[_Cause]] = []
        for index, pair, mismatches in self._mismatched():
            table = await self._sample(index)
            try:
                guesses = await guessed(self._rows.workspace, table, pair)
            finally:
                await self._rows.workspace.drop(table)
            found.append(
                [
                    _Cause(
                        (pair.a,),
                        f"{pair.a} ({guess.rule.words()})",
                        f"--rule {shlex.quote(f'{pair.a}:{guess.written}')}",
                        mismatches * guess.explained // guess.of,
                        {pair.a: guess.rule},
                    )
                    for guess in guesses
                ]
            )
        return found

    def _mismatched(self) -> list[tuple[int, ColumnPair, int]]:
        """The columns that differ in enough rows, with their index."""
        counts = {column.a: column.mismatches for column in self._result.columns}
        return [
            (index, pair, counts[pair.a])
            for index, pair in enumerate(self._rows.plan.pairs)
            if index >= self._rows.plan.keys and counts.get(pair.a, 0) >= LEAST
        ]

    async def _sample(self, index: int) -> str:
        """A table of cells of a column that differ."""
        columns: list[exp.Expr] = [sql.named(sql.bare(f"{side}{index}"), side) for side in "ab"]
        select = exp.Select(expressions=columns).from_(sql.table(self._rows.table), copy=False)
        select.where(sql.equals(sql.bare("class"), DIFFERING), sql.bare(f"d{index}"), copy=False)
        keys = [sql.bare(f"k{each}") for each in range(self._rows.plan.keys)]
        select.order_by(exp.Anonymous(this="HASH", expressions=list(keys)), *keys, copy=False)
        select.limit(_SAMPLE, copy=False)
        workspace = self._rows.workspace
        return await workspace.create(sql.prepare(select, workspace.dialect, {}).text, {})

    async def _swapped(self) -> list[_Cause]:
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
            f"COUNT_IF(d{x} AND d{y} AND a{x} IS NOT DISTINCT FROM b{y}"
            f" AND a{y} IS NOT DISTINCT FROM b{x}) AS c{number}"
            for number, ((x, *_), (y, *_)) in enumerate(pairs)
        )
        text = f'SELECT {counted} FROM "{self._rows.table}"'  # noqa: S608 - our own names
        [row] = await fetch(self._rows.workspace, Statement(text, {}))
        found: list[_Cause] = []
        for number, (one, other) in enumerate(pairs):
            count = int(row[f"c{number}"] or 0)
            if count >= max(LEAST, _HALF * max(one[2], other[2])):
                a, b = one[1], other[1]
                mapping = {a.a: b.b, b.a: a.b}
                about = f"That {a.a} and {b.a} have each other's values"
                option = map_options(mapping.items())
                found.append(_Cause((a.a, b.a), about, option, 2 * count, mapping=mapping))
        return found

    async def _of_class(self, name: str) -> list[_Cause]:
        """Filters without which there may be no rows that only one side has."""
        rows = _differences(self._result, (name,))
        if rows < LEAST:
            return []
        shared = await SharedValues(self._rows).of_class(name)
        return self._filters(shared[:3], (name,), rows)

    def _filters(
        self, found: Sequence[InCommon], columns: tuple[str, ...], weight: int
    ) -> list[_Cause]:
        return [
            _Cause(
                columns,
                f"That {_subject(shared)} have {shared.words}",
                " ".join(f"--where {shlex.quote(each)}" for each in shared.options),
                filters={shared.column: shared.test},
                weight=weight,
                facts=shared.facts,
            )
            for shared in found
            if isinstance(self._question.filters.get(shared.column, {}), Mapping)
        ]

    async def _prove(self, causes: Sequence[_Cause]) -> None:
        """Compare with each cause until most differences that it is about are gone."""
        for cause in causes:
            after = await self._compared(cause)
            if after is None:
                continue
            before, count = self._result, _differences(self._result, cause.columns)
            gone = count - _differences(after, cause.columns)
            if gone < max(LEAST, _GONE * count):
                continue
            if cause.filters:
                # Rows without the cause stay: it is rarer among all rows than among these.
                lost = before.rows.met - after.rows.met
                most = _LOST if cause.columns[0] in _CLASSES else _HALF
                is_rare = lost <= most * before.rows.met * gone / count
            else:
                is_rare = after.rows.matched >= before.rows.matched
            if is_rare:
                self._accept(cause, after, gone, count)
                return

    async def _compared(
        self, cause: _Cause, question: SavedComparison | None = None
    ) -> ComparisonResult | None:
        """The result with a cause and those that are proved; None if it cannot be had.

        Args:
            cause: The cause.
            question: The question without it, if that is not the one with all that is proved.
        """
        if self._reruns >= _RERUNS:
            return None
        self._reruns += 1
        self._report(f"comparing again with {cause.option}")
        try:
            with within(f"explaining, rule {self._reruns} of at most {_RERUNS}"):
                return await self._engine.compute(cause.applied(question or self._question))
        except ToolError:
            return None

    def _accept(self, cause: _Cause, after: ComparisonResult, gone: int, count: int) -> None:
        self._options.append(cause.option)
        self._question = cause.applied(self._question)
        self._add(cause, after, (gone, count), self._question, self._options)
        self._facts += cause.facts
        self._result = after

    def _add(
        self,
        cause: _Cause,
        after: ComparisonResult,
        explained: tuple[int, int],
        question: SavedComparison,
        options: Sequence[str],
    ) -> None:
        """Add the rule of a cause that this question has proved."""
        changes = {
            name: getattr(question, name)
            for name in _APPLIED
            if getattr(question, name) != getattr(self._asked, name)
        }
        self._proved.append(
            ProvedRule(
                about=cause.about,
                option=cause.option,
                options=" ".join(options),
                explained=explained[0],
                differences=explained[1],
                matched=after.rows.matched,
                total=after.rows.rows_a,
                columns=cause.columns,
                kinds=cause.kinds,
                changes=changes,
            )
        )


def _subject(shared: InCommon) -> str:
    is_class = shared.subject in _CLASSES
    return f"rows {shared.subject}" if is_class else f"differences in {shared.subject}"


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both filters; the other one is added to tests of the same column."""
    merged = dict(one)
    for name, test in other.items():
        known = merged.get(name, {})
        excluded = [*known.get("ne", ()), *test.get("ne", ())]
        merged[name] = {**known, **test, **({"ne": excluded} if excluded else {})}
    return merged


def _differences(result: ComparisonResult, subjects: tuple[str, ...]) -> int:
    """In how many cells these columns differ, or how many rows are in these classes."""
    counts = {column.a: column.mismatches for column in result.columns}
    rows = result.rows.only_in_a, result.rows.only_in_b
    counts |= dict(zip(_CLASSES, rows, strict=True))
    return sum(counts.get(each, 0) for each in subjects)
