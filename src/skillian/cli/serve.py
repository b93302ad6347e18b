"""`skillian serve`: the service over HTTP."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Annotated

import typer

from skillian.cli.shell import ExitCode, SourcesFile, notes, read_settings, require, run
from skillian.display import printable

if TYPE_CHECKING:
    from skillian.settings import Settings


def serve(
    sources: SourcesFile = None,
    host: Annotated[str | None, typer.Option(help="Default SKILLIAN_HOST or 127.0.0.1.")] = None,
    port: Annotated[
        int | None, typer.Option(help="Default SKILLIAN_PORT or 8000; 0 takes a free one.")
    ] = None,
) -> None:
    """Serve the page, chat, sessions and comparisons over HTTP until Ctrl-C.

    Without SKILLIAN_API_KEYS only this machine is served.
    """
    settings = read_settings(sources=sources, host=host, port=port)
    run(serve_until_interrupted(settings))
    raise typer.Exit(ExitCode.OK)


async def serve_until_interrupted(settings: Settings) -> None:
    """Serve, and tell where; without the extra `web` there is no page.

    Raises:
        SkillianError: the address is taken, or is open to others without keys.
        UnavailableError: the extra `service` is not installed.
    """
    require("fastapi", "service")
    require("sqlalchemy", "service")
    from skillian.api.auth import check_address
    from skillian.api.logs import log_as_json
    from skillian.api.server import Server, listen
    from skillian.app import create_app, open_service

    check_address(settings.host, has_keys=bool(settings.api_keys))
    has_page = find_spec("nicegui") is not None
    listening = listen(settings.host, settings.port)
    async with open_service(settings) as service:
        log_as_json()
        host = f"[{settings.host}]" if ":" in settings.host else settings.host
        url = f"http://{host}:{listening.getsockname()[1]}"

        def started() -> None:
            notes.print(printable(f"skillian serves on {url} (Ctrl-C ends it)"), markup=False)
            if has_page:
                notes.print(printable(f"The page: {url}/"), markup=False)

        server = Server(create_app(settings, service=service, page=has_page), started)
        await server.serve(sockets=[listening])
