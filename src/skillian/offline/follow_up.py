"""Questions that go back to what was done before: why, the rows behind it, "the same for 1002"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from skillian.offline.earlier import COMPARE, QUERY, ROWS, Comparison, Earlier
from skillian.offline.grounding import Grounding
from skillian.offline.lexicon import ORDINALS

Look = Literal["explain", "drill", "rows"]
ToolArguments = tuple[str, dict[str, Any]]

_PAGE = 20
_AGAIN = {"same", "again", "repeat", "redo", "rerun"}
_CLASSES = {"major": "major_diff", "minor": "minor_diff", "match": "match"}


def wanted(found: Grounding) -> Look | None:
    """Which look into a comparison a question asks for."""
    cues = found.cues
    is_of_class = any(cue in cues for cue in ("missing", "major", "minor", "match", "more"))
    is_only = "only" in cues and bool(found.sources) and not found.measures
    if "drill" in cues or ("rows" in cues and not (found.measures or is_of_class or is_only)):
        return "explain" if "explain" in cues and "rows" not in cues else "drill"
    if "explain" in cues:
        return "explain"
    is_listed = "gaps" in cues and not (found.sources or found.names_data)
    has_class = is_of_class and not ("match" in cues and found.sources)
    return "rows" if has_class or is_only or is_listed else None


def look_into(found: Grounding, earlier: Earlier, sources: Sequence[str]) -> ToolArguments | None:
    """The call that looks into the last comparison, if that is the one spoken of."""
    known, kind = earlier.comparison, wanted(found)
    if known is None or kind is None or not _is_about(found, known, sources):
        return None
    if "describe" in found.cues and found.sources:
        return None
    if kind == "explain":
        return _explain(found, known) if _is_within(found, known) else None
    if kind == "drill" and not _mentions_more(found):
        return _drill(found, known)
    return _rows(found, known, earlier) if kind == "rows" else None


def change(found: Grounding, earlier: Earlier) -> ToolArguments | None:
    """The last call changed by what is said: "and for company 1002?", "by account"."""
    last = earlier.last
    is_again = "swap" in found.cues or found.cues.get("again", "") in _AGAIN
    if (
        last is None
        or _mentions_more(found)
        or not (found.names_data or found.asked_which or is_again)
    ):
        return None
    arguments = dict(last.arguments)
    if found.measures:
        arguments["measures"] = found.measures
    _change_filters(arguments, found)
    _change_breakdown(arguments, found, "align_on" if last.name == COMPARE else "dimensions")
    if last.name == COMPARE:
        if "swap" in found.cues:
            a, b = arguments["source_a"], arguments["source_b"]
            arguments |= {"source_a": b, "source_b": a}
        if found.thresholds:
            arguments["thresholds"] = {**arguments.get("thresholds", {}), **found.thresholds}
    else:
        _change_query(arguments, found)
    return last.name, arguments


def change_source(found: Grounding, earlier: Earlier) -> ToolArguments | None:
    """The last query asked of another source, or compared with it; None for a new question."""
    last = earlier.last
    if last is None or last.name != QUERY or found.mentioned:
        return None
    source, before = found.sources[0], str(last.arguments["source"])
    if source == before:
        return None
    if "compare" in found.cues:
        arguments = {
            "source_a": before,
            "source_b": source,
            "measures": found.measures or last.arguments.get("measures", []),
            "align_on": found.breakdown or last.arguments.get("dimensions"),
            "filters": {**last.arguments.get("filters", {}), **found.filters},
        }
        return COMPARE, {name: value for name, value in arguments.items() if value}
    if "again" not in found.cues:
        return None
    changed = change(found, earlier)
    same = dict(last.arguments) if changed is None else changed[1]
    return QUERY, {**same, "source": source}


def _is_about(found: Grounding, known: Comparison, sources: Sequence[str]) -> bool:
    """Whether a question that names sources names those of the comparison, and no others."""
    if len(sources) > 1:
        asked = known.arguments
        same_filters = not found.filters or found.filters == asked.get("filters", {})
        same_measures = not found.measures or found.measures == asked.get("measures")
        return tuple(sources) == known.sources and same_filters and same_measures
    return all(name in known.sources for name in found.sources)


def _mentions_more(found: Grounding) -> bool:
    """Whether a dimension is mentioned that no call would speak of."""
    return any(name not in found.asked_which for name in found.mentioned)


def _is_within(found: Grounding, known: Comparison) -> bool:
    """Whether a question names no other rows or measures than those that were compared."""
    filters = known.arguments.get("filters", {})
    same = all(filters.get(name) == value for name, value in found.filters.items())
    return same and set(found.measures) <= set(known.arguments["measures"])


def _explain(found: Grounding, known: Comparison) -> ToolArguments:
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    finer = [*found.breakdown, *found.asked_which]
    if finer:
        arguments["dimensions"] = finer
    return "explain_difference", arguments


def _drill(found: Grounding, known: Comparison) -> ToolArguments | None:
    key = _group(found, known)
    if key is None:
        return None
    arguments: dict[str, Any] = {"cache_key": known.cache_key, "key": key}
    if found.count is not None:
        arguments["limit"] = min(found.count, 100)
    return "drill_down", arguments


def _group(found: Grounding, known: Comparison) -> dict[str, Any] | None:
    """The group that is named, else the first of the named groups that fits, else the largest."""
    said = {name: value for name, value in found.filters.items() if isinstance(value, str)}
    if len(said) < len(found.filters):
        return None
    names = known.arguments.get("align_on") or list(known.keys[0] if known.keys else said)
    if not set(said) <= set(names):
        return None
    fixed = {n: v for n, v in known.arguments.get("filters", {}).items() if isinstance(v, str)}
    whole = {name: said.get(name, fixed.get(name)) for name in names}
    if said and all(value is not None for value in whole.values()):
        return whole
    fitting = [key for key in known.keys if _fits(key, said)]
    place = ORDINALS.get(found.ordinal, 0)
    return dict(fitting[place]) if place < len(fitting) else None


def _fits(key: Mapping[str, Any], said: Mapping[str, Any]) -> bool:
    return all(str(key.get(name)) == str(value) for name, value in said.items())


def _rows(found: Grounding, known: Comparison, earlier: Earlier) -> ToolArguments | None:
    if found.filters:
        return None
    arguments: dict[str, Any] = {"cache_key": known.cache_key}
    if "more" in found.cues and earlier.page is not None:
        before = earlier.page.arguments
        step = int(before.get("limit", _PAGE))
        return ROWS, {**before, "offset": int(before.get("offset", 0)) + step}
    status = _statuses(found, known)
    if status:
        arguments["status"] = status[0] if len(status) == 1 else status
    if found.count is not None:
        arguments["limit"] = min(found.count, 100)
    return ROWS, arguments


def _statuses(found: Grounding, known: Comparison) -> list[str]:
    status = [_CLASSES[cue] for cue in _CLASSES if cue in found.cues]
    is_only, is_missing = "only" in found.cues, "missing" in found.cues
    if not (is_only or is_missing):
        return status
    first = next((name for name in known.sources if name in found.sources), "")
    named = found.source_after.get("missing" if is_missing else "only", first)
    if named not in known.sources:
        return [*status, "missing_in_a", "missing_in_b"]
    side = known.sources.index(named)
    # What is only in the first is missing in the second.
    is_in_a = (side == 0) == (is_missing and not is_only)
    return [*status, "missing_in_a" if is_in_a else "missing_in_b"]


def _change_filters(arguments: dict[str, Any], found: Grounding) -> None:
    filters = {
        name: value
        for name, value in {**arguments.get("filters", {}), **found.filters}.items()
        if name not in found.cleared
    }
    arguments.pop("filters", None)
    if filters:
        arguments["filters"] = filters


def _change_breakdown(arguments: dict[str, Any], found: Grounding, argument: str) -> None:
    asked = found.breakdown or found.asked_which
    if asked:
        before: list[str] = arguments.get(argument) or []
        added = [name for name in asked if name not in before]
        arguments[argument] = [*before, *added] if "additionally" in found.cues else asked


def _change_query(arguments: dict[str, Any], found: Grounding) -> None:
    if found.count is not None:
        arguments["limit"] = found.count
    if found.ordered_by:
        arguments["order"] = found.ordered_by
    elif "most" in found.cues and arguments.get("dimensions") and arguments.get("measures"):
        arguments["order"] = [f"-{arguments['measures'][0]}"]
    known = {*arguments.get("measures", ()), *arguments.get("dimensions", ())}
    order = [name for name in arguments.get("order", ()) if name.removeprefix("-") in known]
    arguments.pop("order", None)
    if order:
        arguments["order"] = order
