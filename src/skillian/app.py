"""The service as an ASGI application: wiring, startup and shutdown."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import aclosing, asynccontextmanager, nullcontext
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI

from skillian.api import (
    ag_ui,
    openai_compat,
    routes_about,
    routes_chat,
    routes_compare,
    routes_downloads,
    routes_runs,
    routes_sessions,
)
from skillian.api.auth import CookieOwner, Gate
from skillian.api.comparisons import Comparisons
from skillian.api.durable_comparisons import DurableComparisons
from skillian.api.durable_runs import Durable
from skillian.api.limits import Bounded
from skillian.api.logs import Requests
from skillian.api.mcp_http import add_mcp, open_mcp
from skillian.api.openapi import document
from skillian.api.problems import install
from skillian.api.runs import Runs, Slots
from skillian.api.service import Service
from skillian.chat.agent import Agent
from skillian.chat.approvals import Approvals
from skillian.chat.durable_turns import DurableTurns
from skillian.chat.durable_work import DurableWork
from skillian.chat.grounding_check import check_answer
from skillian.chat.opening import load_skills, read_vocabulary
from skillian.chat.turns import TurnRunner
from skillian.data.declare.sources import SourceRegistry
from skillian.data.services import DataServices
from skillian.errors import SkillianError
from skillian.models import make_model
from skillian.offline.vocabulary import Vocabulary
from skillian.settings import Settings
from skillian.storage import open_store
from tinyagent import Model

REFRESH_SECONDS = 300.0
PURGE_SECONDS = 3600.0

logger = logging.getLogger("skillian")

MakeModel = Callable[[Vocabulary], Model]
ROUTERS: tuple[APIRouter, ...] = (
    routes_chat.router,
    routes_sessions.router,
    routes_compare.router,
    routes_downloads.router,
    routes_runs.router,
    routes_about.router,
    openai_compat.router,
    ag_ui.router,
)


def create_app(
    settings: Settings | None = None,
    *,
    model: MakeModel | None = None,
    service: Service | None = None,
    page: bool = False,
) -> FastAPI:
    """Make the application, which opens its sources and its session store when it starts.

    Args:
        settings: The settings; default from the environment.
        model: Makes the model, in place of the setting.
        service: An open service; without one the application opens and closes its own.
        page: Whether to serve the page under `/ui` too; only once in a process.
    """
    chosen = settings or Settings()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncGenerator[None, None]:
        opening = nullcontext(service) if service is not None else open_service(chosen, model)
        async with opening as opened, open_mcp(app, opened.skills, opened.slots):
            app.state.service = opened
            yield

    app = FastAPI(
        title="skillian",
        version=version("tinyagent-skillian"),
        description="Compares two systems that should agree, and explains the gap.",
        lifespan=lifespan,
        docs_url=None,  # its page would load scripts from another host
        redoc_url=None,
        redirect_slashes=False,
        # It would send requests and errors to any configured exporter.
        telemetry={"tracing": False, "metrics": False, "logs": False},
    )
    install(app)
    for router in ROUTERS:
        app.include_router(router)
    add_mcp(app)
    cookie_owner: CookieOwner | None = None
    if page:
        from skillian.web.page import mount  # noqa: PLC0415 - an extra, and a second of imports

        cookie_owner = mount(app, chosen)
    app.openapi = document(app, has_keys=bool(chosen.api_keys))  # type: ignore[method-assign]
    # The middleware added last gets a request first.
    app.add_middleware(Bounded, max_body=chosen.max_body_bytes)
    app.add_middleware(Gate, settings=chosen, cookie_owner=cookie_owner)
    app.add_middleware(Requests)
    return app


@asynccontextmanager
async def open_service(
    settings: Settings, model: MakeModel | None = None
) -> AsyncGenerator[Service, None]:
    """Open everything that the routes need. On closing, turns are cancelled and stored as such.

    Raises:
        ConfigurationError: The sources file or a skill has faults.
        StorageError: The session store cannot be opened.
        ToolError: A source does not answer.
        tinyagent.ConfigurationError: The key of the model is missing.
    """
    registry = SourceRegistry.load(settings.sources)
    approvals = Approvals()
    async with (
        open_store(settings.database_url.get_secret_value()) as store,
        DataServices(registry) as data,
        aclosing(load_skills(data, settings.skills)) as skills,
    ):

        async def make_agent() -> Agent:
            vocabulary = await read_vocabulary(data, skills)
            made = make_model(settings.model, vocabulary) if model is None else model(vocabulary)
            return Agent(made, skills, vocabulary, approvals)

        slots = Slots(settings.max_turns)
        runner = TurnRunner(
            lambda: service.agent,
            store,
            approvals=approvals,
            check=check_answer,
            turn_seconds=settings.turn_seconds,
        )
        compared = Comparisons(data, store)
        turns: TurnRunner | DurableTurns = runner
        work = durable = None
        if settings.durable:
            work = DurableWork(settings.database_url.get_secret_value())
            turns = DurableTurns(work, runner, store, settings.max_turns)
            durable = Durable(work, DurableComparisons(work, compared), store)
        service = Service(
            settings=settings,
            data=data,
            skills=skills,
            store=store,
            agent=await make_agent(),
            slots=slots,
            runs=Runs(turns, slots, approvals),
            comparisons=compared,
            durable=durable,
        )
        # Work that others have left may begin at once: the service is whole by now.
        async with work or nullcontext(), aclosing(service.runs), _kept_up(service, make_agent):
            yield service


@asynccontextmanager
async def _kept_up(
    service: Service, make_agent: Callable[[], Coroutine[Any, Any, Agent]]
) -> AsyncGenerator[None, None]:
    """During the block, refresh the vocabulary and delete expired data at intervals."""

    async def refresh() -> None:
        service.agent = await make_agent()

    async def purge() -> None:
        await service.store.comparisons.purge()
        if service.settings.retention_days is not None:
            await service.store.purge(timedelta(days=service.settings.retention_days))

    tasks = [
        asyncio.create_task(_again(refresh, REFRESH_SECONDS)),
        asyncio.create_task(_again(purge, PURGE_SECONDS)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _again(work: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except SkillianError as error:
            logger.warning("maintenance failed: %s", error)
