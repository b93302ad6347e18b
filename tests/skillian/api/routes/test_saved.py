"""Saved comparisons over HTTP: whose they are, and what their runs leave behind."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.skillian.api.conftest import KEYS, Opened, Serve
from tests.support.waits import soon

from skillian.api.comparisons import Comparisons
from skillian.data.declare.saved import SavedComparison
from skillian.data.engine import ComparisonEngine
from skillian.errors import QueryError
from skillian.history.store import open_history
from skillian.reports import tracking

SOURCES = """
connections: {here: "files://."}
sources:
  plan:
    connection: here
    table: plan.csv
    dimensions: {id: {column: id}}
    measures: {amount: {column: amount, aggregation: sum}}
  actual:
    connection: here
    table: actual.csv
    dimensions: {id: {column: id}}
    measures: {amount: {column: amount, aggregation: sum}}
"""
AMOUNTS = {"source_a": "plan", "source_b": "actual", "measures": ["amount"], "align_on": ["id"]}
ROWS = {"source_a": "plan", "source_b": "actual", "key": ["id"]}


def written(folder: Path, plan: str = "1,10\n2,20\n", actual: str = "1,10\n2,21\n") -> Path:
    for name, lines in (("plan", plan), ("actual", actual)):
        (folder / f"{name}.csv").write_text(f"id,amount\n{lines}", encoding="utf-8")
    (folder / "sources.yaml").write_text(SOURCES, encoding="utf-8")
    return folder / "sources.yaml"


async def sent(  # noqa: PLR0917 - a request
    server: Opened, method: str, path: str, status: int, body: Any = None, key: str = ""
) -> Any:
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with server.request(method, path, json=body, headers=headers) as answer:
        assert answer.status == status, await answer.text()
        return None if status == 204 else await answer.json()


async def saved(server: Opened, comparison: dict[str, Any], key: str = "") -> str:
    body = {"name": "Plan and actual", "comparison": comparison}
    return str((await sent(server, "POST", "/saved", 201, body, key))["id"])


async def run(server: Opened, saved_id: str, key: str = "") -> dict[str, Any]:
    """Run it to its end; returns its report."""
    started = await sent(server, "POST", f"/saved/{saved_id}/runs", 202, key=key)
    states: list[str] = []

    async def has_ended() -> bool:
        states.append((await sent(server, "GET", f"/runs/{started['id']}", 200, key=key))["state"])
        return states[-1] not in {"queued", "running"}

    while not await has_ended():
        await soon(lambda: True, 1)
    report: dict[str, Any] = await sent(server, "GET", f"/saved/{saved_id}", 200, key=key)
    return report


async def test_runs_tell_new_known_and_fixed_findings_apart(serve: Serve, tmp_path: Path) -> None:
    for comparison in (AMOUNTS, ROWS):
        async with serve(sources=written(tmp_path)) as server:
            one = await saved(server, comparison)
            report = await run(server, one)
            assert report["runs"][0]["verdict"] == "findings"
            [finding] = report["findings"]
            assert finding["state"] == "new"
            path = f"/saved/{one}/findings/{finding['id']}"
            note = {"note": "A late booking", "due": "2999-12-31"}
            assert (await sent(server, "PUT", path, 200, note))["state"] == "known"
            report = await run(server, one)
            assert (report["runs"][0]["new"], report["runs"][0]["known"]) == (0, 1)
            result = await sent(server, "GET", f"/comparisons/{report['cache_key']}", 200)
            assert result["source_a"] == "plan"
        written(tmp_path, actual="1,10\n2,20\n")
        async with serve(sources=tmp_path / "sources.yaml") as server:
            report = await run(server, one)
            assert [each["verdict"] for each in report["runs"]] == ["equal", "findings", "findings"]
            assert [each["state"] for each in report["findings"]] == ["fixed"]
            await sent(server, "DELETE", f"/saved/{one}", 204)
            assert await sent(server, "GET", "/saved", 200) == []
            again = await saved(server, comparison)
            assert (await sent(server, "GET", f"/saved/{again}", 200))["runs"] == []
            await sent(server, "DELETE", f"/saved/{again}", 204)


@pytest.mark.parametrize("asked", [AMOUNTS, ROWS])
async def test_a_saved_result_is_the_first_run(
    serve: Serve, tmp_path: Path, asked: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serve(sources=written(tmp_path)) as server:
        result = await sent(server, "POST", "/compare", 200, asked)
        with monkeypatch.context() as patched:
            patched.setattr(Comparisons, "compare", None)  # nothing is compared again
            record = await server.service.saved.save_result("", "Plan", result["cache_key"])
        report = await sent(server, "GET", f"/saved/{record.id}", 200)
        assert [each["new"] for each in report["runs"]] == [1]
        assert report["runs"][0]["at"] == result["proof"]["snapshot"]
        assert report["cache_key"] == result["cache_key"]
        assert (await run(server, record.id))["runs"][0]["new"] == 0
        written(tmp_path, actual="1,11\n2,21\n")
        report = await run(server, record.id)
        assert [each["text"] for each in report["findings"] if each["state"] == "new"] == [
            "amount differs for id=1"
        ]
        assert [each["new"] for each in report["runs"]] == [1, 0, 1]


async def test_a_result_that_cannot_be_read_again_is_saved_without_a_run(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def refuses(*_: Any, **__: Any) -> None:
        raise QueryError("the database does not answer")

    async with serve(sources=written(tmp_path)) as server:
        key = (await sent(server, "POST", "/compare", 200, AMOUNTS))["cache_key"]
    async with serve(sources=tmp_path / "sources.yaml") as server:
        monkeypatch.setattr(ComparisonEngine, "compare", refuses)
        record = await server.service.saved.save_result("", "Plan", key)
        report = await sent(server, "GET", f"/saved/{record.id}", 200)
        assert (report["runs"], report["cache_key"]) == ([], key)


async def test_a_saved_result_of_files_is_the_first_run(serve: Serve, tmp_path: Path) -> None:
    async with serve(uploads=tmp_path / "uploads") as server:
        uploads = [await sent_file(server, f"id,amount\n1,{amount}\n") for amount in (10, 11)]
        names = {
            f"source_{side}": f"upload:{each}" for side, each in zip("ab", uploads, strict=True)
        }
        result = await sent(server, "POST", "/compare", 200, {**names, "key": ["id"]})
        record = await server.service.saved.save_result("", "Files", result["cache_key"])
        report = await sent(server, "GET", f"/saved/{record.id}", 200)
        assert [each["new"] for each in report["runs"]] == [1]
        assert [each["state"] for each in (await run(server, record.id))["findings"]] == ["open"]
        await sent(server, "DELETE", f"/uploads/{uploads[0]}", 204)
        assert (await sent(server, "GET", f"/saved/{record.id}", 200))["findings"] == []


async def test_a_run_of_measures_is_recorded_where_no_result_is_kept(
    serve: Serve, tmp_path: Path
) -> None:
    sources = written(tmp_path)
    kept_for_no_time = f"{SOURCES}comparison: {{cache_ttl_seconds: 0}}\n"
    sources.write_text(kept_for_no_time, encoding="utf-8")
    async with serve(sources=sources) as server:
        report = await run(server, await saved(server, AMOUNTS))
        assert [each["verdict"] for each in report["runs"]] == ["findings"]
        assert [each["state"] for each in report["findings"]] == ["new"]


async def test_a_run_that_cannot_begin_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with serve(sources=written(tmp_path)) as server:
        one = await saved(server, AMOUNTS)
        (tmp_path / "actual.csv").unlink()
        refused = await sent(server, "POST", f"/saved/{one}/runs", 422)
        assert "actual.csv" in refused["detail"]


async def test_another_key_opens_only_what_is_shared(serve: Serve, tmp_path: Path) -> None:
    mine, theirs = KEYS
    async with serve(sources=written(tmp_path), api_keys=",".join(KEYS)) as server:
        one = await saved(server, AMOUNTS, mine)
        await run(server, one, mine)
        note = {"note": "known"}
        for method, path, body in (
            ("GET", "", None),
            ("POST", "/runs", None),
            ("PUT", "/shared", {"shared": True}),
            ("PUT", "/findings/0", note),
            ("PUT", "/findings", note),
            ("DELETE", "", None),
        ):
            refused = await sent(server, method, f"/saved/{one}{path}", 404, body, theirs)
            assert refused["code"] == "saved_comparison_not_found"
        await sent(server, "PUT", f"/saved/{one}/shared", 204, {"shared": True}, mine)
        assert (await run(server, one, theirs))["is_own"] is False
        assert await sent(server, "GET", "/saved", 200, key=theirs) == []
        for key, owns in ((mine, [False, True]), (theirs, [True])):
            runs = (await sent(server, "GET", "/runs", 200, key=key))["runs"]
            assert sorted(each["is_own"] for each in runs) == owns
            assert {each["saved_id"] for each in runs} == {one}
        for method, path, body in (
            ("PUT", "/findings/0", note),
            ("PUT", "/findings", note),
            ("DELETE", "", None),
        ):
            await sent(server, method, f"/saved/{one}{path}", 404, body, theirs)
        done = await sent(server, "PUT", f"/saved/{one}/findings", 200, note, mine)
        assert done == {"accepted": 1, "untracked": 0}
        [finding] = (await sent(server, "GET", f"/saved/{one}", 200, key=mine))["findings"]
        assert (finding["state"], finding["note"]) == ("known", "known")
        await sent(server, "PUT", f"/saved/{one}/shared", 204, {"shared": False}, mine)
        await sent(server, "GET", f"/saved/{one}", 404, key=theirs)


async def test_what_cannot_be_saved_is_refused(serve: Serve, tmp_path: Path) -> None:
    async with serve(sources=written(tmp_path)) as server:
        for name, comparison, code in (
            (" ", AMOUNTS, "validation_error"),
            ("x", {**AMOUNTS, "source_b": "nothing"}, "not_found"),
        ):
            body = {"name": name, "comparison": comparison}
            assert (await sent(server, "POST", "/saved", 422, body))["code"] == code
        one = await saved(server, AMOUNTS)
        await run(server, one)
        refused = await sent(server, "PUT", f"/saved/{one}/findings/none", 422, {"note": "x"})
        assert "no open finding" in refused["detail"]


async def test_a_comparison_that_is_deleted_while_it_runs_leaves_no_history(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(sources=written(tmp_path)) as server:
        one, other = [await saved(server, AMOUNTS) for _ in range(2)]
        service = server.service
        for each in (one, other):
            record = await service.saved.get("", each)
            if each == one:
                await sent(server, "DELETE", f"/saved/{each}", 204)
            question = SavedComparison.model_validate(record.question)
            await service.saved._run(record, "", question, lambda *_: None)
    with open_history(f"sqlite:///{tmp_path / 'sessions.db'}") as history:
        [run] = history.latest()
        assert run.comparison.endswith(other)


@pytest.mark.parametrize("way", ["deleted", "purged", "deleted during the run"])
async def test_findings_about_a_file_are_deleted_with_it(
    serve: Serve, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    recording = tracking.recording

    async def recording_after_deletion(*given: Any) -> Any:
        await server.service.saved.forget_upload("", uploads[0])
        return await recording(*given)

    async with serve(sources=written(tmp_path), uploads=tmp_path / "uploads") as server:
        uploads = [await sent_file(server, f"id,amount\n1,{amount}\n") for amount in (10, 11)]
        names = {
            f"source_{side}": f"upload:{each}" for side, each in zip("ab", uploads, strict=True)
        }
        one = await saved(server, {**names, "key": ["id"]})
        if way == "deleted during the run":
            monkeypatch.setattr("skillian.api.saved.recording", recording_after_deletion)
        report = await run(server, one)
        assert bool(report["findings"]) == (way != "deleted during the run")
        if way == "deleted":
            await sent(server, "DELETE", f"/uploads/{uploads[0]}", 204)
        elif way == "purged":
            await server.service.saved.purge()
            assert (await sent(server, "GET", f"/saved/{one}", 200))["findings"]
            await server.service.uploads.purge(timedelta(0))
            await server.service.saved.purge()
        report = await sent(server, "GET", f"/saved/{one}", 200)
        assert report["findings"] == []
        assert [each["findings"] for each in report["runs"]] == [1]
        await server.service.runs.purge(None)
        assert (await sent(server, "GET", "/runs", 200))["runs"] == []


async def sent_file(server: Opened, content: str) -> str:
    headers = {"Content-Type": "application/octet-stream"}
    async with server.post("/uploads?name=a.csv", data=content, headers=headers) as answer:
        assert answer.status == 201, await answer.text()
        return str((await answer.json())["id"])


@pytest.mark.parametrize("asked", [ROWS, AMOUNTS], ids=["rows", "measures"])
async def test_a_result_whose_sources_changed_stays_and_has_no_rows_of_the_new_state(
    serve: Serve, tmp_path: Path, asked: dict[str, Any]
) -> None:
    sources = written(tmp_path)
    async with serve(sources=sources) as server:
        result = await sent(server, "POST", "/compare", 200, asked)
    path = f"/comparisons/{result['cache_key']}"
    async with serve(sources=sources) as server:
        assert (await sent(server, "GET", f"{path}/rows", 200))["total"] == 1
    written(tmp_path, "1,10\n2,20\n3,30\n")
    async with serve(sources=sources) as server:
        for part in ("/rows", "/rows.csv", "/report.json", "/rows"):
            assert (await sent(server, "GET", path + part, 409))["code"] == "comparison_changed"
        assert await sent(server, "GET", path, 200) == result
        again = await sent(server, "POST", "/compare", 200, asked)
        rows = await sent(server, "GET", f"/comparisons/{again['cache_key']}/rows", 200)
    assert rows["total"] == 2
