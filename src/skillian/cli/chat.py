"""`skillian chat`: a conversation in the terminal, kept in the session store."""

import asyncio
from typing import Annotated

import typer

from skillian.cli.shell import ExitCode, SourcesFile, explained, read_settings, require


def chat(
    session: Annotated[str | None, typer.Option(help="Go on with this session, by its id.")] = None,
    sources: SourcesFile = None,
) -> None:
    """Talk about the configured sources. The conversation is kept, and goes on with --session.

    Ctrl-C cancels an answer, and leaves when pressed twice, as Ctrl-D does.
    """
    settings = read_settings(sources=sources)
    with explained(), asyncio.Runner() as runner:
        require("sqlalchemy", "service")
        from skillian.cli.talk import open_talk

        try:
            talk = runner.run(open_talk(settings, session))
        except KeyboardInterrupt:
            raise typer.Exit(ExitCode.INTERRUPTED) from None
        try:
            code = talk.go_on(runner)
        finally:
            runner.run(talk.opened.aclose())
    raise typer.Exit(code)
