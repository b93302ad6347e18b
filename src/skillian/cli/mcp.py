"""`skillian mcp`: the tools of the skills for the MCP client that starts this command."""

from collections.abc import Iterable
from contextlib import aclosing
from pathlib import Path

from skillian.cli.shell import SourcesFile, read_settings, require, run


def mcp(sources: SourcesFile = None) -> None:
    """Serve the tools over standard input and output, to an MCP client that starts this command."""
    settings = read_settings(sources=sources)
    run(serve(settings.sources, settings.skills))


async def serve(sources: Path, skills: Iterable[Path]) -> None:
    """Serve until the client leaves.

    Raises:
        SkillianError: the sources or the skills cannot be used.
        UnavailableError: the extra is not installed.
    """
    require("mcp", "service")
    from skillian.api.protocols.mcp import serve_stdio
    from skillian.chat.opening import load_skills
    from skillian.data.declare.sources import SourceRegistry
    from skillian.data.services import DataServices

    async with (
        DataServices(SourceRegistry.load(sources)) as services,
        aclosing(load_skills(services, skills)) as registry,
    ):
        await serve_stdio(registry)
