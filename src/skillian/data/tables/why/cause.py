"""A possible cause of differences, and the question that proves it."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from skillian.data.declare.rules import EXACT, Rule, Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.results.result import ComparisonResult
from skillian.data.tables.why.guesses import Guess
from skillian.data.tables.why.results import CLASSES, Fact, rows_about
from skillian.data.tables.why.shared_values import InCommon

_SIGNS = {"gte": ">=", "lte": "<="}


@dataclass(frozen=True, slots=True)
class Cause:
    """A possible cause of differences.

    Attributes:
        columns: The columns in which rows differ by it; or one of `CLASSES`.
        about: What it does, as its sentence begins.
        of: What it explains, in words.
        option: The option of the command line that states it.
        weight: How many differences it may explain.
        rules: The rules of columns that it consists of.
        mapping: The pairs of columns that it consists of.
        filters: The filters that it consists of.
        facts: Which values go together with the differences.
    """

    columns: tuple[str, ...]
    about: str
    option: str
    weight: int
    of: str = "differences"
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

    def fits(self, question: SavedComparison) -> bool:
        """Whether its filters can be added to those of a question."""
        return all(
            _can_join(question.filters[n], t)
            for n, t in self.filters.items()
            if n in question.filters
        )

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


def of_rule(name: str, guess: Guess, weight: int) -> Cause:
    """The cause that a rule of a column is."""
    option = f"--rule {shlex.quote(f'{name}:{guess.written}')}"
    return Cause(
        (name,), f"{name} ({guess.rule.words()})", option, weight, rules={name: guess.rule}
    )


def of_filter(columns: tuple[str, ...], shared: InCommon, weight: int) -> Cause:
    """The cause that leaves out the rows that have something in common."""
    [subject] = columns
    return Cause(
        columns,
        shared.words,
        " ".join(f"--where {shlex.quote(each)}" for each in shared.options),
        weight,
        rows_about(subject),
        filters={shared.column: shared.test},
        # Repeated keys are counted in a sample.
        facts=() if subject.startswith("repeated") else shared.facts,
    )


def in_rows(cause: Cause, column: str, kept: Sequence[str] | Mapping[str, str]) -> Cause:
    """A cause that only the rows with these values of another column have, or those of a range."""
    if isinstance(kept, Mapping):
        tests = [f"{column}{_SIGNS[name]}{value}" for name, value in kept.items()]
        words = " and ".join(f"{column} {_SIGNS[name]} {value}" for name, value in kept.items())
        test: Any = dict(kept)
    else:
        tests = [f"{column}={value}" for value in kept]
        words = f"{column} = {' or '.join(kept)}"
        test = [*kept]
    wheres = [f"--where {shlex.quote(each)}" for each in tests]
    return Cause(
        cause.columns,
        f"In rows with {words}, {cause.about}",
        " ".join([*wheres, cause.option]),
        cause.weight,
        rules=cause.rules,
        mapping=cause.mapping,
        filters={column: test},
    )


def differences(result: ComparisonResult, subjects: tuple[str, ...]) -> int:
    """In how many cells these columns differ, or how many rows are in these classes."""
    counts = {column.a: column.mismatches for column in result.columns}
    rows = result.rows
    of_classes = rows.only_in_a, rows.only_in_b, rows.duplicate_rows_a, rows.duplicate_rows_b
    counts |= dict(zip(CLASSES, of_classes, strict=True))
    return sum(counts.get(each, 0) for each in subjects)


def _can_join(one: object, other: object) -> bool:
    """Whether one filter can say what two filters of a column say."""
    if not isinstance(one, Mapping) or not isinstance(other, Mapping):
        return False
    return {*cast("Iterable[str]", one)} & {*cast("Iterable[str]", other)} <= {"ne"}


def _both(one: Mapping[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Both filters; the other one is added to tests of the same column, where `fits` allows it."""
    merged = dict(one)
    for name, test in other.items():
        if name not in merged:
            merged[name] = test
            continue
        known = cast("Mapping[str, Any]", merged[name])
        excluded = [value for each in (known, test) for value in _excluded(each)]
        merged[name] = {**known, **test, **({"ne": excluded} if excluded else {})}
    return merged


def _excluded(test: Mapping[str, Any]) -> list[Any]:
    if "ne" not in test:
        return []
    value = test["ne"]
    return [*cast("Iterable[Any]", value)] if isinstance(value, list | tuple) else [value]
