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
from skillian.offline.language.tokens import of_kinds, text_of
from skillian.offline.language.vocabulary import Vocabulary, plain
from tinyagent import ToolCall

_PAGE = 20
_MOST_ROWS = 100
_STATUSES = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}
_ALIKE = {"match", "agree", "ident"}
_UNLIKE = {"diffe", "devia", "disag"}
"""The beginnings of words for groups that match, and that differ."""
_NAMING = {
    *("source", "measures", "condition", "exclusion", "bound", "range", "onwards"),
    *("members", "compared", "request", "edit", "asked"),
}
_CLAUSES = {
    "explain": _NAMING | {"why", "groups", "periodic"},
    "drill": _NAMING | {"drill", "place", "ranked", "listed"},
    "rows": _NAMING | {"drill", "ranked", "listed", "missing", "only_in", "groups", "direction"},
}
"""The clauses that each look reads."""
LOOKING = {"members", "compared", "why", *_CLAUSES["drill"] - _NAMING, "missing", "only_in"}
"""The clauses that may say what is asked of a comparison."""
_OF_ROWS = {"major_diff": "differing", "missing_in_a": "only_in_b", "missing_in_b": "only_in_a"}


def wanted_look(reading: Reading) -> str:
    """How a question looks into a comparison: explain, drill or rows; or an empty text."""
    says = reading.says.keys()
    if "why" in says:
        return "explain"
    is_restricted = reading.measures or reading.filters or reading.thresholds
    classes = _classes_said(reading)
    has_class = "more" in says or bool(classes - {"unlike"})
    if "drill" in says or ("rows" in says and not (has_class or reading.measures)):
        return "drill"
    is_listed = "gap" in says and (reading.direction or {"which", "show"} & says)
    groups = reading.breakdown if "which" in says else reading.named
    is_bare = not (is_restricted or reading.sources or groups)
    return "rows" if has_class or ((is_listed or classes) and is_bare) else ""


def _classes_said(reading: Reading) -> set[str]:
    """The kinds of classes that a question asks for; "unlike" is of all that differ."""
    said = {token.kind for name, part in reading.parts if name == "listed" for token in part}
    said = said & _STATUSES.keys() | reading.says.keys() & {"missing"}
    clauses = [each for each in reading.parts if each[0] in LOOKING - {"drill"}]
    for (_, which), (name, part) in pairwise(clauses):  # "which months do not match?"
        word, is_turned = part[-1].text[:5].lower(), part[0].kind in {"not", "dont"}
        if name == "compared" and of_kinds(which, {"which"}) and word in _ALIKE | _UNLIKE:
            said.add("equal" if (word in _ALIKE) != is_turned else "unlike")
    return said


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
    look = "rows" if known.is_of_rows and look == "drill" else look
    _check_clauses(look, reading)
    other = _of_another(look, reading, known)
    if other:
        raise UnclearError(f"The last comparison has no {other}; compare again with it first.")
    if look == "explain":
        if reading.named and known.is_of_rows:
            raise UnclearError("The last comparison is of whole rows, which have no breakdown.")
        return _look("explain_difference", known, {"dimensions": reading.named})
    is_one = look == "rows" and reading.is_singular and bool(reading.direction)
    limit = min(reading.count or int(is_one), _MOST_ROWS)
    if look == "drill":
        return _look("drill_down", known, {"key": _group(reading, known), "limit": limit})
    if "more" not in reading.says:
        return _look(ROWS, known, {"status": _classes(reading, known), "limit": limit})
    if page is None:
        raise UnclearError("More of what? Ask for the rows first.")
    offset = int(page.arguments.get("offset", 0)) + int(page.arguments.get("limit", _PAGE))
    return PlannedCall(ROWS, {**page.arguments, "offset": offset})


def _check_clauses(look: str, reading: Reading) -> None:
    """Refuse what a look would drop: "why by country, top 3", "which match, and which differ?"."""
    for name, part in reading.parts:
        is_lost = name not in _CLAUSES[look] or bool(of_kinds(part, {"swap"}))
        is_lost |= name == "ranked" and look == "drill" and bool(of_kinds(part, {"number"}))
        if is_lost or (name == "direction" and reading.ordered_by):
            raise UnclearError(f"I did not understand: {text_of(part)}. Ask for it alone.")
    says, classes, asked = reading.says, _classes_said(reading), {"equal", "unlike"}
    is_alike = "dont" not in says and says.get("compare", "")[:5] in _ALIKE
    named = reading.named or ("only" in says and reading.sources)
    is_several = {
        "explain": is_alike or "equal" in classes,
        "drill": "compare" in says or classes or named,
        "rows": classes >= asked or ("compare" in says and classes - asked),
    }
    if is_several[look]:
        raise UnclearError("Ask why, for the rows of one group, or for one class of groups.")


def _look(tool: str, known: PastComparison, stated: Mapping[str, Any]) -> PlannedCall:
    return PlannedCall(tool, {"cache_key": known.cache_key, **without_empty(stated)})


def _classes(reading: Reading, known: PastComparison) -> str | list[str]:
    """The classes of the rows or groups that are asked for; without any, all of them."""
    classes = _classes_said(reading)
    status = [_STATUSES[kind] for kind in _STATUSES if kind in classes]
    status += _missing(reading, known.sources) if "missing" in classes else []
    if known.is_of_rows:
        if reading.direction or not {*status} <= _OF_ROWS.keys():
            raise UnclearError("Whole rows match or differ, and are listed by their key.")
        status = [_OF_ROWS[each] for each in status]
    elif reading.direction == "least":
        raise UnclearError("Groups are listed with the largest difference first.")
    return status[0] if len(status) == 1 else status


def _of_another(look: str, reading: Reading, known: PastComparison) -> str:
    """What the question names that a look into this comparison would drop."""
    before, by = known.arguments.get("filters", {}), {*reading.named}
    tokens = of_kinds(reading.tokens, {"measure"})
    is_drill = look == "drill"  # "show the documents behind it"
    measures = {t.name for t in tokens if not is_drill or KINDS.get(plain(t.text)) != "rows"}
    other = sorted(measures - {*(known.arguments.get("measures") or ())})
    other += [
        f"{name}: {condition_words(value)}"
        for name, value in reading.filters.items()
        if not is_drill and before.get(name) != value
    ]
    if look == "rows" and by and by != {*known.groups}:
        other.append(f"group by {' and '.join(reading.named)} alone")
    return " or ".join(other)


def _group(reading: Reading, known: PastComparison) -> dict[str, Any]:
    """The named group, or a known group that matches the filters: the only one, or the largest."""
    if reading.direction == "least":
        raise UnclearError("Groups are listed with the largest difference first.")
    members = {name: value for name, value in reading.filters.items() if isinstance(value, str)}
    names = known.groups or list(members)
    before = known.arguments.get("filters", {})
    fixed = {name: value for name, value in before.items() if isinstance(value, str)}
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    strange = [n for n in reading.filters if n not in members]
    strange += [n for n, value in members.items() if n not in names and fixed.get(n) != value]
    is_second = "ordinal" in reading.says
    is_whole = all(value is not None for value in whole.values())
    if members and is_whole and not strange and not is_second:
        return whole
    wanted = {(name, value) for name, value in members.items() if name in names}
    fitting = [each for each in known.keys if wanted <= {(n, str(v)) for n, v in each.items()}]
    is_one = is_second or (wanted and (len(fitting) == 1 or reading.direction))
    if strange or (members and not is_one) or reading.ordinal >= len(fitting):
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
