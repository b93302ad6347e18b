"""The clauses of a question: from their tokens to what the question says."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from skillian.offline.language.arrangement import arranged
from skillian.offline.language.conditions import Conditions, NotReadError, add_limits, refuse_if
from skillian.offline.language.filters import Operator, years_of
from skillian.offline.language.grammar import clauses_of, unread_words
from skillian.offline.language.lexicon import ORDINALS, PERIODIC
from skillian.offline.language.said import Direction, Reading
from skillian.offline.language.tokens import Token, as_number, of_kinds, text_of
from skillian.offline.language.vocabulary import Vocabulary, is_plural

_MOST_ROWS = 1000

_OPERATORS: dict[str, Operator] = {
    **dict.fromkeys(("since", "from", "onwards"), "gte"),
    **dict.fromkeys(("until", "backwards"), "lte"),
    "after": "gt",
    "before": "lt",
}
_AFTER_ONLY = {"bound", "range", "groups", "ranked"}
_SAYS = {"off": "compare"}
_AFTER_VALUE = {"measure", "period", "and", "or", "only", "also", "instead", "instead_of"}
_RANKING = {"most", "least", "descending", "ascending"}
_SCOPED = {"condition", "exclusion", "bound", "range", "onwards", "groups", "members", "periodic"}


@dataclass(slots=True)
class _Reader:
    """Reads each clause by the method of its name; without one, its kinds of tokens are enough."""

    _tokens: Sequence[Token]
    _vocabulary: Vocabulary
    _conditions: Conditions
    _reading: Reading = field(default_factory=Reading)
    _before: str = ""
    _counts_rows: bool = False
    _excludes: bool = False
    _alone: str = ""
    _sign: str | None = None

    def read(self) -> Reading:
        """The reading."""
        reading = self._reading
        reading.unread += [t.mark + t.text for t in self._tokens if t.mark in {"(", ")"}]
        reading.unread += unread_words(self._tokens)
        reading.says |= {t.kind: t.text for t in self._tokens if t.kind == "show"}
        if self._tokens and self._tokens[0].kind == "and":
            reading.says["and"] = self._tokens[0].text
        clauses, stops = clauses_of(arranged(self._tokens))
        if stops and not reading.unread:
            reading.unread += unread_words(self._tokens, stops[0])
        is_whole = not reading.unread
        for name, part in clauses:
            reading.says |= {_SAYS.get(token.kind, token.kind): token.text for token in part}
            # "went to Nice", "only until May"
            leading = {"verb", "only"} if name in _AFTER_ONLY else {"verb"}
            meant = part[1:] if part[0].kind in leading else part
            try:
                self._check_after(name, meant)
                getattr(self, name, bool)(meant)
            except NotReadError as error:
                reading.refused.append(part)
                if is_whole:
                    reading.unread.append(str(error))
                    reading.instead += error.instead
            else:
                reading.parts.append((name, part))
                names = [token.name for token in of_kinds(part, {"dimension"})]
                reading.cleared += names if name == "cleared" else ()
                reading.those += names if name == "edit" else ()
            self._before = name
            if part[0].mark or name in {"source", "groups", "compared", "exclusion"}:
                self._excludes = name == "exclusion"
        if is_whole:
            self._check_whole([name for name, _ in clauses])
        reading.filters = self._conditions.arguments()
        timed = [name for name in reading.filters if name in self._vocabulary.of_periods]
        first, *others = [years_of([reading.filters[name]]) for name in timed] or [frozenset[int]()]
        if others and not first.intersection(*others):  # "June 2024 and 2023"
            reading.unread.append(f"{' and '.join(timed)} (no period has both)")
        return reading

    def _check_after(self, name: str, part: Sequence[Token]) -> None:
        """Refuse "how many bikes", "the sum of both", and "the first 3 months of 2024"."""
        said, is_source = self._reading.says, part[0].kind == "source"
        is_of = self._before == name == "source" and bool(part[0].prep)
        is_of &= not self._reading.is_comparison  # "products of suppliers"
        is_of |= [each.kind for each in part] == ["by", "source"] and "verb" not in said
        is_asked = self._before == "asked" and name not in {"measures", "asked", "groups"}
        is_counted = is_source if "total" in said else "how_many" in said and not is_source
        is_first = self._before == "listed" and part[0].kind == "label"
        # "output in area P01", where P01 is a plant
        is_strange = name == "members" and part[0].kind == "dimension" and part[0].prep
        refuse_if(is_of or (is_asked and is_counted) or is_first or is_strange, part)

    def _check_whole(self, names: Sequence[str]) -> None:
        """Refuse what only the whole question shows to have several readings."""
        reading = self._reading
        if "verb" in reading.says and not (reading.measures or reading.ordered_by):
            reading.unread.append(reading.says["verb"])
        if reading.count and not (reading.direction or self._counts_rows):
            reading.unread.append(f"{reading.count} (which ones?)")
        if self._alone and not reading.members:
            reading.unread.append(self._alone)
        places = [at for at, name in enumerate(names) if name == "source"]
        if len(places) > 1 and len(reading.sources) > 1:  # "erp without Germany, web for France"
            between = _SCOPED & {*names[places[0] : places[-1]]}
            after = _SCOPED & {*names[places[-1] :]}
            grouped = {"groups"} & {*names[: places[0]]}
            if between & (between if after else grouped):  # "by country in erp, by month in web"
                reading.unread.append("conditions for each of two sources")

    def source(self, part: Sequence[Token]) -> None:
        says, at = self._reading.says.keys(), part[-1].at
        after = [each for each in self._tokens if each.at > at and each.kind != "prep"]
        named = {*self._reading.sources, *(t.name for t in of_kinds(part, {"source"}))}
        is_last = not after or after[0].mark or after[0].kind == "source"
        if part[-1].kind == "only" and says & {"which", "exists", "describe"}:
            self.only_in([of_kinds(part, {"source"})[-1], part[-1]])
        elif part[-1].kind == "only" and is_last:  # "web_shop vs erp, erp only", "why, erp only"
            refuse_if(len(named) > 1 or says & {"why", "drill", "rows"}, part)
        for token in of_kinds(part, {"source"}):
            if token.name not in self._reading.sources:
                self._reading.sources.append(token.name)

    def measures(self, part: Sequence[Token]) -> None:
        measures = of_kinds(part, {"measure"})
        names = list(dict.fromkeys(token.name for token in measures))
        is_other = bool(self._reading.measures) and names != self._reading.measures
        is_noun = self._before == "members" and not (self._counts_rows or part[0].mark)
        refuse_if(is_other or is_noun or self._before in {"order", "by_measure"}, measures)
        self._reading.measures = names

    def groups(self, part: Sequence[Token]) -> None:
        is_limited = self._before in {"limit", "over"} and not part[0].mark
        is_each = is_limited and part[0].text.lower() != "by"  # "a tolerance of 2 EUR each month"
        refuse_if(is_each or (self._before == "order" and not part[0].mark), part)
        names = [*self._reading.breakdown, *(t.name for t in of_kinds(part, {"dimension"}))]
        self._reading.breakdown = list(dict.fromkeys(names))

    def periodic(self, part: Sequence[Token]) -> None:
        name = self._vocabulary.dimensions.get(PERIODIC[part[0].name])
        if name is None:
            raise NotReadError(part[0].text)
        self._reading.breakdown.append(name)

    def members(self, part: Sequence[Token]) -> None:
        dimensions = of_kinds(part, {"dimension"})
        is_which = bool(of_kinds(part, {"which"}))
        refuse_if(self._before == "order" or (is_which and self._reading.direction), part)
        self._counts_rows |= is_which
        self._reading.members += [t.name for t in dimensions if t.name not in self._reading.members]
        if dimensions:
            self._reading.is_singular |= not is_plural(dimensions[-1].text)
        self.count(part)

    def condition(self, part: Sequence[Token]) -> None:
        is_marked = bool(part[0].mark) and bool(part[0].prep or of_kinds(part, {"only"}))
        before = [t.kind for t in self._tokens if t.at < part[0].at and t.kind != "prep"]
        is_marked |= before[-1:] == ["but"]  # "not bikes but helmets"
        is_timed = self._conditions.is_timed(part) and not self._conditions.excludes_quarters
        # "without Germany, bikes", "without private surgery"
        refuse_if(self._excludes and not (is_marked or is_timed), part)
        periods = [token for token in part if token.period is not None]
        is_end = bool(periods) and part[0].kind == "by"  # "by May 2026"
        is_pair = self._before == "compared" and len(periods) > 1  # "compare 2023 and 2024"
        refuse_if(is_end or is_pair, part)
        is_beside = self._before == "limit" and not (part[0].mark or part[0].prep)
        refuse_if(is_beside and "ignore" in self._reading.says, part)  # "ignore 5 EUR and bikes"
        self._check_opening(part)
        self._check_group(part, part[0].prep is None or part[0].prep.text.lower() == "in")
        self._conditions.add(part, "eq")

    def _check_opening(self, part: Sequence[Token]) -> None:
        """Refuse "direct comparison of …", where direct is a value, and no verb or adjective."""
        is_bare = len(part) == 1 and part[0].kind == "value" and not (part[0].prep or self._before)
        behind = [token for token in self._tokens if token.at > part[-1].at]
        after = next((token for token in behind if token.kind != "prep"), None)
        if is_bare and after is not None and not (behind[0].mark or after.mark):
            refuse_if(after.kind not in _AFTER_VALUE and not after.text.isdigit(), part)

    def _check_group(self, part: Sequence[Token], is_plain: object) -> None:
        """Refuse "by country and month, channel not web": is the channel a group, too?"""
        before = [token for token in self._tokens if token.at < part[0].at and token.kind != "aux"]
        last = next((token for token in reversed(before) if token.kind != "prep"), part[0])
        is_own = any(last.name in token.values for token in part)
        is_group = self._before == "groups" and len(self._reading.breakdown) > 1 and is_own
        refuse_if(is_plain and is_group and part[0].mark in {"", ":"}, part)

    def exclusion(self, part: Sequence[Token]) -> None:
        is_list = bool(of_kinds(part, {"excluded"})) and "," in {token.name for token in part}
        is_plain = part[0].text.lower() in {"not", "no"} and "which" in self._reading.says
        after = next((each for each in self._tokens if each.at > part[-1].at), part[-1])
        is_noun = part[0].text.lower() == "no" and after.kind == "measure" and not after.mark
        # "France, Germany excluded", "which do not have web orders", "no web revenue"
        refuse_if(is_list or is_plain or is_noun, part)
        self._check_group(part, part[0].text.lower().endswith(("not", "n't", "n\u2019t", "than")))
        self._conditions.add(part, "ne")

    def forgiven(self, part: Sequence[Token]) -> None:
        refuse_if(not self._reading.thresholds or self._before == "over", part)

    def bound(self, part: Sequence[Token]) -> None:
        operator = _OPERATORS.get(part[0].kind, "eq")
        is_route = part[0].kind in {"from", "to"}
        is_timed = self._conditions.is_timed(part)
        is_relative = any(t.period is not None and t.period.is_relative for t in part)
        # "the month after March", "not from Milan to Nice"
        is_next = self._before == "members" and part[0].kind in {"after", "before"}
        is_next |= is_route and self._before == "exclusion"
        is_now = part[0].kind == "to" and is_timed  # until June, or now June?
        is_of = is_route and not is_timed and of_kinds(part, {"label"})  # "plants from P01"
        refuse_if(is_next or is_now or is_of, part)
        is_place = not self._conditions.is_ordered(part)
        if part[0].kind == "from" and (is_place or is_relative):
            operator = "eq"  # "from EMEA", "from last year"
        self._conditions.add(part, operator)

    def onwards(self, part: Sequence[Token]) -> None:
        self._conditions.add(part, _OPERATORS[part[-1].kind])

    def range(self, part: Sequence[Token]) -> None:
        if part[0].kind == "value" and of_kinds(part, {"to"}):  # "Milan to Nice"
            part = [Token("from", "", ""), *part]
        ends = [at for at, token in enumerate(part) if at and token.kind in {"to", "until"}]
        joins = [at for at, token in enumerate(part[: min(ends, default=0)]) if token.name == ","]
        first = part[: ends[0]] if ends else part
        is_number = bool(of_kinds(first, {"label"})) and as_number(first[-1].text) is not None
        is_ordered = is_number or self._conditions.is_ordered(first)
        if joins and self._conditions.is_timed(part[joins[-1] + 1 : ends[0]]):
            self.condition(part[: joins[-1]])  # "for company 1001, May to July"
            self.range(part[joins[-1] + 1 :])
        elif not ends or (is_ordered and len(self._conditions.groups(part)) == 1):
            self._conditions.add(part, "between")
        else:  # "from Milan to Nice", "for EMEA until June"
            self.bound(part[: ends[0]])
            self.bound(part[ends[0] :])

    def ranked(self, part: Sequence[Token]) -> None:
        kind: Direction = "least" if of_kinds(part, {"least"}) else "most"
        is_second = bool(self._reading.members and of_kinds(part, {"dimension"}))
        refuse_if(self._reading.direction not in {"", kind} or is_second, part)  # "for the top one"
        self._order("-" if kind == "most" else "", part)
        self._reading.direction = kind
        self._counts_rows = True
        measures = of_kinds(part, {"measure"})
        refuse_if(part[0].text.lower() == "most" and part[-1].kind == "dimension", part)
        gaps = of_kinds(part, {"gap"})
        if gaps and not self._reading.members:
            self._reading.is_singular = not is_plural(gaps[-1].text)
        if measures and gaps:
            self.measures(part)
        elif measures:  # "the highest revenue by country": of each?
            self._alone = "" if self._reading.members else text_of(part)
            self._reading.ordered_by += [token.name for token in measures]
        self.members(of_kinds(part, {"dimension", "number"}))

    def by_measure(self, part: Sequence[Token]) -> None:
        is_ranked = self._reading.count or of_kinds(self._tokens, _RANKING)
        refuse_if(not is_ranked or self._reading.ordered_by, part)  # "by revenue and by orders"
        self._reading.ordered_by.append(part[-1].name)

    def listed(self, part: Sequence[Token]) -> None:
        refuse_if(of_kinds(part, {"dimension"}), part)  # "the first 3 months"
        self._counts_rows = True
        self.count(part)

    def count(self, part: Sequence[Token]) -> None:
        numbers = of_kinds(part, {"number"})
        if numbers and (numbers[0].text != "one" or of_kinds(part, {"dimension"})):
            number = as_number(numbers[0].text) or 0
            is_listed = number in range(1, _MOST_ROWS + 1)
            refuse_if(self._reading.count is not None or not is_listed, part)
            self._reading.count = int(number)

    def order(self, part: Sequence[Token]) -> None:
        sign = "-" if of_kinds(part, {"descending"}) else ""
        names = [token.name for token in of_kinds(part, {"measure", "dimension"})]
        if of_kinds(part, {"descending", "ascending"}):
            self._order(sign, part)
        ordered = {name.removeprefix("-") for name in self._reading.ordered_by}
        refuse_if(self._reading.direction and ordered - {*names}, part)
        self._reading.ordered_by += [sign + name for name in names]

    def _order(self, sign: str, part: Sequence[Token]) -> None:
        """Refuse two orders: "the top 3, lowest first"."""
        refuse_if(self._sign not in {None, sign}, part)
        self._sign = sign

    def direction(self, part: Sequence[Token]) -> None:
        sign, text = "-" if part[-1].kind == "descending" else "", part[-1].text.lower()
        self._order(sign, part)
        is_bare = self._before in {"groups", "members"} and ("asc" in text or "desc" in text)
        ordered = self._reading.ordered_by or self._reading.measures
        refuse_if(is_bare or len(ordered) > 1, part)  # "by month descending"
        self._reading.ordered_by = [sign + each.removeprefix("-") for each in ordered]
        if not ordered:  # of the last question
            self._reading.direction = "most" if sign else "least"

    def rank(self, part: Sequence[Token]) -> None:
        self.groups(part)
        self.measures(part)
        self._reading.ordered_by.append(f"-{self._reading.measures[0]}")

    def limit(self, part: Sequence[Token]) -> None:
        is_stated = of_kinds(part, {"forgiven", "excluded", "within", "ignore", "tolerance"})
        is_own = of_kinds(part, {"gap", "within", "cents", "tolerance"})
        refuse_if(not is_stated or (self._before == "measures" and not is_own), part)
        if measures := of_kinds(part, {"measure"}):
            self.measures(measures)
        self._reading.units += add_limits(part, self._reading.thresholds)

    def over(self, part: Sequence[Token]) -> None:
        is_gap = "gap" in self._reading.says or part[-1].kind == "off"
        is_of_gap = of_kinds(part, {"percent"}) and self._before not in {"measures", "members"}
        refuse_if(not (is_gap or is_of_gap), part)
        self._reading.units += add_limits(part, self._reading.thresholds)

    def in_unit(self, part: Sequence[Token]) -> None:
        self._reading.units.append(part[-1].text)

    def missing(self, part: Sequence[Token]) -> None:
        self._reading.says.setdefault("missing", text_of(part))
        # "kg without invoices", "web_shop minus erp"
        is_bare = part[-1].kind == "source" and not (part[-1].prep or part[1].kind == "exists")
        is_other = is_bare or self._reading.measures or part[0].text == "minus"
        refuse_if(part[0].kind == "not" and is_other, part)
        before = [each for each in self._tokens if each.at < part[0].at][-1:]
        lacking = before if part[0].text.lower() == "lack" else part  # "what does erp lack"
        for token in of_kinds(lacking, {"source"}):
            refuse_if(self._reading.lacking not in {"", token.name}, part)
            self.source([token])
            self._reading.lacking = token.name

    def only_in(self, part: Sequence[Token]) -> None:
        [source] = of_kinds(part, {"source"})
        refuse_if(not (of_kinds(part, {"exists"}) or source.prep), part)
        self.source([source])
        self._reading.says.setdefault("missing", text_of(part))
        self._reading.only_in = source.name

    def place(self, part: Sequence[Token]) -> None:
        refuse_if(part[0].name not in ORDINALS, part)  # "limit differences"
        self._reading.ordinal = ORDINALS[part[0].name]
        self._reading.says["ordinal"] = text_of(part)

    def replaced(self, part: Sequence[Token]) -> None:
        """Note what a follow-up question replaces: "rail instead of road"."""
        measures = [token.name for token in of_kinds(part, {"measure"})]
        if measures or not of_kinds(part, {"value", "period", "name"}):
            self._reading.replaced[""] = measures or [part[-1].name]
            return
        for name, tokens in self._conditions.groups(part):
            self._reading.replaced[name] = [
                v for t in tokens for v in self._conditions.values_of(t, name)
            ]

    def removed(self, part: Sequence[Token]) -> None:
        last = part[-1]
        self._reading.removed.append(last.kind if last.kind == "tolerance" else last.name)

    def compared(self, part: Sequence[Token]) -> None:
        is_negated = part[0].kind in {"not", "dont"}
        refuse_if(is_negated and "which" not in self._reading.says, part)  # "do not compare them"

    def amended(self, part: Sequence[Token]) -> None:
        refuse_if(len(part) == 1 or self._reading.thresholds, part)
        self._reading.units += add_limits(part, self._reading.thresholds)
        self._reading.says["amended"] = text_of(part)

    def counted(self, part: Sequence[Token]) -> None:
        raise NotReadError(text_of(part))


def read_clauses(tokens: Sequence[Token], vocabulary: Vocabulary, years: frozenset[int]) -> Reading:
    """What the tokens of a question say; periods without a year are of `years`."""
    periods = [token.period for token in tokens if token.period is not None]
    named = {period.first.year for period in periods if period.has_year}
    dimensions = {token.name for token in of_kinds(tokens, {"dimension"})}
    return _Reader(tokens, vocabulary, Conditions(vocabulary, named or {*years}, dimensions)).read()
