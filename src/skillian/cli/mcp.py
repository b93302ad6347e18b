"""`skillian mcp`: the tools of the skills for the MCP client that starts this command."""

from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

from skillian.api.mcp import serve_stdio
from skillian.chat.opening import load_skills
from skillian.cli.shell import SourcesFile, run
from skillian.data.services import DataServices
from skillian.data.sources import SourceRegistry
from skillian.settings import Settings


def mcp(sources: SourcesFile = None) -> None:
    """Serve the tools over standard input and output, to an MCP client that starts this command."""
    settings = Settings()
    run(serve(sources or settings.sources, settings.skills))


async def serve(sources: Path, skills: Iterable[Path]) -> None:
    """Serve until the client leaves."""
    async with (
        DataServices(SourceRegistry.load(sources)) as services,
        aclosing(load_skills(services, skills)) as registry,
    ):
        await serve_stdio(registry)
