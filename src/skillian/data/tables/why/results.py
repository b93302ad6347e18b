"""What explains the rows that differ."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ProvedRule:
    """An option with which fewer rows differ, as a comparison with it has shown.

    Attributes:
        sentence: What explains the differences, in words.
        option: The option to add to the command line.
        explained: How many differences are gone with it.
        matched: How many rows match with this option and those of the rules before.
        total: How many rows of a were compared with them.
    """

    sentence: str
    option: str
    explained: int
    matched: int
    total: int

    def to_dict(self) -> dict[str, object]:
        """The rule for JSON."""
        return {
            "sentence": self.sentence,
            "option": self.option,
            "explained": self.explained,
            "matched": self.matched,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Fact:
    """A value that the rows of a difference have in common.

    Attributes:
        subject: The column that differs; or `only in a`, `only in b`.
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
        what = "rows" if self.subject.startswith("only in ") else "differences in"
        return f"{share} {self.total:,} {what} {self.subject} have {self.column} = {self.value}."

    def to_dict(self) -> dict[str, object]:
        """The fact for JSON."""
        return {
            "subject": self.subject,
            "column": self.column,
            "value": self.value,
            "count": self.count,
            "total": self.total,
        }


@dataclass(frozen=True, slots=True)
class Why:
    """Why rows differ; without a cause, both are empty.

    Attributes:
        rules: What explains the differences, the most important first.
        facts: Which values go together with differences.
    """

    rules: tuple[ProvedRule, ...] = ()
    facts: tuple[Fact, ...] = ()

    @property
    def sentences(self) -> tuple[str, ...]:
        """Everything in words."""
        return (
            *(rule.sentence for rule in self.rules),
            *(fact.sentence for fact in self.facts),
        )

    def to_dict(self) -> dict[str, object]:
        """The explanation for JSON."""
        return {
            "rules": [rule.to_dict() for rule in self.rules],
            "facts": [fact.to_dict() for fact in self.facts],
            "sentences": list(self.sentences),
        }
