"""Saved comparisons on the page, whose results are stored for a time."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from nicegui import ui
from pydantic import SecretStr
from tests.skillian.web.saved import ledgers
from tests.skillian.web.views import found, sees, viewed, written
from tests.skillian.web.visits import visit

from skillian.api.problems import ProblemError
from skillian.app import open_service
from skillian.data.declare.saved import SavedComparison, read_saved
from skillian.settings import Settings
from skillian.web.saved.command import command_panel
from skillian.web.saved.view import SavedView


def storing(demo: Path, folder: Path, seconds: int) -> Path:
    """The sources of the demo, whose results are stored for so long."""
    declared = demo.read_text(encoding="utf-8").replace("duckdb:///", f"duckdb:///{demo.parent}/")
    time = f"cache_ttl_seconds: {seconds}"
    sources = folder / "sources.yaml"
    sources.write_text(declared.replace("cache_ttl_seconds: 3600", time), encoding="utf-8")
    return sources


@pytest.mark.parametrize("seconds", [0, 3600])
async def test_the_last_result_is_offered_as_long_as_it_is_stored(
    demo: Path, tmp_path: Path, seconds: int
) -> None:
    sources = storing(demo, tmp_path, seconds)
    url = SecretStr(f"sqlite:///{tmp_path / 'sessions.db'}")
    question = SavedComparison(
        name="close", a="fi_reporting", b="bpc_reporting", measures=("amount",)
    )
    async with open_service(Settings(sources=sources, database_url=url)) as service:
        saved = await service.saved.save("", "Close", question)
        run = await service.saved.start("", saved.id)
        while run["state"] in {"queued", "running"}:
            await asyncio.sleep(0.05)
            run = await service.runs.get("", run["id"])
        async with viewed(SavedView(visit(service), saved.id).build) as user:
            await sees(user, "Run again")
            await sees(user, "Open the last result" if seconds else "is no longer stored")


@pytest.mark.parametrize(
    ("asked", "amounts"),
    [
        (ledgers.OF_MEASURES, ["amount: 20 → 21 (gap 1)"]),
        (ledgers.OF_ROWS, ["amount: 20 → 21", "town: Kiel → Bonn"]),
    ],
)
async def test_findings_show_what_differs_by_how_much_and_which_are_new(
    tmp_path: Path, asked: dict[str, Any], amounts: list[str]
) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, **asked)
        async with viewed(SavedView(visit(service), saved).build) as user:
            await sees(user, "This is the first run, so all of its findings are new.")
            await sees(user, "● new")
            for amount in amounts:
                assert amount in written(user)
        ledgers.write(tmp_path, actual="1,15,Ulm\n2,21,Bonn\n")
        await ledgers.run(service, saved)
        async with viewed(SavedView(visit(service), saved).build) as user:
            await sees(user, "1 new since the run of")
            states = [each.text for each in found(user, ui.label) if each.text[:1] in {"●", "◐"}]
            assert states == ["● new", "● open"]
            assert written(user).index("10 → 15") < written(user).index("20 → 21")


async def test_sizes_are_shown_when_the_values_are_no_longer_kept(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, **ledgers.OF_MEASURES)
    async with (
        ledgers.ledgers(tmp_path) as service,
        viewed(SavedView(visit(service), saved).build) as user,
    ):
        await sees(user, "amount differs for id=2")
        assert "amount: gap 1" in written(user)


async def test_all_findings_are_accepted_with_one_note(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        ledgers.write(tmp_path, actual="1,15,Ulm\n2,21,Bonn\n")
        saved = await ledgers.save(service, **ledgers.OF_ROWS)
        async with viewed(SavedView(visit(service), saved).build) as user:
            await sees(user, "Accept all")
            user.find("Accept all").click()
            await sees(user, "2 findings will be known, with this note.")
            user.find(ui.textarea).type("The move of May")
            user.find(kind=ui.button, content="Save").click()
            await sees(user, "◐ known")
            await user.should_not_see("● new")
            await user.should_not_see("Accept all")
            assert "0 new · 0 open · 2 known" in written(user)
            await user.should_not_see("all of its findings are new")
        report = await service.saved.report("", saved)
        assert {each["note"] for each in report["findings"]} == {"The move of May"}


async def test_only_the_owner_accepts(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, owner="mine", **ledgers.OF_ROWS)
        await service.saved.share("mine", saved, is_shared=True)
        async with viewed(SavedView(visit(service, "theirs"), saved).build) as user:
            await sees(user, "● new")
            assert "amount: 20 → 21" in written(user)
            await user.should_not_see("Accept all")
        with pytest.raises(ProblemError):
            await service.saved.accept("theirs", saved, "mine now", None)


async def test_the_file_for_ci_asks_the_same(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, "Closing of May!", **ledgers.OF_MEASURES)
        async with viewed(SavedView(visit(service), saved).build) as user:
            await sees(user, "1. Save this as closing-of-may.yaml next to sources.yaml:")
            [file] = [each for each in written(user).split("\n\n") if "compare:" in each] or [""]
            assert "skillian compare closing-of-may.yaml --fail-on new" in written(user)
        (tmp_path / "closing-of-may.yaml").write_text(file[file.index("sources:") :])
    [comparison] = read_saved(tmp_path / "closing-of-may.yaml").comparisons
    assert comparison == ledgers.question(name="Closing of May!", **ledgers.OF_MEASURES)


async def test_files_do_not_run_in_ci() -> None:
    asked = ledgers.question(a="upload:1", b="upload:2", **ledgers.OF_ROWS)

    async def panel() -> None:
        command_panel("Files", asked, "sources.yaml")

    async with viewed(panel) as user:
        await sees(user, "A comparison of uploaded files cannot run in CI")
        await user.should_not_see("--fail-on new")
