"""Looks into the last comparison: why it differs, the rows behind a group, and its groups."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from skillian.offline.calls import PlannedCall, UnclearError, check_names, without_empty
from skillian.offline.earlier import ROWS, PastComparison
from skillian.offline.language.filters import condition_words
from skillian.offline.language.lexicon import KINDS
from skillian.offline.language.said import Reading
from skillian.offline.language.tokens import of_kinds
from skillian.offline.language.vocabulary import Vocabulary, plain
from tinyagent import ToolCall

_PAGE = 20
_MOST_ROWS = 100
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}
_ALIKE = {"match", "agree", "ident"}
_UNLIKE = {"diffe", "devia", "disag"}
"""The beginnings of words for groups that match, and that differ."""
_LOOKING = {"members", "compared", "ranked", "why", "listed", "missing", "only_in"}
"""The clauses that may say what is asked of a comparison."""
_OF_ROWS = {"major_diff": "differing", "missing_in_a": "only_in_b", "missing_in_b": "only_in_a"}


def wanted_look(reading: Reading) -> str:
    """How a question looks into a comparison: explain, drill or rows; or an empty text."""
    says = reading.says.keys()
    if "why" in says:
        return "explain"
    is_restricted = reading.measures or reading.filters or reading.thresholds
    asked, classes = _asked_classes(reading), _named_classes(reading)
    has_class = "match" in asked or "more" in says or bool(classes)
    if "drill" in says or ("rows" in says and not (has_class or reading.measures)):
        return "drill"
    if has_class:
        return "" if "equal" in classes and reading.sources else "rows"
    if asked and not (is_restricted or reading.sources or reading.breakdown):
        return "rows"
    is_listed = "gap" in says and (reading.direction or {"which", "show"} & says)
    groups = reading.breakdown if "which" in says else reading.named
    return "rows" if is_listed and not (is_restricted or reading.sources or groups) else ""


def _asked_classes(reading: Reading) -> set[str]:
    """The classes that "which months match?" asks for; an empty text for all that differ."""
    clauses = [each for each in reading.parts if each[0] in _LOOKING]
    asked = [
        (part[-1].text[:5].lower(), part[0].kind in {"not", "dont"})
        for (_, which), (name, part) in pairwise(clauses)
        if name == "compared" and of_kinds(which, {"which"})
    ]
    known = [each for each in asked if each[0] in _ALIKE | _UNLIKE]
    return {"match" if (word in _ALIKE) != is_negated else "" for word, is_negated in known}


def _named_classes(reading: Reading) -> set[str]:
    """The classes that a question names, other than the one whose differences it ignores."""
    kinds = {token.kind for name, part in reading.parts if name == "listed" for token in part}
    return kinds & _CLASSES.keys() | reading.says.keys() & {"missing"}


def look_into(
    look: str,
    reading: Reading,
    known: PastComparison,
    page: ToolCall | None,
    vocabulary: Vocabulary,
) -> PlannedCall:
    """The call that looks into the last comparison, of whose rows `page` is the last list."""
    for name in known.sources:
        check_names(reading, name, vocabulary)
    if look == "drill" and known.is_of_rows:
        look = "rows"
    other = _of_another(look, reading, known)
    if other:
        raise UnclearError(f"The last comparison has no {other}; compare again with it first.")
    said, classes, asked = reading.says.keys(), _named_classes(reading), _asked_classes(reading)
    if look == "explain":
        is_of_class = "dont" not in said and reading.says.get("compare", "")[:5] in _ALIKE
        is_of_class |= "match" in asked or bool(classes)
        is_of_class |= bool({"ordinal", "rows", "drill"} & said)
        if reading.direction or reading.count or is_of_class:
            raise UnclearError("The whole difference is explained. Ask: Why?")
        if reading.named and known.is_of_rows:
            raise UnclearError("The last comparison is of whole rows, which have no breakdown.")
        stated: dict[str, Any] = {"dimensions": reading.named}
        return _look("explain_difference", known, stated)
    if look == "drill":
        numbers = [of_kinds(part, {"number"}) for name, part in reading.parts if name == "ranked"]
        if "compare" in said or asked or classes or reading.named or any(numbers):
            raise UnclearError("Ask for the rows of one group at a time.")
        stated = {"key": _group(reading, known), "limit": min(reading.count or 0, _MOST_ROWS)}
        return _look("drill_down", known, stated)
    if len(asked) > 1 or (("compare" in said or asked) and classes):
        raise UnclearError("Ask for one class of groups at a time.")
    is_one = reading.is_singular and bool(reading.direction)
    limit = min(reading.count or int(is_one), _MOST_ROWS)
    if "more" not in said:
        return _look(ROWS, known, {"status": _classes(reading, known), "limit": limit})
    if page is None:
        raise UnclearError("More of what? Ask for the rows first.")
    offset = int(page.arguments.get("offset", 0)) + int(page.arguments.get("limit", _PAGE))
    return PlannedCall(ROWS, {**page.arguments, "offset": offset})


def _look(tool: str, known: PastComparison, stated: Mapping[str, Any]) -> PlannedCall:
    return PlannedCall(tool, {"cache_key": known.cache_key, **without_empty(stated)})


def _classes(reading: Reading, known: PastComparison) -> str | list[str]:
    """The classes of the rows or groups that are asked for; without any, all of them."""
    is_ranked = bool(reading.direction) and known.is_of_rows
    if is_ranked or reading.direction == "least" or "ordinal" in reading.says:
        raise UnclearError("Groups are listed with the largest difference first, rows by key.")
    classes = _named_classes(reading)
    status = [_CLASSES[kind] for kind in _CLASSES if kind in classes]
    status += _asked_classes(reading) - {""}
    status += _missing(reading, known.sources) if "missing" in classes else []
    if known.is_of_rows:
        if not {*status} <= _OF_ROWS.keys():
            raise UnclearError("The last comparison is of whole rows, which match or differ.")
        status = [_OF_ROWS[each] for each in status]
    return status[0] if len(status) == 1 else status


def _of_another(look: str, reading: Reading, known: PastComparison) -> str:
    """What the question names that a look into this comparison would drop."""
    changed = (reading.removed, reading.replaced, reading.thresholds, reading.cleared)
    changed = (*changed, reading.ordered_by)
    if any(changed) or reading.says.keys() & {"swap", "amended", "filter"}:
        return "such change"
    before, by = known.arguments.get("filters", {}), {*reading.named}
    measures = {  # other than in "the documents behind it"
        token.name
        for name, part in reading.parts
        for token in of_kinds(part, {"measure"})
        if look != "drill" or KINDS.get(plain(token.text)) != "rows"
    }
    other = sorted(measures - {*(known.arguments.get("measures") or ())})
    other += [
        f"{name}: {condition_words(value)}"
        for name, value in reading.filters.items()
        if look != "drill" and before.get(name) != value
    ]
    is_by = look != "rows" or not by or by == {*known.groups}
    return " or ".join(
        other or ([] if is_by else [f"group by {' and '.join(reading.named)} alone"])
    )


def _group(reading: Reading, known: PastComparison) -> dict[str, Any]:
    """The named group, or the first known group that matches the filters."""
    if reading.direction == "least":
        raise UnclearError("Groups are listed with the largest difference first.")
    members = {name: value for name, value in reading.filters.items() if isinstance(value, str)}
    names = known.groups or list(members)
    before = known.arguments.get("filters", {})
    fixed = {name: value for name, value in before.items() if isinstance(value, str)}
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    strange = [n for n in reading.filters if n not in members]
    strange += [n for n, value in members.items() if n not in names and fixed.get(n) != value]
    is_one = "ordinal" in reading.says or bool(reading.direction)
    is_whole = all(value is not None for value in whole.values())
    if members and is_whole and not strange and "ordinal" not in reading.says:
        return whole
    wanted = {(name, value) for name, value in members.items() if name in names}
    fitting = [each for each in known.keys if wanted <= {(n, str(v)) for n, v in each.items()}]
    is_any = bool(members) and not wanted and "ordinal" not in reading.says
    is_any |= bool(members) and len(fitting) > 1 and not is_one
    if strange or is_any or reading.ordinal >= len(fitting):
        named = " and ".join(map(condition_words, reading.filters.values())) or "which one"
        raise UnclearError(f"The last comparison has no single group for {named}.")
    return dict(fitting[reading.ordinal])


def _missing(reading: Reading, sources: tuple[str, str]) -> list[str]:
    """The classes of the groups that a source lacks; of both, if the question names none."""
    lacking = reading.lacking or (reading.sources[0] if len(reading.sources) == 1 else "")
    if reading.only_in in sources:
        lacking = sources[1 - sources.index(reading.only_in)]
    sides = zip(sources, ("missing_in_a", "missing_in_b"), strict=True)
    return [side for name, side in sides if lacking in {name, ""} or lacking not in sources]
