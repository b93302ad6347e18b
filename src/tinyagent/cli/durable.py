"""What the commands for durable runs share: the extra, the database, errors on one line."""

from __future__ import annotations

from collections.abc import Coroutine
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer

import tinyagent_commands
from tinyagent.cli.shell import ExitStatus, notes, printable
from tinyagent.core.errors import CallerError, ConfigurationError, missing_extra

if TYPE_CHECKING:
    from tinyagent.durable import DurableRuns

DEFAULT_DATABASE = "sqlite:///tinyagent-runs.sqlite"

Database = Annotated[
    str,
    typer.Option(
        "--database", envvar="TINYAGENT_DATABASE", help="URL of a SQLite file or of PostgreSQL."
    ),
]

T = TypeVar("T")


def complete(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end; an error that the user can fix is one line."""
    try:
        return tinyagent_commands.run(work)
    except CallerError as error:
        notes.print(printable(f"error: {error}"), style="red")
        raise typer.Exit(ExitStatus.BAD_USAGE) from None
    except KeyboardInterrupt:
        raise typer.Exit(ExitStatus.INTERRUPTED) from None


def opened(database: str, *, create: bool = False) -> DurableRuns:
    """The runs of a database, to read and to answer.

    Args:
        database: Its URL.
        create: Whether to create a SQLite file that does not exist.

    Raises:
        ConfigurationError: The extra is not installed, or there is no such file.
    """
    require()
    from tinyagent.durable import DurableRuns

    scheme, _, path = database.partition(":///")
    if scheme.startswith("sqlite") and not create and not Path(path).exists():
        raise ConfigurationError(
            f"the file {path!r} does not exist; name the database with --database"
        )
    return DurableRuns(database)


def require() -> None:
    """Check that the extra is installed.

    Raises:
        ConfigurationError: It is not.
    """
    if find_spec("dbos") is None:
        raise ConfigurationError(missing_extra("a durable run", "durable"))
