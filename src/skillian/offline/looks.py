"""Looks into the last comparison: why it differs, the rows behind a group, and its groups."""

from __future__ import annotations

from typing import Any

from skillian.offline.calls import PlannedCall, UnclearError, check_names
from skillian.offline.earlier import ROWS, Earlier, PastComparison
from skillian.offline.language.clauses import Reading
from skillian.offline.language.vocabulary import Vocabulary

_PAGE = 20
_MOST_ROWS = 100
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "equal": "match"}
_ALIKE = {"match", "agree"}
_OF_ROWS = {
    "major_diff": "differing",
    "missing_in_a": "only_in_b",
    "missing_in_b": "only_in_a",
}


def wanted_look(reading: Reading) -> str:
    """How a question looks into a comparison: explain, drill or rows; or an empty text."""
    says = reading.says.keys()
    if "why" in says:
        return "drill" if "rows" in says else "explain"
    has_class = says & {"missing", "major", "minor", "equal", "more"} and not reading.thresholds
    if "drill" in says or ("rows" in says and not (has_class or reading.measures)):
        return "drill"
    is_listed = says & {"gap"} and (reading.direction or {"which", "show"} & says)
    if has_class and not ("equal" in says and reading.sources):
        return "rows"
    is_of_last = not (reading.sources or reading.measures or reading.filters or reading.thresholds)
    return "rows" if (is_listed and is_of_last and not reading.breakdown) else ""


def look_into(look: str, reading: Reading, earlier: Earlier, vocabulary: Vocabulary) -> PlannedCall:
    """The call that looks into the last comparison."""
    known = earlier.comparison
    if known is None:
        raise UnclearError("That needs a comparison first: name two sources and a measure.")
    for name in known.sources:
        check_names(reading, name, vocabulary)
    said = _of_another(look, reading, known)
    if said:
        raise UnclearError(f"The last comparison has no {said}; compare again with it first.")
    said_kinds = reading.says.keys()
    is_of_matches = "dont" not in said_kinds and reading.says.get("compare", "")[:5] in _ALIKE
    if look == "explain" and (reading.direction or reading.count or is_of_matches):
        raise UnclearError("The whole difference is explained. Ask: Why?")
    if look == "rows" and "compare" in said_kinds and said_kinds & {*_CLASSES, "missing"}:
        raise UnclearError("Ask for one class of groups at a time.")
    if look == "explain":
        finer = [*reading.breakdown, *reading.members]
        if finer and known.is_of_rows:
            raise UnclearError("The last comparison is of whole rows, which have no breakdown.")
        more = {"dimensions": finer} if finer else {}
        return PlannedCall("explain_difference", {"cache_key": known.cache_key, **more})
    if look == "drill" and not known.is_of_rows:
        return _drill(reading, known)
    return _rows(reading, known, earlier)


def _of_another(look: str, reading: Reading, known: PastComparison) -> str:
    """What the question names that a look into this comparison would drop."""
    filters = known.arguments.get("filters", {})
    other = [n for n, value in reading.filters.items() if filters.get(n) != value]
    measures = set(reading.measures) - set(known.arguments.get("measures") or ())
    if reading.thresholds or reading.cleared:
        return "such limits or conditions"
    if (measures and look != "drill") or (look != "drill" and other):
        values = {
            n: "such a condition" if isinstance(v, dict) else v for n, v in reading.filters.items()
        }
        return " or ".join([*sorted(measures), *(f"{name}: {values[name]}" for name in other)])
    if reading.breakdown and look != "explain":
        return f"group by {' and '.join(reading.breakdown)}"
    return ""


def _drill(reading: Reading, known: PastComparison) -> PlannedCall:
    key = _group(reading, known)
    if key is None:
        named = ", ".join(map(str, reading.filters.values())) or "which one"
        raise UnclearError(f"The last comparison has no single group for {named}.")
    limit = {"limit": min(reading.count, _MOST_ROWS)} if reading.count is not None else {}
    return PlannedCall("drill_down", {"cache_key": known.cache_key, "key": key, **limit})


def _group(reading: Reading, known: PastComparison) -> dict[str, Any] | None:
    """The named group, or the first known group that matches the filters."""
    members = {name: value for name, value in reading.filters.items() if isinstance(value, str)}
    if len(members) < len(reading.filters):
        return None
    names = known.arguments.get("align_on") or list(known.keys[0] if known.keys else members)
    before = known.arguments.get("filters", {})
    fixed = {name: value for name, value in before.items() if isinstance(value, str)}
    if any(name not in names and fixed.get(name) != value for name, value in members.items()):
        return None
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    if members and all(value is not None for value in whole.values()):
        return whole
    wanted = {name: value for name, value in members.items() if name in names}
    fitting = [
        key
        for key in known.keys
        if all(str(key.get(name)) == str(value) for name, value in wanted.items())
    ]
    return dict(fitting[reading.ordinal]) if reading.ordinal < len(fitting) else None


def _rows(reading: Reading, known: PastComparison, earlier: Earlier) -> PlannedCall:
    if "more" in reading.says:
        if earlier.page is None:
            raise UnclearError("More of what? Ask for the rows first.")
        before = earlier.page.arguments
        offset = int(before.get("offset", 0)) + int(before.get("limit", _PAGE))
        return PlannedCall(ROWS, {**before, "offset": offset})
    status = [_CLASSES[kind] for kind in _CLASSES if kind in reading.says]
    if "missing" in reading.says:
        status += _missing(reading, known.sources)
    if known.is_of_rows:
        status = [_of_rows(each) for each in status]
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    if status:
        arguments["status"] = status[0] if len(status) == 1 else status
    if reading.count is not None:
        arguments["limit"] = min(reading.count, _MOST_ROWS)
    if reading.direction == "least":
        raise UnclearError("Groups are listed with the largest difference first.")
    return PlannedCall(ROWS, arguments)


def _of_rows(status: str) -> str:
    """The class of rows for a class of groups."""
    if status not in _OF_ROWS:
        raise UnclearError("The last comparison is of whole rows, which either match or differ.")
    return _OF_ROWS[status]


def _missing(reading: Reading, sources: tuple[str, str]) -> list[str]:
    lacking = reading.lacking
    if reading.only_in in sources:
        lacking = sources[1 - sources.index(reading.only_in)]
    elif not lacking and len(reading.sources) == 1:
        lacking = reading.sources[0]
    if lacking not in sources:
        return ["missing_in_a", "missing_in_b"]
    return ["missing_in_a" if sources.index(lacking) == 0 else "missing_in_b"]
