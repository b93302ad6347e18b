"""`tinyagent exec FILE`: run a script in the sandbox."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import tinyagent_commands
from tinyagent.cli.shell import ExitStatus, notes, printable
from tinyagent.core.errors import ArtifactError, CallerError, SandboxUnavailable
from tinyagent.execution.trust import ExecutionLimits, TrustLevel

if TYPE_CHECKING:
    from tinyagent.execution.definition import Sandbox
    from tinyagent.execution.protocol import ExecutionResult

_MAX_OUTPUT_BYTES = 1_000_000
_MAX_ARTIFACT_NAMES = 1_000
_WITHOUT = "A promise that may be missing (S1, see tinyagent doctor); repeatable."

Without = Annotated[list[str] | None, typer.Option(help=_WITHOUT)]
Packages = Annotated[
    list[str] | None,
    typer.Option("--package", help="A package for the code, such as polars>=2; repeatable."),
]
Lock = Annotated[
    Path | None,
    typer.Option(help="The file with the packages' versions and hashes; written if missing."),
]
Network = Annotated[
    list[str] | None,
    typer.Option("--network", help="A host that the code may reach (*.example.org); repeatable."),
]
Require = Annotated[
    list[str] | None, typer.Option(help="A promise that must be enforced; repeatable.")
]


class _Screen:
    """Shows what the script prints, as it is printed."""

    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._shown: list[str] = []

    def show(self, text: str) -> None:
        """Print a piece; a terminal does not get its control characters, a file does."""
        self._shown.append(text)
        sys.stdout.write(printable(text) if self._is_terminal else text)
        sys.stdout.flush()

    def finish(self, result: ExecutionResult) -> None:
        """Print the rest: remarks, the final answer, the error."""
        shown = "".join(self._shown)
        if result.output.startswith(shown):
            self.show(result.output[len(shown) :])
        else:
            notes.print(f"Output beyond {_MAX_OUTPUT_BYTES:,} bytes was left out.", style="yellow")
        if result.is_final:
            if shown and not shown.endswith("\n"):
                self.show("\n")
            self.show(f"{result.final_value}\n")
        if result.error is not None:
            notes.print(printable(result.error.rstrip()), style="red")
            if "is not allowed here" in result.error:
                notes.print("A module can be allowed: --allow MODULE", style="yellow")


def execute(  # noqa: PLR0913 - one for each option of the command
    script: Annotated[str, typer.Argument(metavar="FILE", help="A Python script; - reads stdin.")],
    *,
    trust: Annotated[
        TrustLevel, typer.Option(help="How far the script is trusted.")
    ] = TrustLevel.ISOLATED,
    engine: Annotated[str | None, typer.Option(help="What --trust sandboxed uses.")] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the script may run.")] = 30.0,
    memory: Annotated[
        int | None, typer.Option(help="MiB of memory that it may use; 1024 by default.")
    ] = None,
    allow: Annotated[
        list[str] | None, typer.Option(help="A module that it may import in addition; * for all.")
    ] = None,
    file: Annotated[
        list[Path] | None, typer.Option(help="Copied into its working folder; repeatable.")
    ] = None,
    artifacts: Annotated[
        Path | None, typer.Option(help="A folder to save the files that it makes in.")
    ] = None,
    without: Without = None,
    require: Require = None,
    package: Packages = None,
    lock: Lock = None,
    network: Network = None,
) -> None:
    """Run FILE in a sandbox. What it prints comes as it is printed; errors go to standard error.

    Exit codes: 0 success, 1 the script failed, 2 bad usage or no such sandbox here, 3 out of time
    or memory.
    """
    screen = _Screen()
    try:
        code = _read(script)
        lists = {"without": without, "require": require, "packages": package, "network": network}
        sandbox = replace(
            sandbox_of(trust, lists, lock=lock),
            limits=_limits(timeout, memory),
            imports=allow or (),
            files=file or (),
            checkpoints=0,
            engine=engine,
        )
        result = tinyagent_commands.run(_execute(code, sandbox, screen))
    except (CallerError, SandboxUnavailable) as error:
        notes.print(printable(f"error: {error}"), style="red")
        raise typer.Exit(ExitStatus.BAD_USAGE) from None
    except KeyboardInterrupt:
        notes.print("Interrupted; the script was ended.", style="yellow")
        raise typer.Exit(ExitStatus.INTERRUPTED) from None
    screen.finish(result)
    _deliver(result, artifacts)
    raise typer.Exit(_exit_code(result))


def sandbox_of(
    trust: TrustLevel,
    lists: Mapping[str, list[str] | None],
    *,
    lock: Path | None,
    workspace: Path | None = None,
) -> Sandbox:
    """The sandbox that the options of `exec` and `run --code` describe.

    Args:
        trust: Its level.
        lists: The options that may be repeated, by the names that `Sandbox` has for them.
        lock: The file with the versions of its packages.
        workspace: A folder that its code works on.

    Raises:
        ConfigurationError: An option is wrong, or two do not go together.
    """
    from tinyagent.execution.definition import Sandbox

    given: dict[str, Any] = {name: values or () for name, values in lists.items()}
    return Sandbox(trust, workspace=workspace, lock=lock, **given)


def _limits(timeout: float, memory: int | None) -> ExecutionLimits:
    limits = ExecutionLimits(timeout_seconds=timeout, max_output_bytes=_MAX_OUTPUT_BYTES)
    return limits if memory is None else replace(limits, max_memory_bytes=memory * 2**20)


async def _execute(code: str, sandbox: Sandbox, screen: _Screen) -> ExecutionResult:
    from tinyagent.cli.display import show_request
    from tinyagent.execution.sandbox.executor import get_executor

    async with get_executor(sandbox) as executor:
        return await executor.run(code, on_output=screen.show, on_request=show_request)


def _read(script: str) -> str:
    try:
        if script == "-":
            return sys.stdin.buffer.read().decode()
        return Path(script).read_text(encoding="utf-8")
    except OSError as error:
        raise typer.BadParameter(f"{script!r} cannot be read: {error.strerror}") from None
    except UnicodeDecodeError:
        raise typer.BadParameter(f"{script!r} cannot be read: it is not UTF-8 text") from None


def _deliver(result: ExecutionResult, folder: Path | None) -> None:
    """Save the files that the script made, or name them."""
    if not result.artifacts:
        return
    if folder is None:
        names = ", ".join(artifact.name for artifact in result.artifacts)[:_MAX_ARTIFACT_NAMES]
        notes.print(printable(f"Files not saved (see --artifacts): {names}"), style="dim")
        return
    try:
        for artifact in result.artifacts:
            path = artifact.save(folder)
            notes.print(printable(f"Saved {path} ({len(artifact.data):,} bytes)"), style="dim")
    except ArtifactError as error:
        notes.print(printable(f"error: --artifacts {str(folder)!r}: {error}"), style="red")
        raise typer.Exit(ExitStatus.FAILED) from None


def _exit_code(result: ExecutionResult) -> ExitStatus:
    if result.timed_out or result.out_of_memory:
        return ExitStatus.LIMIT_REACHED
    return ExitStatus.ANSWERED if result.error is None else ExitStatus.FAILED
