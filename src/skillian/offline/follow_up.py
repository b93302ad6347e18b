"""Follow-up questions: why, the rows behind a difference, "the same for 1002"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from skillian.offline.earlier import COMPARE, QUERY, ROWS, Earlier, PastComparison
from skillian.offline.grounding import Grounding
from skillian.offline.lexicon import ORDINALS

Look = Literal["explain", "drill", "rows"]
ToolArguments = tuple[str, dict[str, Any]]

_PAGE = 20
_AGAIN = {"same", "again", "repeat", "redo", "rerun"}
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "match": "match"}


def requested_look(grounding: Grounding) -> Look | None:
    """Return how a question looks into a comparison, if it does."""
    cues = grounding.cues
    is_of_class = any(cue in cues for cue in ("missing", "major", "minor", "match", "more"))
    is_only = "only" in cues and bool(grounding.sources) and not grounding.measures
    if "drill" in cues or ("rows" in cues and not (grounding.measures or is_of_class or is_only)):
        return "explain" if "explain" in cues and "rows" not in cues else "drill"
    if "explain" in cues:
        return "explain"
    is_listed = "gaps" in cues and not (grounding.sources or grounding.names_data)
    has_class = is_of_class and not ("match" in cues and grounding.sources)
    return "rows" if has_class or is_only or is_listed else None


def look_into(
    grounding: Grounding, earlier: Earlier, sources: Sequence[str]
) -> ToolArguments | None:
    """Return the call that looks into the last comparison, if the question is about it."""
    known, kind = earlier.comparison, requested_look(grounding)
    if known is None or kind is None or not _is_about(grounding, known, sources):
        return None
    if "describe" in grounding.cues and grounding.sources:
        return None
    if kind == "explain":
        return _explain(grounding, known) if _is_within(grounding, known) else None
    if kind == "drill" and not _mentions_more(grounding):
        return _drill(grounding, known)
    return _rows(grounding, known, earlier) if kind == "rows" else None


def change(grounding: Grounding, earlier: Earlier) -> ToolArguments | None:
    """Return the last call with the changes of the question: "and for company 1002?"."""
    last = earlier.last
    is_again = "swap" in grounding.cues or grounding.cues.get("again", "") in _AGAIN
    if (
        last is None
        or _mentions_more(grounding)
        or not (grounding.names_data or grounding.asked_which or is_again)
    ):
        return None
    arguments = dict(last.arguments)
    if grounding.measures:
        arguments["measures"] = grounding.measures
    _change_filters(arguments, grounding)
    _change_breakdown(arguments, grounding, "align_on" if last.name == COMPARE else "dimensions")
    if last.name == COMPARE:
        if "swap" in grounding.cues:
            a, b = arguments["source_a"], arguments["source_b"]
            arguments |= {"source_a": b, "source_b": a}
        if grounding.thresholds:
            arguments["thresholds"] = {**arguments.get("thresholds", {}), **grounding.thresholds}
    else:
        _change_query(arguments, grounding)
    return last.name, arguments


def change_source(grounding: Grounding, earlier: Earlier) -> ToolArguments | None:
    """Return the last query for another source, or compared with it; None for a new question."""
    last = earlier.last
    if last is None or last.name != QUERY or grounding.mentioned:
        return None
    source, before = grounding.sources[0], str(last.arguments["source"])
    if source == before:
        return None
    if "compare" in grounding.cues:
        arguments = {
            "source_a": before,
            "source_b": source,
            "measures": grounding.measures or last.arguments.get("measures", []),
            "align_on": grounding.breakdown or last.arguments.get("dimensions"),
            "filters": {**last.arguments.get("filters", {}), **grounding.filters},
        }
        return COMPARE, {name: value for name, value in arguments.items() if value}
    if "again" not in grounding.cues:
        return None
    changed = change(grounding, earlier)
    same = dict(last.arguments) if changed is None else changed[1]
    return QUERY, {**same, "source": source}


def _is_about(grounding: Grounding, known: PastComparison, sources: Sequence[str]) -> bool:
    """Whether a question names no other sources than those of the comparison."""
    if len(sources) > 1:
        arguments = known.arguments
        same_filters = not grounding.filters or grounding.filters == arguments.get("filters", {})
        same_measures = not grounding.measures or grounding.measures == arguments.get("measures")
        return tuple(sources) == known.sources and same_filters and same_measures
    return all(name in known.sources for name in grounding.sources)


def _mentions_more(grounding: Grounding) -> bool:
    """Whether the question mentions a dimension that no call would use."""
    return any(name not in grounding.asked_which for name in grounding.mentioned)


def _is_within(grounding: Grounding, known: PastComparison) -> bool:
    """Whether a question names only rows and measures that were compared."""
    filters = known.arguments.get("filters", {})
    same = all(filters.get(name) == value for name, value in grounding.filters.items())
    return same and set(grounding.measures) <= set(known.arguments["measures"])


def _explain(grounding: Grounding, known: PastComparison) -> ToolArguments:
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    finer = [*grounding.breakdown, *grounding.asked_which]
    if finer:
        arguments["dimensions"] = finer
    return "explain_difference", arguments


def _drill(grounding: Grounding, known: PastComparison) -> ToolArguments | None:
    key = _group(grounding, known)
    if key is None:
        return None
    arguments: dict[str, Any] = {"cache_key": known.cache_key, "key": key}
    if grounding.count is not None:
        arguments["limit"] = min(grounding.count, 100)
    return "drill_down", arguments


def _group(grounding: Grounding, known: PastComparison) -> dict[str, Any] | None:
    """Return the named group, or the first known group that matches the filters."""
    members = {name: value for name, value in grounding.filters.items() if isinstance(value, str)}
    if len(members) < len(grounding.filters):
        return None
    names = known.arguments.get("align_on") or list(known.keys[0] if known.keys else members)
    if not set(members) <= set(names):
        return None
    fixed = {n: v for n, v in known.arguments.get("filters", {}).items() if isinstance(v, str)}
    whole = {name: members.get(name, fixed.get(name)) for name in names}
    if members and all(value is not None for value in whole.values()):
        return whole
    fitting = [key for key in known.keys if _fits(key, members)]
    place = ORDINALS.get(grounding.ordinal, 0)
    return dict(fitting[place]) if place < len(fitting) else None


def _fits(key: Mapping[str, Any], members: Mapping[str, Any]) -> bool:
    return all(str(key.get(name)) == str(value) for name, value in members.items())


def _rows(grounding: Grounding, known: PastComparison, earlier: Earlier) -> ToolArguments | None:
    if grounding.filters:
        return None
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    if "more" in grounding.cues and earlier.page is not None:
        before = earlier.page.arguments
        step = int(before.get("limit", _PAGE))
        return ROWS, {**before, "offset": int(before.get("offset", 0)) + step}
    status = _statuses(grounding, known)
    if status:
        arguments["status"] = status[0] if len(status) == 1 else status
    if grounding.count is not None:
        arguments["limit"] = min(grounding.count, 100)
    return ROWS, arguments


def _statuses(grounding: Grounding, known: PastComparison) -> list[str]:
    status = [_CLASSES[cue] for cue in _CLASSES if cue in grounding.cues]
    is_only, is_missing = "only" in grounding.cues, "missing" in grounding.cues
    if not (is_only or is_missing):
        return status
    first = next((name for name in known.sources if name in grounding.sources), "")
    named = grounding.source_after.get("missing" if is_missing else "only", first)
    if named not in known.sources:
        return [*status, "missing_in_a", "missing_in_b"]
    side = known.sources.index(named)
    # A group that is only in the first is missing in the second.
    is_in_a = (side == 0) == (is_missing and not is_only)
    return [*status, "missing_in_a" if is_in_a else "missing_in_b"]


def _change_filters(arguments: dict[str, Any], grounding: Grounding) -> None:
    filters = {
        name: value
        for name, value in {**arguments.get("filters", {}), **grounding.filters}.items()
        if name not in grounding.cleared
    }
    arguments.pop("filters", None)
    if filters:
        arguments["filters"] = filters


def _change_breakdown(arguments: dict[str, Any], grounding: Grounding, argument: str) -> None:
    breakdown = grounding.breakdown or grounding.asked_which
    if breakdown:
        before: list[str] = arguments.get(argument) or []
        added = [name for name in breakdown if name not in before]
        arguments[argument] = [*before, *added] if "additionally" in grounding.cues else breakdown


def _change_query(arguments: dict[str, Any], grounding: Grounding) -> None:
    if grounding.count is not None:
        arguments["limit"] = grounding.count
    if grounding.ordered_by:
        arguments["order"] = grounding.ordered_by
    elif "most" in grounding.cues and arguments.get("dimensions") and arguments.get("measures"):
        arguments["order"] = [f"-{arguments['measures'][0]}"]
    known = {*arguments.get("measures", ()), *arguments.get("dimensions", ())}
    order = [name for name in arguments.get("order", ()) if name.removeprefix("-") in known]
    arguments.pop("order", None)
    if order:
        arguments["order"] = order
