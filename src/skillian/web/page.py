"""The page as a part of the service: mounted under `/ui`, one route a view."""

from __future__ import annotations

import weakref
from collections.abc import Callable

import nicegui
from fastapi import FastAPI, Request
from nicegui import Client, ui
from nicegui.server import Server
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response

from skillian.api.auth import ASSETS, PAGE, CookieOwner
from skillian.api.problems import ProblemError, install, problem_of
from skillian.api.service import Service
from skillian.chat.timeline import timeline_of
from skillian.settings import Settings
from skillian.storage import SessionNotFound
from skillian.web.chat import Chat
from skillian.web.code_card import PLOTS, plot_response
from skillian.web.compare_form import compare_form
from skillian.web.comparison import comparison_view
from skillian.web.frame import Visit, frame, visit_of
from skillian.web.headers import PagePolicy
from skillian.web.login import Login
from skillian.web.runs import runs_view
from skillian.web.sessions import Sessions
from skillian.web.settings import settings_view
from skillian.web.sources import sources_view
from skillian.web.timeline import timeline_view

BUILD_SECONDS = 30.0
MAX_TURN = 2**31 - 1


def mount(app: FastAPI, settings: Settings) -> CookieOwner:
    """Mount the page; once in a process, in which NiceGUI keeps its state.

    Args:
        app: is to have a `state.service`.
        settings: those of the service.

    Returns:
        What tells whose key a browser has signed in with.
    """
    login = Login(settings)

    held = weakref.ref(app)

    def service() -> Service:
        app = held()
        if app is None:
            raise AssertionError("who serves a page is there")
        found: Service = app.state.service
        return found

    @app.get("/", include_in_schema=False)
    @app.get(PAGE, include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse(f"{PAGE}/")

    install(nicegui.app)
    login.add_routes()
    _routes(service)
    _answers(service)
    config = nicegui.app.config
    config.socket_io_js_transports = ["websocket"]  # polling would go round the limits of bodies
    nicegui.app.add_middleware(PagePolicy)
    nicegui.app.on_shutdown(_forget)  # pyright: ignore[reportUnknownMemberType]
    nicegui.app.on_page_exception(_show_fault)  # pyright: ignore[reportUnknownMemberType]
    ui.run_with(  # pyright: ignore[reportUnknownMemberType] - of `root`, a bare Callable
        app,
        title="skillian",
        mount_path=PAGE,
        language="en-US",
        dark=None,
        tailwind=False,  # compiled in the browser: half a second of each first paint
        show_welcome_message=False,
        reconnect_timeout=10,
        binding_refresh_interval=None,  # nothing is bound to what changes by itself
    )
    return login.owner


def _forget() -> None:
    """NiceGUI would keep pages and server, and all they know, until its modules are taken down."""
    for client in tuple(Client.instances.values()):
        client.delete()
    if hasattr(Server, "instance"):
        del Server.instance


def _show_fault() -> None:
    """A view that cannot be built; NiceGUI's own page would show the exception's text."""
    with ui.element("div").classes("stack pad"):
        ui.label("This view failed; the reason is in the log of skillian.")
        ui.link("Back to the chat", "/")


def _routes(service: Callable[[], Service]) -> None:
    @ui.page("/", response_timeout=BUILD_SECONDS)
    async def new(request: Request) -> None:
        await _chat(visit_of(request, service()), None)

    @ui.page("/chat/{session_id}", response_timeout=BUILD_SECONDS)
    async def chat(request: Request, session_id: str) -> None:
        await _chat(visit_of(request, service()), session_id)

    @ui.page("/compare", response_timeout=BUILD_SECONDS)
    async def compare(request: Request) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Compare", active="/compare"):
            await compare_form(visit)

    @ui.page("/compare/{comparison_id}", response_timeout=BUILD_SECONDS)
    async def comparison(request: Request, comparison_id: str) -> None:
        with frame(visit_of(request, service()), "Comparison", active="/compare"):
            await comparison_view(service(), comparison_id)

    @ui.page("/sources", response_timeout=BUILD_SECONDS)
    async def sources(request: Request) -> None:
        with frame(visit_of(request, service()), "Sources", active="/sources"):
            await sources_view(service())

    @ui.page("/settings", response_timeout=BUILD_SECONDS)
    async def settings(request: Request) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Settings", active="/settings", width="narrow") as framed:
            settings_view(visit, framed.theme)

    @ui.page("/runs", response_timeout=BUILD_SECONDS)
    async def runs(request: Request) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Runs", active="/runs"):
            await runs_view(visit)

    @ui.page("/runs/{session_id}/{turn:int}", response_timeout=BUILD_SECONDS)
    async def run(request: Request, session_id: str, turn: int) -> None:
        with frame(visit_of(request, service()), "Run", width="narrow"):
            await _run(visit_of(request, service()), session_id, turn)


def _answers(service: Callable[[], Service]) -> None:
    """What is no view: pictures, and what to say where there is nothing."""

    @nicegui.app.get(f"{PLOTS}/{{name}}", include_in_schema=False)
    async def plot(name: str) -> Response:
        return plot_response(service(), name)

    @nicegui.app.exception_handler(404)
    async def missing(request: Request, error: Exception) -> Response:
        if isinstance(error, ProblemError):
            return error.response()
        if request.scope["path"].removeprefix(PAGE).startswith(ASSETS):
            return problem_of(HTTPException(404)).response()  # nobody has been asked for a key
        visit = visit_of(request, service())
        with Client(ui.page(""), request=request) as client:
            with frame(visit, "Not there", width="narrow"):
                _not_there("page")
            return client.build_response(request, 404)


async def _run(visit: Visit, session_id: str, turn: int) -> None:
    store = visit.service.store
    try:
        await store.get(visit.owner, session_id)
    except SessionNotFound:
        _not_there("session")
        return
    events = await store.events_of(session_id, min(turn, MAX_TURN))
    if events:
        timeline_view(session_id, timeline_of(events, visit.service.agent.model_name))
    else:
        _not_there("run")


def _not_there(what: str) -> None:
    ui.label(f"There is no such {what} (any more).").classes("fault").props("role=alert")
    ui.link("Begin a new chat", "/")


async def _chat(visit: Visit, session_id: str | None) -> None:
    sessions = Sessions(visit, session_id)
    with frame(visit, "Chat", active="/", width="chat-view", has_drawer=True) as framed:
        try:
            await Chat(visit, session_id, sessions).build()
        except SessionNotFound:
            _not_there("session")
    with framed.drawer:
        await sessions.build()
