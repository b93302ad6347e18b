"""The commands that serve until they are interrupted: `skillian serve`, `worker` and `mcp`."""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterable
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillian.cli.shell import ExitCode, SourcesFile, notes, read_settings, require, run
from skillian.display import printable

if TYPE_CHECKING:
    from skillian.settings import Settings


def serve(
    sources: SourcesFile = None,
    host: Annotated[
        str | None, typer.Option(help="The address; default SKILLIAN_HOST or 127.0.0.1.")
    ] = None,
    port: Annotated[
        int | None,
        typer.Option(help="The port; default SKILLIAN_PORT or 8000; 0 takes a free one."),
    ] = None,
    *,
    log_requests: Annotated[
        bool, typer.Option("--log-requests", help="Log each request, not only warnings and errors.")
    ] = False,
) -> None:
    """Serve the page, the chat, sessions and comparisons over HTTP until Ctrl-C.

    Without SKILLIAN_API_KEYS the server answers only on this machine.
    """
    settings = read_settings(sources=sources, host=host, port=port)
    run(serve_until_interrupted(settings, log_requests=log_requests))
    raise typer.Exit(ExitCode.OK)


_NO_SOURCES = (
    "There is no sources.yaml here, so only uploaded files can be compared; write one with:"
    " skillian sources infer URL"
)


async def serve_until_interrupted(settings: Settings, *, log_requests: bool = False) -> None:
    """Serve, and print the address. Without the extra `web` there is no page.

    Args:
        settings: The settings.
        log_requests: Whether each request is logged, not only warnings and errors.

    Raises:
        SkillianError: The address is in use, or it is open to others and there are no keys.
        UnavailableError: The extra `service` is not installed.
    """
    require("fastapi", "service")
    require("sqlalchemy", "service")
    from skillian.api.auth import check_address
    from skillian.api.logs import log_as_json
    from skillian.api.server import Server, listen
    from skillian.app import create_app, open_service
    from tinyagent.core import how_to_install

    check_address(settings.host, has_keys=bool(settings.api_keys))
    has_page = find_spec("nicegui") is not None
    listening = listen(settings.host, settings.port)
    async with open_service(settings) as service:
        log_as_json(logging.INFO if log_requests else logging.WARNING)
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{listening.getsockname()[1]}"

        def started() -> None:
            notes.print(printable(f"skillian serves on {url} (Ctrl-C to stop)"), markup=False)
            if not settings.has_sources:
                notes.print(_NO_SOURCES, markup=False, soft_wrap=True)
            if has_page:
                notes.print(printable(f"The page: {url}/"), markup=False)
            else:
                text = f"There is no page, which needs the extra `web`; {how_to_install('web')}"
                notes.print(text, markup=False, soft_wrap=True)

        server = Server(create_app(settings, service=service, page=has_page), started)
        await server.serve(sockets=[listening])


def worker(sources: SourcesFile = None) -> None:
    """Work on the turns of all servers that share one DATABASE_URL, until Ctrl-C or SIGTERM.

    The servers run with SKILLIAN_DURABLE=true. You can start any number of workers, on any machine.
    """
    settings = read_settings(sources=sources)
    run(_work_until_interrupted(settings.model_copy(update={"durable": True})))


async def _work_until_interrupted(settings: Settings) -> None:
    """Work until a signal arrives, then finish the current calls and leave the rest to others.

    Raises:
        SkillianError: The sources, the skills or the database cannot be used.
        UnavailableError: An extra is not installed.
    """
    require("fastapi", "service")
    require("dbos", "durable")
    from skillian.api.logs import log_as_json
    from skillian.app import open_service

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for each in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(each, stop.set)
    async with open_service(settings):
        log_as_json()
        notes.print("skillian works on turns (Ctrl-C to stop)", markup=False)
        await stop.wait()


def mcp(sources: SourcesFile = None) -> None:
    """Serve the tools over standard input and output to an MCP client that starts this command."""
    settings = read_settings(sources=sources)
    run(_serve_tools(settings.sources, settings.skills))


async def _serve_tools(sources: Path, skills: Iterable[Path]) -> None:
    """Serve until the client disconnects.

    Raises:
        SkillianError: The sources or the skills cannot be used.
        UnavailableError: The extra `service` is not installed.
    """
    require("mcp", "service")
    from skillian.api.protocols.mcp import serve_stdio
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.services import DataServices
    from skillian.skills.discovery import load_registry

    async with (
        DataServices(SourceRegistry.load(sources)) as services,
        aclosing(load_registry(services, skills)) as registry,
    ):
        await serve_stdio(registry)
