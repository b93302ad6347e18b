"""The saved and the recent comparisons on the start page."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui
from tests.skillian.web.saved import ledgers
from tests.skillian.web.views import found, sees, viewed
from tests.skillian.web.visits import visit

from skillian.web.saved.saving import saved_list
from skillian.web.shell.elements import Time


async def test_saved_comparisons_show_the_verdict_of_their_last_run(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        saved = await ledgers.save(service, "Close", **ledgers.OF_ROWS)
        await service.saved.save("", "Later", ledgers.question(**ledgers.OF_MEASURES))
        async with viewed(lambda: saved_list(visit(service))) as user:
            for words in ("Close", "Rows differ", "· 1 new", "Later", "has not run yet"):
                await sees(user, words)
            [time] = found(user, Time)
            report = await service.saved.report("", saved)
            assert time.props["value"] == report["runs"][0]["at"]
        await ledgers.run(service, saved)
        async with viewed(lambda: saved_list(visit(service))) as user:
            await sees(user, "Rows differ")
            await user.should_not_see("new")
        ledgers.write(tmp_path, actual="1,10,Ulm\n2,20,Kiel\n")
        await ledgers.run(service, saved)
        async with viewed(lambda: saved_list(visit(service))) as user:
            await sees(user, "Equal")


async def test_recent_comparisons_are_listed_until_they_are_saved(tmp_path: Path) -> None:
    async with ledgers.ledgers(tmp_path) as service:
        keys: list[str] = []
        for _ in range(2):  # the second gives the same result
            started = await service.runs.compare("", ledgers.question(**ledgers.OF_MEASURES))
            await ledgers.ended(service, "", started)
            keys.append((await service.runs.get("", started["id"]))["cache_key"])
        async with viewed(lambda: saved_list(visit(service))) as user:
            await sees(user, "Recent comparisons")
            await sees(user, "They differ")
            assert [link.props["href"] for link in found(user, ui.link)] == [f"/compare/{keys[0]}"]
        await service.saved.save_result("", "Close", keys[0])
        async with viewed(lambda: saved_list(visit(service))) as user:
            await sees(user, "Saved comparisons")
            await user.should_not_see("Recent comparisons")
        async with viewed(lambda: saved_list(visit(service, "another"))) as user:
            await user.should_not_see("Close")
