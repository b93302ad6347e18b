"""Results of tools: tables, plots and sentences if the tool is known, otherwise JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

from nicegui import ui
from starlette.responses import Response

from skillian.api.auth import PAGE
from skillian.api.problems import ProblemError
from skillian.api.service import Service
from skillian.display import printable
from skillian.errors import SkillianError
from skillian.web.shell import text
from skillian.web.shell.activity import start_task
from skillian.web.shell.elements import scroll_region

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp", "image/svg+xml"})
PLOTS = "/plots"
"""The path below which the page serves plots of `run_python`."""

# An SVG is a document: if it is opened directly, it runs nothing and loads nothing.
_PLOT_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; style-src 'unsafe-inline'; sandbox"
}


def show_result(service: Service, tool: str, result: Any) -> None:
    """Show the result of a tool call."""
    error = error_of(result)
    if error is not None:
        ui.label(printable(error)).classes("fault").props("role=alert")
    elif not isinstance(result, dict):
        text.code(str(result), "text")
    elif tool == "run_python":
        _code_result(service, _as_mapping(result))
    else:
        data = _as_mapping(result)
        tables = list(_tables(tool, data))
        for sentence in _sentences(data):
            text.sentence(text.localised(sentence))
        _json(data, is_open=not tables)


def error_of(result: Any) -> str | None:
    """The error message in the result of a tool call; None if the call succeeded."""
    if isinstance(result, str):
        return result if result.startswith("Error: ") else None
    data: Mapping[str, Any] = _as_mapping(result) if isinstance(result, dict) else {}
    return str(data.get("message", "failed")) if data.get("error") is True else None


def comparison_key(tool: str, result: Any) -> str | None:
    """The cache key of the comparison in a result; None if the result is not a comparison."""
    if tool != "compare_sources" or error_of(result) is not None or not isinstance(result, dict):
        return None
    key = _as_mapping(result).get("cache_key")
    return key if isinstance(key, str) else None


def show_statements(service: Service, result: Any) -> None:
    """Show the SQL behind a result."""
    if not isinstance(result, dict):
        return
    data = _as_mapping(result)
    if isinstance(data.get("sql"), str):
        _statement("SQL", data["sql"])
    elif isinstance(data.get("cache_key"), str) and {"top_differences", "samples"} & data.keys():
        room = ui.element("div").classes("stack")
        start_task(_show_comparison_sql(service, data["cache_key"]), "SQL", room)


async def _show_comparison_sql(service: Service, key: str) -> None:
    try:
        result = await service.comparisons.find(key)
    except (SkillianError, ProblemError):
        return  # the comparison is no longer in the cache
    proof: dict[str, Any] = result["proof"]
    _statement("SQL", proof["sql"])
    for name, query in proof["queries"].items():
        _statement(f"SQL in {name}", query["sql"])


def _statement(title: str, sql: str) -> None:
    ui.label(title).classes("part")
    text.code(sql, "sql").classes("sql")


def _tables(tool: str, data: Mapping[str, Any]) -> Iterator[str]:
    """Show the rows of a result, and yield the name of each table."""
    if tool == "query_source" and "rows" in data:
        measures = data.get("measures", ())
        rows = [
            [
                text.amount(value) if name in measures else value
                for name, value in zip(data["columns"], row, strict=True)
            ]
            for row in data["rows"]
        ]
        text.table(data["columns"], rows, f"Rows of {data.get('source', 'the source')}")
        yield "rows"
    elif tool == "drill_down" and "a" in data:
        show_sides(data)
        yield "rows"
    elif tool == "compare_sources" and data.get("columns"):
        names = ("a", "b", "mismatches", "compared")
        columns = [[column[name] for name in names] for column in data["columns"]]
        with scroll_region("Columns that differ"):
            text.table(list(names), columns, "Columns that differ")
        yield "columns"
        cells = list(_differing_cells(data.get("samples")))
        if cells:
            with scroll_region("Some rows that differ"):
                text.table(["key", "column", "a → b"], cells, "Some rows that differ")
            yield "samples"


def show_sides(data: Mapping[str, Any]) -> None:
    """Show the rows of both sides that `drill_down` found."""
    with ui.element("div").classes("stack sides"):
        for side in (data["a"], data["b"]):
            title = f"Rows of {side['source']}"
            more = ", the first ones" if side["truncated"] else ""
            with scroll_region(title).classes("rows-region"):
                text.table(side["columns"], side["rows"], title + more)


def _differing_cells(samples: Any) -> Iterator[list[Any]]:
    """The cells of the sample rows that differ, each with the key of its row."""
    rows: list[dict[str, Any]] = samples["differing"] if samples else []
    for row in rows:
        key = ", ".join(f"{name}={value}" for name, value in row["key"].items())
        for column, sides in row["cells"].items():
            yield [key, column, text.change(sides["a"], sides["b"])]


def _sentences(data: Mapping[str, Any]) -> list[str]:
    items = data.get("interpretation")
    return [str(item) for item in cast("list[object]", items)] if isinstance(items, list) else []


def _json(data: Mapping[str, Any], *, is_open: bool) -> None:
    if is_open:
        text.as_json(data)
        return
    with ui.expansion("JSON").props("dense") as section:
        section.on_value_change(lambda event: _fill(section, data) if event.value else None)


def _fill(section: ui.expansion, data: Mapping[str, Any]) -> None:
    section.clear()
    with section:
        text.as_json(data)


def _as_mapping(result: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", result)


def _code_result(service: Service, data: Mapping[str, Any]) -> None:
    """Show the result of `run_python`; `show_plots` shows its plots."""
    for title, key in (("Output", "output"), ("Value", "value")):
        if data.get(key):
            ui.label(title).classes("part")
            text.code(str(data[key]), "text")
    if data.get("code_error"):
        ui.label("Error").classes("part fault")
        text.code(str(data["code_error"]), "text").classes("fault")
    for grid in data.get("tables", ()):
        with ui.element("div").classes("scroll-x"):
            caption = f"{len(grid['rows'])} of {grid['total_rows']} rows"
            text.table(grid["columns"], grid["rows"], caption)
    for file in data.get("artifacts", ()):
        _download(service, file)


def _download(service: Service, file: Mapping[str, Any]) -> None:
    if not _is_available(service, file):
        return
    link = ui.element("a").classes("small")
    link.props["href"] = f"/artifacts/{file['id']}"
    link.props["download"] = file["name"]
    with link:
        text.sentence(f"Download {file['name']} (", text.amount(file["bytes"]), " bytes)")


def show_plots(service: Service, data: Mapping[str, Any]) -> None:
    """Show the pictures among the files in a result of `run_python`."""
    for file in data.get("artifacts", ()):
        is_picture = file["media_type"] in IMAGES and file.get("id") is not None
        if is_picture and _is_available(service, file):
            picture = ui.element("img").classes("plot")
            picture.props["src"] = f"{PAGE}{PLOTS}/{file['id']}"
            picture.props["alt"] = f"Plot {file['name']}, drawn by the code above"


def _is_available(service: Service, file: Mapping[str, Any]) -> bool:
    """Whether a file can still be read; if not, show what to do."""
    name = file.get("id")
    if name is not None and service.skills.find_artifact(name) is not None:
        return True
    ui.label(f"{file['name']} is no longer available. Run the code again.").classes("soft")
    return False


def plot_response(service: Service, name: str) -> Response:
    """A plot of `run_python` as an HTTP response.

    Raises:
        ProblemError: No picture with this id is available (404).
    """
    artifact = service.skills.find_artifact(name)
    if artifact is None or artifact.media_type not in IMAGES:
        raise ProblemError(404, "artifact_not_found", "This picture is not available.")
    return Response(artifact.data, media_type=artifact.media_type, headers=_PLOT_HEADERS)
