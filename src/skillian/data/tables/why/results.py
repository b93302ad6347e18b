"""What explains the rows that differ: possible causes, and the rules that a comparison proves."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, cast

from skillian.data.declare.rules import EXACT, Rule, Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.results.result import ComparisonResult
from skillian.data.results.rows import option_name
from skillian.data.sql.values import Record, plain

if TYPE_CHECKING:
    from skillian.data.tables.why.guesses import Guess
    from skillian.data.tables.why.shared_values import InCommon


CLASSES = ("only in a", "only in b", "repeated in a", "repeated in b")
"""What a cause may be about, besides columns: rows of one side, and rows with a repeated key."""

Report = Callable[[str], object]
"""Gets the current activity."""


@dataclass(frozen=True, slots=True)
class ProvedRule(Record):
    """An option with which fewer rows differ, as a comparison with it has shown.

    Attributes:
        about: What it does, as its sentence begins.
        option: The option to add to the command line.
        options: This option and those of the rules before.
        explained: How many differences are gone with it.
        differences: How many differences there were without it.
        matched: How many rows match with all of these options.
        total: How many rows of a were compared with them.
        columns: The columns that it is about; or one of `CLASSES`.
        kinds: What it consists of: parts of a rule such as `factor`; `map`; `filter`.
        changes: The fields of the question with this rule and those before, where they are others.
        of: What it explains, in words.
    """

    json_names = "sentence option options explained differences matched total"

    about: str
    option: str
    options: str
    explained: int
    differences: int
    matched: int
    total: int
    columns: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    changes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    of: str = "differences"

    @property
    def parts(self) -> tuple[str, str, str]:
        """What explains the differences, in words: before the options, these, and after them."""
        return (
            f"{self.about} explains {self.explained:,} of {self.differences:,} {self.of}; with ",
            self.options,
            f", {self.matched:,} of {self.total:,} rows match.",
        )

    @property
    def sentence(self) -> str:
        """What explains the differences, in words."""
        before, options, after = self.parts
        return f"{before}`{options}`{after}"

    def applied(self, question: SavedComparison) -> SavedComparison:
        """The question that was explained, with this rule and those before."""
        return question.model_copy(update=dict(self.changes))

    def to_dict(self) -> dict[str, Any]:
        """The rule for JSON."""
        stated = {
            name: value.model_dump(exclude_defaults=True, exclude_none=True)
            if isinstance(value, Rules)
            else value
            for name, value in self.changes.items()
        }
        return {**Record.to_dict(self), "changes": plain(stated)}


@dataclass(frozen=True, slots=True)
class Fact(Record):
    """A value that `count` of the `total` rows of a difference have in common.

    The subject is the column that differs, or one of `CLASSES`.
    """

    subject: str
    column: str
    value: str
    count: int
    total: int

    @property
    def sentence(self) -> str:
        """The fact in words."""
        share = "All" if self.count == self.total else f"{self.count:,} of"
        return (
            f"{share} {self.total:,} {rows_about(self.subject)} have {self.column} = {self.value}."
        )


def rows_about(subject: str) -> str:
    """What is counted of a column that differs, or of one of `CLASSES`, in words."""
    if subject not in CLASSES:
        return f"differences in {subject}"
    kind, _, side = subject.partition(" in ")
    return f"rows only in {side}" if kind == "only" else f"rows of {side} with a repeated key"


@dataclass(frozen=True, slots=True)
class Why(Record):
    """Why rows differ: the rules, the most important first, and values that go with differences.

    Without a cause both are empty, and `nothing` says so.
    """

    json_names = "rules facts sentences"

    rules: tuple[ProvedRule, ...] = ()
    facts: tuple[Fact, ...] = ()
    nothing: str = "No rule that was tried explains the differences."
    cache_key: str = ""
    kind: ClassVar = "rows"

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words."""
        return (*(rule.sentence for rule in self.rules), *(fact.sentence for fact in self.facts))

    def answer(self) -> dict[str, object]:
        """The explanation for JSON, with its comparison and a sentence in any case."""
        sentences = [*self.sentences] or [self.nothing]
        return {"cache_key": self.cache_key, **self.to_dict(), "sentences": sentences}


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
    stated = option_name(column)
    if isinstance(kept, Mapping):
        tests = [f"{stated}{_SIGNS[name]}{value}" for name, value in kept.items()]
        words = " and ".join(f"{column} {_SIGNS[name]} {value}" for name, value in kept.items())
        test: Any = dict(kept)
    else:
        # A value that begins with a sign of a test is understood after `==`.
        signs = ["==" if value.startswith(("<", ">", "=")) else "=" for value in kept]
        tests = [f"{stated}{sign}{value}" for sign, value in zip(signs, kept, strict=True)]
        words = f"{column} = {' or '.join(kept)}"
        test = [*kept]
    wheres = [f"--where {shlex.quote(each)}" for each in tests]
    return replace(
        cause,
        about=f"In rows with {words}, {cause.about}",
        option=" ".join([*wheres, cause.option]),
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
