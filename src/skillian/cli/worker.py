"""`skillian worker`: works on the turns of servers, without serving HTTP."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

from skillian.cli.shell import SourcesFile, notes, read_settings, require, run

if TYPE_CHECKING:
    from skillian.settings import Settings

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


def worker(sources: SourcesFile = None) -> None:
    """Work on turns of all servers at one DATABASE_URL, until Ctrl-C or SIGTERM.

    The servers run with SKILLIAN_DURABLE=true. There may be any number of workers, on any machine.
    """
    settings = read_settings(sources=sources)
    run(work_until_interrupted(settings.model_copy(update={"durable": True})))


async def work_until_interrupted(settings: Settings) -> None:
    """Work until a signal; then finish the calls under way, and leave the rest to others.

    Raises:
        SkillianError: the sources, the skills or the database cannot be used.
        UnavailableError: an extra is not installed.
    """
    require("fastapi", "service")
    require("dbos", "durable")
    from skillian.api.logs import log_as_json
    from skillian.app import open_service

    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    for each in _SIGNALS:
        loop.add_signal_handler(each, stop.set)
    async with open_service(settings):
        log_as_json()
        notes.print("skillian works on turns (Ctrl-C ends it)", markup=False)
        await stop.wait()
