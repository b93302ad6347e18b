"""What explains the rows that differ."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

from skillian.data.declare.rules import Rules
from skillian.data.declare.saved import SavedComparison
from skillian.data.sql.values import Record, plain

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
    """A value that the rows of a difference have in common.

    Attributes:
        subject: The column that differs, or one of `CLASSES`.
        column: The column with the value.
        value: The value.
        count: How many of the rows have it.
        total: How many rows there are.
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
    """Why rows differ; without a cause, both are empty.

    Attributes:
        rules: What explains the differences, the most important first.
        facts: Which values go together with differences.
        nothing: What to say if both are empty.
        cache_key: The comparison.
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
        return (
            *(rule.sentence for rule in self.rules),
            *(fact.sentence for fact in self.facts),
        )

    def answer(self) -> dict[str, object]:
        """The explanation for JSON, with its comparison and a sentence in any case."""
        sentences = [*self.sentences] or [self.nothing]
        return {"cache_key": self.cache_key, **self.to_dict(), "sentences": sentences}
