"""The page as part of the service: mounted under `/ui`, with a route for each view."""

from __future__ import annotations

import weakref
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

import nicegui
from fastapi import FastAPI, Request
from nicegui import Client, ui
from nicegui.server import Server
from starlette.exceptions import HTTPException
from starlette.responses import RedirectResponse, Response
from starlette.types import Receive, Scope, Send

from skillian.api.auth import ASSETS, PAGE, CookieOwner
from skillian.api.problems import ProblemError, install, problem_of
from skillian.api.service import Service
from skillian.chat.timeline import timeline_of
from skillian.settings import Settings
from skillian.storage import SessionNotFound
from skillian.web.chat.results import PLOTS, plot_response
from skillian.web.chat.runs import runs_view
from skillian.web.chat.sessions import SessionList
from skillian.web.chat.timeline import timeline_view
from skillian.web.chat.view import ChatView
from skillian.web.comparison.form.view import compare_form
from skillian.web.comparison.view import comparison_view
from skillian.web.saved.saving import ask_name, saved_list
from skillian.web.saved.view import SavedView
from skillian.web.shell.elements import Heading
from skillian.web.shell.frame import START, Visit, frame, visit_of
from skillian.web.shell.login import Login
from skillian.web.shell.policy import PagePolicy
from skillian.web.shell.settings import settings_view
from skillian.web.shell.sources import sources_view
from skillian.web.shell.theme import set_defaults
from skillian.web.start.view import start_view

BUILD_SECONDS = 30.0
MAX_TURN = 2**31 - 1


def mount(app: FastAPI, settings: Settings) -> CookieOwner:
    """Mount the page; only once in a process, because NiceGUI keeps its state in its modules.

    Args:
        app: The application; it has a `state.service` when it serves.
        settings: The settings of the service.

    Returns:
        A function that gives the digest of the key that a browser has signed in with.
    """
    login = Login(settings)
    reference = weakref.ref(app)

    def service() -> Service:
        app = reference()
        if app is None:
            raise AssertionError("the application serves this request")
        service: Service = app.state.service
        return service

    @app.get("/", include_in_schema=False)
    @app.get(PAGE, include_in_schema=False)
    async def root() -> RedirectResponse:
        return RedirectResponse(f"{PAGE}{START}")

    @app.exception_handler(404)
    async def elsewhere(request: Request, error: Exception) -> Response:
        is_person = "text/html" in request.headers.get("accept", "")
        if request.method != "GET" or not is_person:
            return problem_of(error).response(request.url.path)
        return _OnPage()

    set_defaults()
    install(nicegui.app)
    login.add_routes()
    _routes(service)
    _comparison_routes(service)
    _responses(service)
    config = nicegui.app.config
    config.socket_io_js_transports = ["websocket"]  # polling would bypass the limits on bodies
    nicegui.app.add_middleware(PagePolicy)
    # Quasar would show the progress of each request, without a name for screen readers.
    page_settings: Any = nicegui.app.config
    page_settings.quasar_config["loadingBar"]["skipHijack"] = True
    nicegui.app.on_shutdown(_clear)  # pyright: ignore[reportUnknownMemberType]
    nicegui.app.on_page_exception(_show_failure)  # pyright: ignore[reportUnknownMemberType]
    ui.run_with(  # pyright: ignore[reportUnknownMemberType] - `root` is a bare Callable
        app,
        title="skillian",
        mount_path=PAGE,
        language="en-US",
        dark=None,
        tailwind=False,  # the browser would compile it: half a second of each first paint
        show_welcome_message=False,
        reconnect_timeout=30,  # seconds; a page that comes back later is reloaded
        binding_refresh_interval=None,  # nothing is bound
    )
    return login.owner


class _OnPage(Response):
    """An answer by the page to a request for an address outside it, such as one mistyped."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = f"{PAGE}{scope['path']}"
        await nicegui.app({**scope, "root_path": PAGE, "path": path}, receive, send)


def _clear() -> None:
    """Delete the pages and the server, which NiceGUI would keep until the process ends."""
    for client in tuple(Client.instances.values()):
        client.delete()
    if hasattr(Server, "instance"):
        del Server.instance


def _show_failure() -> None:
    """Replace a view that cannot be built; NiceGUI's own page would show the exception."""
    with ui.element("div").classes("stack pad"):
        ui.label("This view failed. Reload it; if it fails again, the log of skillian says why.")
        ui.link("Back to the start", START)


def _routes(service: Callable[[], Service]) -> None:
    @ui.page("/", response_timeout=BUILD_SECONDS)
    async def new(request: Request) -> None:
        await _chat(visit_of(request, service()), None)

    @ui.page(START, response_timeout=BUILD_SECONDS)
    async def start(request: Request) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Start", active=START):
            await start_view(visit)
            await saved_list(visit)

    @ui.page("/chat/{session_id}", response_timeout=BUILD_SECONDS)
    async def chat(request: Request, session_id: str) -> None:
        await _chat(visit_of(request, service()), session_id)

    @ui.page("/sources", response_timeout=BUILD_SECONDS)
    async def sources(request: Request) -> None:
        with frame(visit_of(request, service()), "Sources", active="/sources"):
            await sources_view(service())

    @ui.page("/settings", response_timeout=BUILD_SECONDS)
    async def settings(request: Request) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Settings", active="/settings") as page:
            settings_view(visit, page.theme)

    @ui.page("/runs", response_timeout=BUILD_SECONDS)
    async def runs(request: Request) -> None:
        await _framed(visit_of(request, service()), "Runs", "/runs", runs_view)

    @ui.page("/runs/{session_id}/{turn:int}", response_timeout=BUILD_SECONDS)
    async def timeline(request: Request, session_id: str, turn: int) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Timeline", active="/runs"):
            await _timeline(visit, session_id, turn)


def _comparison_routes(service: Callable[[], Service]) -> None:
    @ui.page("/compare", response_timeout=BUILD_SECONDS)
    async def compare(request: Request) -> None:
        await _framed(visit_of(request, service()), "Compare", "/compare", compare_form)

    @ui.page("/compare/{comparison_id}", response_timeout=BUILD_SECONDS)
    async def comparison(request: Request, comparison_id: str) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Comparison", active="/compare"):
            save = partial(ask_name, visit, comparison_id)
            await comparison_view(visit.service, comparison_id, owner=visit.owner, on_save=save)

    @ui.page("/saved/{saved_id}", response_timeout=BUILD_SECONDS)
    async def saved(request: Request, saved_id: str) -> None:
        visit = visit_of(request, service())
        with frame(visit, "Saved comparison", active="/compare"):
            try:
                await SavedView(visit, saved_id).build()
            except ProblemError:
                _not_found("saved comparison")


def _responses(service: Callable[[], Service]) -> None:
    """Add responses that are not views: plots, and the answer to an unknown path."""

    @nicegui.app.get(f"{PLOTS}/{{name}}", include_in_schema=False)
    async def plot(name: str) -> Response:
        return plot_response(service(), name)

    @nicegui.app.exception_handler(404)
    async def missing(request: Request, error: Exception) -> Response:
        if isinstance(error, ProblemError):
            return error.response(request.scope["path"])
        if request.scope["path"].removeprefix(PAGE).startswith(ASSETS):
            return problem_of(HTTPException(404)).response(PAGE)  # served without a key: no owner
        visit = visit_of(request, service())
        with Client(ui.page(""), request=request) as client:
            with frame(visit, "Not found"):
                _not_found("page")
            return client.build_response(request, 404)


async def _framed(
    visit: Visit, title: str, active: str, view: Callable[[Visit], Awaitable[None]]
) -> None:
    with frame(visit, title, active=active):
        await view(visit)


async def _timeline(visit: Visit, session_id: str, turn: int) -> None:
    store = visit.service.store
    try:
        await store.get(visit.owner, session_id)
    except SessionNotFound:
        _not_found("session")
        return
    events = await store.events_of(session_id, min(turn, MAX_TURN))
    if events:
        timeline_view(session_id, timeline_of(events, visit.service.agent.model_name))
    else:
        _not_found("turn")


def _not_found(what: str) -> None:
    with ui.element("div").classes("stack"):
        Heading("Not found", 1)
        label = ui.label(f"This {what} does not exist, or no longer exists.")
        label.classes("fault").props("role=alert")
        with ui.element("div").classes("line"):
            ui.link("Start", START)
            ui.link("New chat", "/")


async def _chat(visit: Visit, session_id: str | None) -> None:
    sessions = SessionList(visit, session_id)
    with frame(visit, "Chat", active="/", layout="chat-view", has_drawer=True) as page:
        try:
            await ChatView(visit, session_id, sessions).build()
        except SessionNotFound:
            _not_found("session")
    with page.drawer:
        await sessions.build()
