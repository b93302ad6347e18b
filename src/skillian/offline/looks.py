"""Looks into the last comparison: why it differs, the rows behind a group, and its groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from skillian.offline.calls import PlannedCall, UnclearError, check_names, without_empty
from skillian.offline.earlier import ROWS, PastComparison
from skillian.offline.language.filters import condition_words
from skillian.offline.language.said import Reading
from skillian.offline.language.vocabulary import Vocabulary
from tinyagent import ToolCall

_PAGE = 20
_MOST_ROWS = 100
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}
_ALIKE = {"match", "agree", "ident"}
_UNLIKE = {"diffe", "devia", "disag"}
"""The beginnings of words for groups that match, and that differ."""
_OF_ROWS = {"major_diff": "differing", "missing_in_a": "only_in_b", "missing_in_b": "only_in_a"}


def wanted_look(reading: Reading) -> str:
    """How a question looks into a comparison: explain, drill or rows; or an empty text."""
    says = reading.says.keys()
    if "why" in says:
        return "drill" if "rows" in says else "explain"
    is_restricted = reading.measures or reading.filters or reading.thresholds
    is_limited = bool(reading.thresholds) and "listed" not in {name for name, _ in reading.parts}
    has_class = not is_limited and says & {"missing", *_CLASSES, "more"}
    if "drill" in says or ("rows" in says and not (has_class or reading.measures)):
        return "drill"
    if has_class:
        return "" if "equal" in says and reading.sources else "rows"
    is_asked = _asked_class(reading) is not None
    if is_asked and not (is_restricted or reading.sources or reading.breakdown):
        return "rows"
    is_listed = "gap" in says and (reading.direction or {"which", "show"} & says)
    groups = reading.breakdown if "which" in says else reading.named
    return "rows" if is_listed and not (is_restricted or reading.sources or groups) else ""


def _asked_class(reading: Reading) -> str | None:
    """The class that "which months match?" asks for; empty for all that differ."""
    word, says = reading.says.get("compare", "")[:5], reading.says.keys()
    if "which" not in says or word not in _ALIKE | _UNLIKE:
        return None
    return "match" if (word in _ALIKE) != bool(says & {"not", "dont"}) else ""


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
    other = _of_another(look, reading, known)
    if other:
        raise UnclearError(f"The last comparison has no {other}; compare again with it first.")
    said = reading.says.keys()
    if look == "explain":
        is_of_matches = "dont" not in said and reading.says.get("compare", "")[:5] in _ALIKE
        if reading.direction or reading.count or is_of_matches:
            raise UnclearError("The whole difference is explained. Ask: Why?")
        if reading.named and known.is_of_rows:
            raise UnclearError("The last comparison is of whole rows, which have no breakdown.")
        stated: dict[str, Any] = {"dimensions": reading.named}
        return _look("explain_difference", known, stated)
    if look == "rows" and "compare" in said and said & {*_CLASSES, "missing"}:
        raise UnclearError("Ask for one class of groups at a time.")
    is_one = bool(reading.members) and reading.is_singular and bool(reading.direction)
    limit = min(reading.count or int(is_one), _MOST_ROWS)
    if look == "drill" and not known.is_of_rows:
        return _look("drill_down", known, {"key": _group(reading, known), "limit": limit})
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
    if reading.direction == "least" or "ordinal" in reading.says:
        raise UnclearError("Groups are listed with the largest difference first.")
    status = [_CLASSES[kind] for kind in _CLASSES if kind in reading.says]
    asked = _asked_class(reading)
    status += [asked] if asked else []
    status += _missing(reading, known.sources) if "missing" in reading.says else []
    if known.is_of_rows:
        if not {*status} <= _OF_ROWS.keys():
            raise UnclearError("The last comparison is of whole rows, which match or differ.")
        status = [_OF_ROWS[each] for each in status]
    return status[0] if len(status) == 1 else status


def _of_another(look: str, reading: Reading, known: PastComparison) -> str:
    """What the question names that a look into this comparison would drop."""
    changed = (reading.removed, reading.replaced, reading.thresholds, reading.cleared)
    if any(changed) or reading.says.keys() & {"swap", "amended", "filter"}:
        return "such a change"
    before, groups = known.arguments.get("filters", {}), known.arguments.get("align_on")
    other = sorted({*reading.measures} - {*(known.arguments.get("measures") or ())})
    other += [
        f"{name}: {condition_words(value)}"
        for name, value in reading.filters.items()
        if before.get(name) != value
    ]
    others = [name for name in reading.members if name not in (groups or reading.members)]
    named = [*reading.breakdown, *others]
    by = [f"group by {' and '.join(named)}"] if named and look != "explain" else []
    return " or ".join((look != "drill" and other) or by)


def _group(reading: Reading, known: PastComparison) -> dict[str, Any]:
    """The named group, or the first known group that matches the filters."""
    if reading.direction == "least":
        raise UnclearError("Groups are listed with the largest difference first.")
    members = {name: value for name, value in reading.filters.items() if isinstance(value, str)}
    names = known.arguments.get("align_on") or list(known.keys[0] if known.keys else members)
    before = known.arguments.get("filters", {})
    fixed = {name: value for name, value in before.items() if isinstance(value, str)}
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    strange = [n for n in reading.filters if n not in members]
    strange += [n for n, value in members.items() if n not in names and fixed.get(n) != value]
    if members and not strange and all(value is not None for value in whole.values()):
        return whole
    wanted = {(name, value) for name, value in members.items() if name in names}
    fitting = [each for each in known.keys if wanted <= {(n, str(v)) for n, v in each.items()}]
    is_any = bool(members) and not wanted and "ordinal" not in reading.says
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
