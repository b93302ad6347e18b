from __future__ import annotations

from collections.abc import AsyncIterator
from datetime import timedelta
from pathlib import Path

import pytest
from tests.skillian.api.models import HeldModel
from tests.support.uploads import LEDGER, PLAN
from tests.support.waits import soon

from skillian import app
from skillian.app import create_app, open_service
from skillian.data.declare.saved import SavedComparison
from skillian.demo.ledger import write_demo
from skillian.errors import ConfigurationError
from skillian.settings import Settings
from skillian.storage import SessionNotFound, StoreUrlError, open_store
from tinyagent import ScriptedModel


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        sources=write_demo(tmp_path),
        database_url=f"sqlite:///{tmp_path / 's.db'}",  # type: ignore[arg-type]  # is taken too
        retention_days=1,
    )


async def test_what_cannot_be_opened_is_raised(settings: Settings, tmp_path: Path) -> None:
    nowhere = settings.model_copy(update={"sources": tmp_path / "nowhere.yaml"})
    with pytest.raises(ConfigurationError, match=r"nowhere\.yaml"):
        async with open_service(nowhere):
            pass
    wrong = Settings(database_url="mysql://x")  # type: ignore[arg-type]  # as above
    with pytest.raises(StoreUrlError):
        async with open_service(wrong.model_copy(update={"sources": settings.sources})):
            pass


async def test_files_are_compared_where_nothing_is_declared(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def content(text: str) -> AsyncIterator[bytes]:
        yield text.encode()

    monkeypatch.chdir(tmp_path)
    async with open_service(Settings(database_url="sqlite:///s.db")) as service:  # type: ignore[arg-type]  # as above
        assert service.data.registry.names == ()
        a, b = [
            f"upload:{(await service.uploads.receive('', 'a.csv', content(text), None)).id}"
            for text in (LEDGER, PLAN)
        ]
        result = await service.comparisons.compare(SavedComparison(name="x", a=a, b=b), "")
    assert result["rows"]["differing"] == 1


async def test_the_lifespan_opens_and_closes_the_service(settings: Settings) -> None:
    model = ScriptedModel(["Hi."], name="mine")
    application = create_app(settings, model=lambda _: model)
    async with application.router.lifespan_context(application):
        assert application.state.service.agent.model_name == "mine"


async def test_old_sessions_go_and_values_are_read_again(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    purged: list[timedelta] = []
    url = settings.database_url.get_secret_value()
    async with open_store(url) as store:
        session = (await store.create("")).id
    monkeypatch.setattr(app, "REFRESH_SECONDS", 0.01)
    monkeypatch.setattr(app, "PURGE_SECONDS", 0.01)
    async with open_service(settings) as service:
        before = service.agent
        purge = service.store.purge

        async def at_once(older_than: timedelta) -> int:
            purged.append(older_than)
            return await purge(timedelta(0))

        monkeypatch.setattr(service.store, "purge", at_once)
        await soon(lambda: service.agent is not before and purged)
        await soon(lambda: len(purged) > 1)
        with pytest.raises(SessionNotFound):
            await service.store.get("", session)
    assert set(purged) == {timedelta(days=1)}


async def test_turns_under_way_are_written_down_at_the_end(settings: Settings) -> None:
    async with open_service(settings, lambda _: HeldModel()) as service:
        session = (await service.store.create("")).id
        run = service.turns.start(session, "", "Hi")
        assert await run.first()
    async with open_store(settings.database_url.get_secret_value()) as store:
        assert [event.type for event in await store.events(session)][-2:] == [
            "turn_failed",
            "turn_ended",
        ]
