"""Which columns of two tables belong together, and when their cells are equal, as chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from typing import Any

from skillian.data.declare.rules import Family, Rule
from skillian.data.declare.saved import SavedComparison
from skillian.data.results.rows import Proposal
from skillian.web.comparison.form.entered import rule_value

IGNORED = "ignore"
_AS_ASKED = "asked"
_PERCENT = Decimal(100)
_WORDS: Mapping[str, str] = {
    "number": "number",
    "float": "number",
    "decimal": "number",
    "integer": "whole number",
    "text": "text",
    "boolean": "yes or no",
    "date": "date",
    "timestamp": "date and time",
    "time": "time of day",
    "uuid": "identifier",
    "json": "JSON",
    "nested": "list or record",
    "binary": "bytes",
}
_TEXT = {
    "trim": "without spaces around",
    "ignore_case": "ignoring case",
    "trim ignore_case": "without spaces around, ignoring case",
    "trim collapse_whitespace": "with single spaces",
    "empty_is_null": "where empty is NULL",
}
_NUMBER = {
    "absolute": "within an amount …",
    "relative": "within percent …",
    "round": "rounded to places …",
}
_MOMENT = {
    "precision second": "to the second",
    "precision minute": "to the minute",
    "precision day": "to the day",
    "seconds": "within seconds …",
    "zone_a": "A's clocks are in zone …",
    "zone_b": "B's clocks are in zone …",
}
_CHOICES: Mapping[Family, Mapping[str, str]] = {
    "text": _TEXT,
    "number": _NUMBER,
    "float": _NUMBER,
    "timestamp": _MOMENT,
    "date": {"seconds": _MOMENT["seconds"]},
}
HINTS = {
    "absolute": "0.01",
    "relative": "1",
    "round": "2",
    "seconds": "5",
    "zone_a": "Europe/Berlin",
    "zone_b": "Europe/Berlin",
}
"""The rules that take a value, and an example of one."""


def type_words(family: str | None) -> str:
    """What a column holds, in everyday words."""
    return _WORDS.get(family or "", "other")


def choices(family: Family, chosen: str = "") -> dict[str, str]:
    """The rules for a column, and what each of them says after "Compared"."""
    asked = {_AS_ASKED: "as asked before"} if chosen == _AS_ASKED else {}
    return {"": "exactly", **asked, **_CHOICES.get(family, {}), IGNORED: "not at all"}


class Matching:
    """What the reader has chosen about two tables, on top of what was found.

    Args:
        asked: The sources, and what was chosen before.
        by_name: The columns of A that have a partner of the same name.

    Attributes:
        key: The columns of A that identify a row; None for those that are proposed.
        multiset: Whether rows are compared without a key.
        proposed: Why a column of A was paired with another name in B, by its name.
        faults: Why the value of a column's rule is not valid, by its name; the question lacks
            these rules, so nothing is compared before they are corrected.
    """

    def __init__(self, asked: SavedComparison, by_name: Iterable[str] = ()) -> None:
        self._asked = asked
        self._by_name = frozenset(by_name)
        self.key: tuple[str, ...] | None = asked.key or None
        self.multiset = asked.multiset
        self.proposed: dict[str, str] = {}
        self.faults: dict[str, str] = {}
        self._partners = {**asked.names_in_b, **dict.fromkeys(asked.ignore, "")}
        self._rules = {name: _choice(rule) for name, rule in asked.rules.columns.items()}

    def propose(self, proposals: Iterable[Proposal]) -> None:
        """Pair columns that seem to be the same."""
        for each in proposals:
            self._partners[each.a] = each.b
            self.proposed[each.a] = each.reason

    def pair(self, a: str, b: str) -> None:
        """Pair a column of A with one of B, which leaves its former partner; empty for none."""
        for other in [name for name, partner in self._partners.items() if b and partner == b]:
            self._partners[other] = ""
        self._partners[a] = b
        self.proposed.pop(a, None)

    def switch_key(self, shown: Sequence[str], column: str, *, is_key: bool) -> None:
        """Add a column to the key that is shown, or remove it."""
        others = tuple(name for name in shown if name != column)
        self.key = (*others, column) if is_key else others

    @property
    def lacks_key(self) -> bool:
        """Whether the reader has removed all columns of the key."""
        return self.key == () and not self.multiset

    def rule(self, column: str) -> tuple[str, str]:
        """The rule of a column, and its value."""
        return self._rules.get(column, ("", ""))

    def set_rule(self, column: str, choice: str, value: str = "") -> None:
        """Choose a rule; if its value is not valid, that is a fault, and no earlier one is kept."""
        self._rules[column] = (choice, value)
        self.faults.pop(column, None)
        try:
            _rule(choice, value)
        except ValueError as error:
            self.faults[column] = str(error)

    def partner(self, column: str) -> str:
        """The column of B that is chosen for one of A; empty if there is none."""
        return self._partners.get(column, column if column in self._by_name else "")

    @property
    def ignored(self) -> tuple[str, ...]:
        """The columns that are not compared, as chosen."""
        names = [name for name, (choice, _) in self._rules.items() if choice == IGNORED]
        # Another column without a partner is only in A, which the result says.
        names += [
            name
            for name, partner in self._partners.items()
            if not partner and (name in self._by_name or name in self._asked.ignore)
        ]
        # A name is that of a column of either side, and another pair may have it in B.
        others = {partner for name, partner in self._partners.items() if name != partner}
        return tuple(name for name in dict.fromkeys(names) if name not in others)

    def question(self, filters: Mapping[str, Any]) -> SavedComparison:
        """The comparison of the rows that meet these filters."""
        ignored = self.ignored
        rules = {
            name: self._asked.rules.columns[name] if choice == _AS_ASKED else _rule(choice, value)
            for name, (choice, value) in self._rules.items()
            if choice not in {"", IGNORED} and name not in {*ignored, *self.faults}
        }
        pairs = {name: partner for name, partner in self._partners.items() if partner}
        fields: dict[str, Any] = {
            "map": {name: partner for name, partner in pairs.items() if name not in ignored},
            "ignore": ignored,
            "rules": {**self._asked.rules.model_dump(exclude={"columns"}), "columns": rules},
            "key": () if self.multiset else self.key or (),
            "multiset": self.multiset,
            "filters": filters,
        }
        asked = self._asked.model_dump(exclude_defaults=True, exclude={*fields, "columns"})
        asked |= {} if self._asked.chosen_columns is None else {"columns": self._asked.columns}
        stated = {name: value for name, value in fields.items() if value}
        return SavedComparison.model_validate({**asked, **stated})


def _choice(rule: Rule) -> tuple[str, str]:
    """The choice that is this rule, with its value."""
    stated = rule.model_dump(exclude_none=True)
    for choice in (*_TEXT, *_NUMBER, *_MOMENT):
        name = choice.split()[0]
        value: Any = stated.get(name)
        if name in HINTS and {*stated} == {name}:
            return choice, f"{Decimal(value) * _PERCENT:f}" if name == "relative" else str(value)
        if name not in HINTS and Rule.model_validate(_rule(choice, "")) == rule:
            return choice, ""
    return _AS_ASKED, ""


def _rule(choice: str, value: str) -> dict[str, object]:
    """The fields of a `Rule`; raises `ValueError`."""
    if choice in {"", IGNORED, _AS_ASKED}:
        return {}
    name, *more = choice.split()
    if choice.startswith("precision"):
        return {"precision": more[0]}
    if name not in HINTS:
        return dict.fromkeys((name, *more), True)
    return {name: rule_value(name, value)}
