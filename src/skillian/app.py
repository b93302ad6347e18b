"""The service as an ASGI application: wiring, start and end."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Coroutine
from contextlib import AbstractAsyncContextManager, aclosing, asynccontextmanager, nullcontext
from datetime import timedelta
from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, FastAPI

from skillian.api.auth import PAGE, Access, CookieOwner
from skillian.api.comparisons import Comparisons
from skillian.api.jobs import ComparisonJobs
from skillian.api.limits import Bounded, Slots
from skillian.api.logs import Requests
from skillian.api.openapi import document
from skillian.api.problems import install
from skillian.api.protocols import ag_ui, openai
from skillian.api.protocols.mcp_http import add_mcp, open_mcp
from skillian.api.routes import about, chat, comparisons, runs, saved, sessions, uploads, why
from skillian.api.runs import Runs
from skillian.api.saved import SavedComparisons
from skillian.api.service import OpenTurns, Service
from skillian.chat.agent import Agent, Approvals
from skillian.chat.answer_check import check_answer
from skillian.chat.durable_turns import DurableTurns
from skillian.chat.opening import read_vocabulary
from skillian.chat.reading.briefing import read_briefing
from skillian.chat.turns import LocalTurns, Turns, TurnWork
from skillian.data.declare.sources import SourceRegistry, registry_of
from skillian.data.services import DataServices
from skillian.errors import SkillianError
from skillian.evaluation.marking import open_verified, read_examples
from skillian.local_models import chosen_model
from skillian.models import context_of, make_model
from skillian.offline.language.vocabulary import Vocabulary
from skillian.settings import Settings
from skillian.skills.discovery import load_registry
from skillian.storage import SessionStore, open_store
from skillian.uploads.store import UploadStore
from tinyagent import Model

REFRESH_SECONDS = 300.0
PURGE_SECONDS = 3600.0

logger = logging.getLogger("skillian")

MakeModel = Callable[[Vocabulary], Model]
ROUTERS: tuple[APIRouter, ...] = (
    chat.router,
    sessions.router,
    comparisons.router,
    why.router,
    runs.router,
    saved.router,
    uploads.router,
    about.router,
    openai.router,
    ag_ui.router,
)


def create_app(
    settings: Settings | None = None,
    *,
    model: MakeModel | None = None,
    service: Service | None = None,
    page: bool = False,
) -> FastAPI:
    """The service; it opens its sources and its session store when it starts.

    Args:
        settings: By default, those of the environment.
        model: Makes the model, in place of the setting.
        service: An open one; by default it is opened and closed with the application.
        page: Whether to serve the page under `/ui` as well; once in a process.
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
        # It would pass the contents of requests and errors to any exporter.
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
    else:
        for path in ("/", PAGE):
            app.get(path, include_in_schema=False)(about.without_page)
    app.openapi = document(app, has_keys=bool(chosen.api_keys))  # type: ignore[method-assign]
    # A request passes the middleware that is added last first.
    app.add_middleware(Bounded, max_body=chosen.max_body_bytes)
    app.add_middleware(Access, settings=chosen, cookie_owner=cookie_owner)
    app.add_middleware(Requests)
    return app


@asynccontextmanager
async def open_service(
    settings: Settings, model: MakeModel | None = None
) -> AsyncGenerator[Service, None]:
    """The parts that the routes need; closing it cancels its turns and stores that they ended.

    Raises:
        ConfigurationError: The file of the sources or of a skill has faults; it lists them all.
        StorageError: The session store cannot be opened.
        ToolError: A source does not answer.
        tinyagent.ConfigurationError: The model's key is missing.
    """
    registry = _registry(settings)
    approvals, examples = Approvals(), read_examples(settings.questions)
    async with (
        open_store(settings.database_url.get_secret_value()) as store,
        DataServices(registry) as data,
        aclosing(load_registry(data, settings.skills)) as skills,
    ):

        async def make_agent() -> Agent:
            vocabulary = await read_vocabulary(data, skills)
            briefing = await read_briefing(data, examples)
            name = None if model is not None else await chosen_model(settings.model)
            made = make_model(name, vocabulary) if model is None else model(vocabulary)
            tokens = context_of(name, settings.context_tokens)
            return Agent(
                made, skills, vocabulary, approvals, briefing=briefing, context_tokens=tokens
            )

        slots = Slots(settings.max_turns)
        work = _turn_work(settings, await make_agent(), store, approvals)
        turns: Turns = LocalTurns(work, slots.taken)
        working: AbstractAsyncContextManager[object] = nullcontext()
        if settings.durable:
            url = settings.database_url.get_secret_value()
            turns = working = DurableTurns(work, url, settings.max_turns)
        files = UploadStore(settings.uploads, settings.max_upload_bytes)
        await files.purge(None)  # what a server that was killed has left
        compared = Comparisons(data, store, files)
        jobs = ComparisonJobs(compared, store.jobs)
        runs_of_owners = Runs(jobs, turns)
        service = Service(
            settings=settings,
            data=data,
            skills=skills,
            store=store,
            work=work,
            slots=slots,
            turns=OpenTurns(turns),
            comparisons=compared,
            runs=runs_of_owners,
            uploads=files,
            saved=SavedComparisons(compared, runs_of_owners, store),
        )
        # Turns of other processes may begin immediately, so the service must be complete.
        upkeep = _maintained(service, make_agent)
        async with working, aclosing(jobs), aclosing(service.turns), upkeep:
            yield service


def _turn_work(
    settings: Settings, agent: Agent, store: SessionStore, approvals: Approvals
) -> TurnWork:
    verified = open_verified(settings.questions, settings.sources, agent.skills)
    return TurnWork(
        agent,
        store,
        approvals=approvals,
        check=check_answer,
        verify=None if verified is None else verified.agrees_event,
        turn_seconds=settings.turn_seconds,
    )


def _registry(settings: Settings) -> SourceRegistry:
    """The declared sources; none if nobody names a file of them, and the default one is missing."""
    if settings.has_sources:
        return SourceRegistry.load(settings.sources)
    return registry_of({}, {}, settings.sources.absolute().parent)


@asynccontextmanager
async def _maintained(
    service: Service,
    make_agent: Callable[[], Coroutine[Any, Any, Agent]],
) -> AsyncGenerator[None, None]:
    """During the block, read the values of the sources again and delete what has expired."""

    async def refresh() -> None:
        service.work.agent = await make_agent()

    async def purge() -> None:
        await service.store.comparisons.purge()
        days = service.settings.retention_days
        unused = None if days is None else timedelta(days=days)
        await service.uploads.purge(unused)
        await service.runs.purge(unused)
        await service.saved.purge()
        if unused is not None:
            await service.store.purge(unused)

    tasks = [
        asyncio.create_task(_repeat(refresh, REFRESH_SECONDS)),
        asyncio.create_task(_repeat(purge, PURGE_SECONDS)),
    ]
    try:
        yield
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)


async def _repeat(work: Callable[[], Coroutine[Any, Any, None]], seconds: float) -> None:
    while True:
        await asyncio.sleep(seconds)
        try:
            await work()
        except SkillianError as error:
            logger.warning("maintenance failed: %s", error)
