"""Reading a question by a grammar: every token is used by a clause, is filler, or is unread."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Any, Literal

from skillian.offline.conditions import Conditions, NotReadError, Operator, Values
from skillian.offline.grammar import CLAUSES, LETTERS
from skillian.offline.lexicon import ORDINALS, PERIODIC
from skillian.offline.limits import NUMBERS, StatedLimits
from skillian.offline.periods import spelt_out
from skillian.offline.tokens import Token, as_number, of_kinds, text_of, tokens_of
from skillian.offline.vocabulary import Vocabulary

_ALONE = {
    *("filler", "article", "and", "prep", "link", "all", "only", "compare", "gap", "which"),
    *("from", "to", "with", "between", "show", "same", "too", "ok", "how_much", "level", "exists"),
    *("within", "but"),
}
"""Kinds of tokens that carry nothing of their own, or only show what is requested."""

Direction = Literal["", "most", "least"]


@dataclass(slots=True)
class Reading:
    """What a question says.

    Attributes:
        sources, measures, breakdown, members: Names; `members` are dimensions whose members are
            asked for.
        filters: In the filter language of the tools.
        cleared: Dimensions with all values ("for all companies").
        thresholds: Limits of the classes.
        count, direction, ordered_by: Number of rows, and their order.
        is_singular: Whether a single member is asked for ("which company").
        says: Kinds of the tokens that show what is requested, with their texts.
        statuses: Classes of groups; `lacking` is the source that lacks them.
        ordinal: The position of a group, from 0.
        replaced: Values by dimension, and measures by "", that the last question had.
        unread: What was not understood: a call without it would answer another question.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    members: list[str] = field(default_factory=list[str])
    filters: dict[str, Any] = field(default_factory=dict[str, Any])
    cleared: list[str] = field(default_factory=list[str])
    thresholds: dict[str, dict[str, Any]] = field(default_factory=dict[str, dict[str, Any]])
    count: int | None = None
    direction: Direction = ""
    ordered_by: list[str] = field(default_factory=list[str])
    is_singular: bool = False
    says: dict[str, str] = field(default_factory=dict[str, str])
    statuses: list[str] = field(default_factory=list[str])
    lacking: str = ""
    only_in: str = ""
    ordinal: int = 0
    replaced: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    unread: list[str] = field(default_factory=list[str])

    @property
    def names_data(self) -> set[str]:
        """What it names that changes a call."""
        names = ("measures", "breakdown", "filters", "cleared", "thresholds", "direction", "count")
        return {name for name in names if getattr(self, name)}


LONGEST_QUESTION = 2000
"""The longest question, in characters; a longer text takes too long to read."""
MOST_TOKENS = 400
"""The largest number of tokens of a question."""
_MOST_ROWS = 1000


@lru_cache(maxsize=32)
def read(question: str, vocabulary: Vocabulary, sources: tuple[str, ...] = ()) -> Reading:
    """What a question says; nothing that is not in the question or the vocabulary.

    A question that names no source is about `sources`, those of the conversation. The planner and
    the check of its call share a reading: the last ones are remembered.
    """
    if len(question) > LONGEST_QUESTION:
        return Reading(unread=[f"a question of more than {LONGEST_QUESTION} characters"])
    question = spelt_out(question)
    tokens = tokens_of(question, vocabulary)
    named = [token.name for token in tokens if token.kind == "source"]
    part = vocabulary.within(named or sources)
    if part is not vocabulary:
        tokens = tokens_of(question, vocabulary, part)
    if len(tokens) > MOST_TOKENS:
        return Reading(unread=[f"a question of more than {MOST_TOKENS} words"])
    return _Reader(tokens, part).read()


_OPERATORS: dict[str, Operator] = {
    "since": "gte",
    "from": "gte",
    "after": "gt",
    "until": "lte",
    "before": "lt",
    "onwards": "gte",
    "backwards": "lte",
}
_VALUES = {"value", "number_value", "period", "name", "number"}


class _Reader:
    """Reads tokens from left to right, by the clause that takes the most of them."""

    def __init__(self, tokens: Sequence[Token], vocabulary: Vocabulary) -> None:
        self._tokens = tokens
        self._vocabulary = vocabulary
        years = {t.period.year for t in tokens if t.period is not None and t.period.year}
        self._values = Values(vocabulary, years)
        self._conditions = Conditions()
        self._reading = Reading()
        self._limits = StatedLimits(self._reading.thresholds)
        self._counted = ""

    def read(self) -> Reading:
        """The reading."""
        text = "".join(LETTERS[token.kind] for token in self._tokens)
        at, is_after_unread = 0, False
        while at < len(text):
            matches = [(clause.match(text, at), name) for name, clause in CLAUSES.items()]
            ends = [(match.end(), name) for match, name in matches if match and match.end() > at]
            end, name = max(ends, key=lambda each: each[0], default=(at + 1, ""))
            part = self._tokens[at:end]
            try:
                self._take(name, part)
                is_after_unread = False
            except NotReadError as error:
                unread = self._reading.unread
                before = [unread.pop()] if is_after_unread and not name else []
                unread.append(" ".join([*before, str(error)]))
                is_after_unread = not name
            at = end
        self._reading.unread += self._limits.other_units(self._reading.measures, self._vocabulary)
        if self._counted and not self._reading.direction:  # "2 countries": which ones?
            self._reading.unread.append(self._counted)
        self._reading.filters = self._conditions.arguments()
        return self._reading

    def _take(self, name: str, part: Sequence[Token]) -> None:
        if name != "first_rows":
            self._reading.says |= {token.kind: token.text for token in part}
        if not name:
            if part[0].kind not in _ALONE:
                raise NotReadError(part[0].text)
            return
        if name in _HANDLERS:
            _HANDLERS[name](self, part)

    def condition(self, part: Sequence[Token]) -> None:
        kinds = [token.kind for token in part]
        is_not = {"excluded", "not", "dont", "forgive", "but"} & {*kinds}
        if "nor" in kinds and not is_not:
            raise NotReadError(text_of(part))
        self._add(part, "ne" if is_not else "eq")

    def bound(self, part: Sequence[Token]) -> None:
        said = [token.kind for token in part if token.kind in _OPERATORS]
        if said.count("from") == len(said) and not self._is_timed(part):
            self._add(part, "eq")  # "from EMEA", "to EMEA"
            return
        if not said:  # "to June": until June, or now June?
            raise NotReadError(text_of(part))
        self._add(part, _OPERATORS[next((k for k in reversed(said) if k != "from"), "from")])

    def range(self, part: Sequence[Token]) -> None:
        first = of_kinds(part, _VALUES)[0]
        start = part.index(first)
        join = next(at for at in range(start, len(part)) if part[at].kind in {"to", "until", "and"})
        is_list = part[join].kind == "and" and "between" not in {t.kind for t in part[:start]}
        if is_list:
            self.condition(part)
        elif len(self._groups(part)) == 1:
            self._add(part, "between")
        else:  # "for EMEA until June"
            self.bound(part[:join])
            self.bound(part[join:])

    def _add(self, part: Sequence[Token], operator: Operator) -> None:
        groups = self._groups(part)
        if len(groups) > 1 and operator != "eq":
            raise NotReadError(text_of(part))
        for dimension, tokens in groups:
            self._add_one(dimension, tokens, operator, text_of(part))

    def _add_one(
        self, dimension: str, tokens: Sequence[Token], operator: Operator, text: str
    ) -> None:
        each = [value for token in tokens for value in self._values.of(token, dimension)]
        values = list(dict.fromkeys(each))
        if operator in {"eq", "ne"}:
            spans = len(each) > len(tokens) or (len(tokens) > 1 and tokens[0].period is not None)
            if spans:
                is_run = len(tokens) == 1 or self._values.is_run(each, dimension)
                if is_run and operator == "eq":
                    operator, values = "between", [values[0], values[-1]]
                elif len(each) != len(tokens):
                    raise NotReadError(text)
        elif operator == "between" and all(self._has_order(each, dimension) for each in tokens):
            values = [values[0], values[-1]]
            if self._values.is_timed(dimension) and values[0] > values[1]:
                raise NotReadError(f"{text} (it ends before it starts)")
        elif len(tokens) > 1 or not self._has_order(tokens[0], dimension):
            raise NotReadError(text)
        else:
            values = values[-1:] if operator in {"gt", "lte"} else values[:1]
        if not self._conditions.add(dimension, operator, values):
            raise NotReadError(f"{text} (a second condition on {dimension})")

    def _groups(self, part: Sequence[Token]) -> list[tuple[str, list[Token]]]:
        """The values by dimension: named before or after them, or the only one possible."""
        groups: list[tuple[str | None, list[Token]]] = []
        for token in part:
            if token.kind == "dimension":
                is_last = token is of_kinds(part, _VALUES | {"dimension"})[-1]
                if is_last and groups and groups[-1][0] is None:
                    groups[-1] = token.name, groups[-1][1]
                else:
                    groups.append((token.name, []))
            elif token.kind in _VALUES:
                name, tokens = groups[-1] if groups else (None, [])
                if tokens and _is_one_name(tokens[-1], token):
                    tokens[-1] = replace(tokens[-1], text=f"{tokens[-1].text} {token.text}")
                elif groups and self._values.is_one_more(token, tokens, name):
                    tokens.append(token)
                else:
                    groups.append((None, [token]))
        if any(not tokens for _, tokens in groups):
            raise NotReadError(text_of(part))
        return [(self._values.dimension_of(tokens, name), tokens) for name, tokens in groups]

    def _has_order(self, token: Token, dimension: str) -> bool:
        """Whether "after" makes sense for it: a period, or a value with digits."""
        is_timed = self._values.is_timed(dimension)
        return is_timed or any(letter.isdigit() for letter in token.text)

    def _is_timed(self, part: Sequence[Token]) -> bool:
        return self._values.is_timed(self._groups(part)[0][0])

    def breakdown(self, part: Sequence[Token]) -> None:
        names = dict.fromkeys(token.name for token in of_kinds(part, {"dimension"}))
        self._reading.breakdown += [n for n in names if n not in self._reading.breakdown]

    def periodic(self, part: Sequence[Token]) -> None:
        name = self._vocabulary.dimensions.get(PERIODIC[part[0].name])
        if name is None:
            raise NotReadError(part[0].text)
        self._reading.breakdown.append(name)

    def cleared(self, part: Sequence[Token]) -> None:
        self._reading.cleared += [token.name for token in of_kinds(part, {"dimension"})]

    def members(self, part: Sequence[Token]) -> None:
        dimensions = of_kinds(part, {"dimension"})
        self._reading.members += [token.name for token in dimensions]
        if of_kinds(part, NUMBERS) and "first" not in {t.kind for t in part}:
            self._counted = text_of(part)
        last = dimensions[-1]
        self._reading.is_singular |= last.text.lower() == last.name or last.text[-1] not in "sS"
        self.count(part)

    def ranked_gaps(self, part: Sequence[Token]) -> None:
        self.measures(part)
        self.ranked([token for token in part if token.kind != "measure"])

    def ranked(self, part: Sequence[Token]) -> None:
        kind = next(token.kind for token in part if token.kind in {"most", "least"})
        if self._reading.direction not in {"", kind}:
            raise NotReadError(text_of(part))
        self._reading.direction = "most" if kind == "most" else "least"
        if of_kinds(part, {"dimension"}):
            self.members(part)
        else:
            self.count(part)
        self._reading.ordered_by += [token.name for token in of_kinds(part, {"measure"})]

    def count(self, part: Sequence[Token]) -> None:
        numbers = of_kinds(part, NUMBERS)
        if not numbers:
            return
        number = as_number(numbers[0].text)
        is_count = number is not None and number == int(number) and 1 <= number <= _MOST_ROWS
        if len(numbers) > 1 or self._reading.count is not None or number is None or not is_count:
            raise NotReadError(text_of(part))
        self._reading.count = int(number)

    def order(self, part: Sequence[Token]) -> None:
        kinds = {token.kind for token in part}
        sign = "-" if "descending" in kinds else ""
        self._reading.ordered_by += [sign + token.name for token in of_kinds(part, {"measure"})]

    def directed(self, part: Sequence[Token]) -> None:
        """Read the direction of the order that a measure before it began."""
        ordered = self._reading.ordered_by
        if len(ordered) != 1:
            raise NotReadError(text_of(part))
        sign = "-" if part[0].kind == "descending" else ""
        ordered[0] = sign + ordered[0].removeprefix("-")

    def threshold(self, part: Sequence[Token]) -> None:
        self._limits.add(part)

    def over(self, part: Sequence[Token]) -> None:
        before = self._tokens[: self._tokens.index(part[0])]
        is_measured = before and before[-1].kind in {"measure", "dimension", "name", "unknown"}
        if is_measured and not of_kinds(part, {"link"}):  # "revenue above 2 %"
            raise NotReadError(text_of(part))
        self._limits.add(part)

    def unit(self, part: Sequence[Token]) -> None:
        self._limits.units.append(part[-1])

    def measures(self, part: Sequence[Token]) -> None:
        names = list(dict.fromkeys(token.name for token in of_kinds(part, {"measure"})))
        if self._reading.measures and names != self._reading.measures:
            raise NotReadError(text_of(of_kinds(part, {"measure"})))
        self._reading.measures = names

    def unread(self, part: Sequence[Token]) -> None:
        raise NotReadError(text_of(part))

    def ranking(self, part: Sequence[Token]) -> None:
        self.breakdown(part)
        self.measures(part)
        self._reading.ordered_by.append(f"-{self._reading.measures[0]}")

    def replaced(self, part: Sequence[Token]) -> None:
        """Note what a follow-up question replaces: "rail instead of road"."""
        measures = [token.name for token in of_kinds(part, {"measure"})]
        values = {
            name: [each for token in tokens for each in self._values.of(token, name)]
            for name, tokens in (self._groups(part) if not measures else ())
        }
        self._reading.replaced |= values | ({"": measures} if measures else {})

    def source(self, part: Sequence[Token]) -> None:
        for token in of_kinds(part, {"source"}):
            if token.name not in self._reading.sources:
                self._reading.sources.append(token.name)

    def missing_in(self, part: Sequence[Token]) -> None:
        self.source(part)
        self._reading.says.setdefault("missing", text_of(part))
        self._reading.lacking = of_kinds(part, {"source"})[0].name

    def only_in(self, part: Sequence[Token]) -> None:
        self.source(part)
        self._reading.says.setdefault("missing", text_of(part))
        self._reading.only_in = of_kinds(part, {"source"})[0].name

    def place(self, part: Sequence[Token]) -> None:
        self._reading.ordinal = ORDINALS[part[0].name]


def _is_one_name(before: Token, token: Token) -> bool:
    """Whether two new names are one: "Acme Corp", with nothing but a space between them."""
    is_next = token.at == before.at + len(before.text) + 1
    return is_next and before.kind == token.kind == "name"


_HANDLERS: dict[str, Callable[[_Reader, Sequence[Token]], None]] = {
    clause: handler
    for handler, clauses in (
        (_Reader.condition, "exclusion excluded condition"),
        (_Reader.range, "range"),
        (_Reader.bound, "bound onwards"),
        (_Reader.breakdown, "breakdown level member_by_member"),
        (_Reader.periodic, "periodic"),
        (_Reader.cleared, "cleared"),
        (_Reader.members, "members counted_members"),
        (_Reader.ranked_gaps, "ranked_gaps"),
        (_Reader.ranked, "ranked_members ranked ranked_measure"),
        (_Reader.count, "first_rows"),
        (_Reader.order, "order"),
        (_Reader.directed, "directed"),
        (_Reader.ranking, "ranking"),
        (_Reader.measures, "measures"),
        (_Reader.unread, "ratio counted_dimension but_value"),
        (_Reader.threshold, "forgiven tolerance amount_of_tolerance gaps_over gaps_under within"),
        (_Reader.threshold, "amount_forgiven"),
        (_Reader.over, "over"),
        (_Reader.unit, "unit"),
        (_Reader.missing_in, "missing_in lacked"),
        (_Reader.only_in, "only_in"),
        (_Reader.source, "source"),
        (_Reader.replaced, "replaced"),
        (_Reader.place, "place"),
    )
    for clause in clauses.split()
}
"""What reads each clause; of the others it is enough which kinds of tokens they have."""
