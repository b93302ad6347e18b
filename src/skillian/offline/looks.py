"""From a question after a comparison to the call that looks into its result."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from skillian.offline.calls import PlannedCall, call_of
from skillian.offline.earlier import ROWS, PastComparison
from skillian.offline.language.clauses import Reading, refuse
from skillian.offline.language.filters import as_mapping, filter_of
from skillian.offline.language.lexicon import LEXICON
from skillian.offline.language.vocabulary import Vocabulary

LOOKS = {"why", "drill", "missing", "lacking", "only_in", "major", "minor", "equal"}
"""The tokens and clauses that ask for a part of a result."""
_STATUS = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}
_OF_GROUPS = {"drill", "major", "minor", "equal", "ranked"}


def look(reading: Reading, known: PastComparison, vocabulary: Vocabulary) -> PlannedCall:
    """The call that looks into the last comparison: why, the rows behind a group, its groups."""
    says, clauses = {*reading.says, *reading.clauses}, {*reading.clauses}
    groups = known.arguments.get("align_on") or [*next(iter(known.keys), ())]
    own = [vocabulary.sources[name].dimensions for name in known.sources]
    is_other = any(name not in of for name in reading.named for of in own)
    compared = [token.text.lower() for token in reading.tokens if token.kind == "compare"]
    matching = {text.startswith(("match", "agree")) for text in compared}
    is_match = (True in matching) ^ ("unlike" in clauses)
    is_mixed = len(matching) > 1 or ("unlike" in says and len(compared) > 1)
    classes, is_why = says & LOOKS, "why" in says
    is_drill = "drill" in says or (says >= {"look", "rows"} and not classes)
    allowed = {"look", "said"} | ({"eq", "ranked", "range"} if is_drill else {"members", "groups"})
    allowed |= {"edit"} if "and" in says else set()
    allowed |= {"sources"} if is_why else set()
    if not (is_drill or is_why or "lacking" in says):
        allowed |= {"ranked", "listed", "recounted", "only_in", "unlike"}
    refuse(
        (known.is_of_rows and (is_match or reading.named or says & _OF_GROUPS), "These are rows."),
        (is_mixed, "Ask for one class of groups."),
        (len(classes) > 1 or is_other or (classes and is_match), "Ask for one thing at a time."),
        (classes - {"why", "drill"} and "compare" in says, "Ask for one class of groups."),
        (clauses - {"lacking", *allowed}, "Ask for one thing at a time."),
        (reading.named and {*reading.named} ^ {*groups} and not is_why, "By which groups?"),
        (reading.sign == "" or reading.ordered, "The largest difference is first."),
        ("ordinal" in says and not is_drill, "Only the largest ones can be listed."),
    )
    key = {"cache_key": known.cache_key}
    if is_why:
        return call_of("explain_difference", **key, dimensions=reading.named)
    if is_drill:
        return call_of("drill_down", **key, key=_group(reading, known, groups))
    status = ["match"] if is_match else [_STATUS[kind] for kind in _STATUS if kind in says]
    status += _sides(reading, known)
    is_one = reading.is_singular and reading.sign is not None
    limit, found = reading.count or int(is_one), status if len(status) > 1 else "".join(status)
    return call_of(ROWS, **key, status=found, limit=limit)


def _group(reading: Reading, known: PastComparison, groups: Sequence[str]) -> dict[str, Any]:
    """The values of the one group of a comparison that a question names."""
    fixed, ordinal = as_mapping(known.arguments.get("filters")), reading.says.get("ordinal")
    whole = {n: filter_of(reading.filters.get(n, {})) or fixed.get(n) for n in groups}
    is_other = not reading.filters.keys() <= whole.keys()
    if all(isinstance(value, str) for value in whole.values()):
        refuse((is_other or not reading.filters or reading.count, "Into which single group?"))
        return whole
    wanted = {name: value for name, value in whole.items() if value is not None}
    fitting = [k for k in known.keys if all(str(k[n]) == v for n, v in wanted.items())]
    at = LEXICON["ordinal"].index(ordinal.lower()) + 1 if ordinal else 0
    is_clear = len(fitting) == 1 or not reading.filters or reading.sign
    is_found = len(fitting) > at and is_clear and not is_other
    refuse((not is_found or reading.count, "Into which single group?"))
    return dict(fitting[at])


def _sides(reading: Reading, known: PastComparison) -> list[str]:
    """The classes of the rows that one source lacks, if a question asks for them."""
    says, sources = {*reading.says, *reading.clauses}, reading.sources
    if "only_in" in says:
        lacking = [name not in sources for name in known.sources]
    else:
        is_missing = bool(says & {"missing", "lacking"})
        lacking = [is_missing and (not sources or name in sources) for name in known.sources]
    sides = ("only_in_b", "only_in_a") if known.is_of_rows else ("missing_in_a", "missing_in_b")
    return [side for side, is_lacking in zip(sides, lacking, strict=True) if is_lacking]
