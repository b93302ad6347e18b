"""What tools gave, each kind in its own form; what has none as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from nicegui import ui

from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.display import printable
from skillian.errors import SkillianError
from skillian.web import text
from skillian.web.code_card import code_result
from skillian.web.work import start


def show(service: Service, tool: str, result: Any) -> None:
    """Show what a tool gave."""
    fault = fault_of(result)
    if fault is not None:
        ui.label(printable(fault)).classes("fault").props("role=alert")
    elif not isinstance(result, dict):
        text.code(str(result), "text")
    elif tool == "run_python":
        code_result(service, _as_mapping(result))
    else:
        told = _as_mapping(result)
        shown = list(_tables(tool, told))
        for sentence in _sentences(told):
            ui.label(printable(sentence))
        _as_it_is(told, open_now=not shown)


def fault_of(result: Any) -> str | None:
    """What went wrong in a tool, in a sentence; None where nothing did."""
    if isinstance(result, str):
        return result if result.startswith("Error: ") else None
    told: Mapping[str, Any] = _as_mapping(result) if isinstance(result, dict) else {}
    return str(told.get("message", "failed")) if told.get("error") is True else None


def comparison_key(tool: str, result: Any) -> str | None:
    """The cache key of the comparison that a result is, if it is one."""
    if tool != "compare_sources" or fault_of(result) is not None or not isinstance(result, dict):
        return None
    key = _as_mapping(result).get("cache_key")
    return key if isinstance(key, str) else None


def show_statements(service: Service, result: Any) -> None:
    """Show the SQL behind a result; that of a comparison is asked for, as it is long."""
    if not isinstance(result, dict):
        return
    told = _as_mapping(result)
    if isinstance(told.get("sql"), str):
        _statement("SQL", told["sql"])
    elif isinstance(told.get("cache_key"), str) and "top_differences" in told:
        room = ui.element("div").classes("stack")
        start(_show_proof(service, told["cache_key"]), "proof", room)


async def _show_proof(service: Service, key: str) -> None:
    try:
        proof = (await service.comparisons.find(key))["proof"]
    except (SkillianError, ProblemError):
        return  # too old: the numbers are there, the statement is not any more
    _statement("SQL", proof["sql"])
    for name, query in proof["queries"].items():
        _statement(f"SQL in {name}", query["sql"])


def _statement(title: str, sql: str) -> None:
    ui.label(title).classes("part")
    text.code(sql, "sql").classes("sql")


def _tables(tool: str, told: Mapping[str, Any]) -> Iterator[str]:
    """Show the rows of a result; gives the name of each table."""
    if tool == "query_source" and "rows" in told:
        text.table(told["columns"], told["rows"], f"Rows of {told.get('source', 'the source')}")
        yield "rows"
    elif tool == "drill_down" and "a" in told:
        for side in (told["a"], told["b"]):
            with ui.element("div").classes("scroll-x"):
                text.table(side["columns"], side["rows"], f"Rows of {side['source']}")
            yield side["source"]


def _sentences(told: Mapping[str, Any]) -> list[str]:
    found = told.get("interpretation")
    return [str(one) for one in cast("list[object]", found)] if isinstance(found, list) else []


def _as_it_is(told: Mapping[str, Any], *, open_now: bool) -> None:
    if open_now:
        text.as_json(told)
        return
    with ui.expansion("As JSON").props("dense") as closed:
        closed.on_value_change(lambda event: _fill(closed, told) if event.value else None)


def _fill(closed: ui.expansion, told: Mapping[str, Any]) -> None:
    closed.clear()
    with closed:
        text.as_json(told)


def _as_mapping(result: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", result)
