"""`skillian demo`: a complete example that needs no key."""

import shlex
import shutil
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer

from skillian.cli.ask import answer_question
from skillian.cli.serve import serve_until_interrupted
from skillian.cli.shell import ExitCode, out, read_settings, run

DEMO_QUESTION = "Compare amounts between fi_reporting and bpc_reporting for company 1001"
SESSIONS = "sessions.db"


def demo(
    *,
    keep: Annotated[
        Path | None, typer.Option(help="Write the demo's files to this folder and keep them.")
    ] = None,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve the page on the demo until Ctrl-C.")
    ] = False,
    port: Annotated[
        int | None,
        typer.Option(help="The page's port; default SKILLIAN_PORT or 8000; 0 takes a free one."),
    ] = None,
) -> None:
    """Write a small ledger and its planning copy, and answer a question about them."""
    with _demo_folder(keep) as folder:
        sources = _write_demo(folder)
        questions = sources.with_name("questions.yaml")
        settings = read_settings(sources=sources, questions=questions, skills=())
        if serve:
            _serve(folder, sources, port)
        out.print("Question: ", style="bold", end="")
        out.print(DEMO_QUESTION, markup=False)
        answer = run(answer_question(DEMO_QUESTION, settings))
    address = f"http://127.0.0.1:{settings.port}/"
    hint = f"\nTo see it on the page: {_command()} demo --serve, then open {address}"
    out.print(hint, markup=False, soft_wrap=True)
    if keep is not None:
        out.print(
            f"\nTo continue: skillian ask --sources {shlex.quote(str(sources))} '...'", markup=False
        )
    raise typer.Exit(answer.code)


def _command() -> str:
    """The command to type in this shell."""
    return "skillian" if shutil.which("skillian") else sys.argv[0]


def _serve(folder: Path, sources: Path, port: int | None) -> NoReturn:
    """Serve the demo; its sessions are stored in the same folder."""
    url = f"sqlite:///{folder / SESSIONS}"
    questions = sources.with_name("questions.yaml")
    settings = read_settings(sources=sources, questions=questions, database_url=url, port=port)
    run(serve_until_interrupted(settings))
    raise typer.Exit(ExitCode.OK)


def _write_demo(folder: Path) -> Path:
    """Write the demo's files; existing files are never replaced."""
    from skillian.demo.ledger import QUESTIONS, write_demo

    names = ("sources.yaml", "ledger.duckdb", QUESTIONS, SESSIONS)
    existing = [name for name in names if (folder / name).exists()]
    if existing:
        raise typer.BadParameter(
            f"{folder} already holds {' and '.join(existing)}; name another folder",
            param_hint="--keep",
        )
    try:
        return write_demo(folder)
    except OSError as error:
        raise typer.BadParameter(
            f"{folder} cannot be written: {error.strerror}", param_hint="--keep"
        ) from None


@contextmanager
def _demo_folder(keep: Path | None) -> Generator[Path, None, None]:
    if keep is not None:
        yield keep
        return
    with tempfile.TemporaryDirectory(prefix="skillian-demo-") as folder:
        yield Path(folder)
