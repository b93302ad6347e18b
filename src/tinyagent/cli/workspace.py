"""`--workspace FOLDER`: the changes are shown, and committed if the person agrees."""

from __future__ import annotations

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from tinyagent.cli.shell import notes, printable
from tinyagent.core.errors import CallerError, WorkspaceConflict
from tinyagent.core.events import CodeFinished
from tinyagent.core.threads import run_in_thread

if TYPE_CHECKING:
    from tinyagent.core.events import Event
    from tinyagent.core.execution import Change
    from tinyagent.execution.definition import Sandbox


class WorkspaceReview:
    """The workspace of one run.

    Args:
        sandbox: Of its code, with a workspace.

    Raises:
        ConfigurationError: The folder does not exist.
    """

    def __init__(self, sandbox: Sandbox) -> None:
        from tinyagent.execution.sandbox.executor import ProcessExecutor

        self.executor = ProcessExecutor(replace(sandbox, checkpoints=1))
        self._folder = sandbox.workspace
        self.changes: tuple[Change, ...] = ()

    def note(self, event: Event) -> None:
        """Note what a block of code has changed."""
        if isinstance(event, CodeFinished):
            self.changes = event.result.changes

    async def finish(self, *, ask: bool) -> bool:
        """Show the changes and, if a person agrees, commit them; False: that failed.

        Args:
            ask: Whether to ask; otherwise nothing is committed.
        """
        try:
            if self.changes and ask:
                return await self._review()
            return True
        finally:
            await self.executor.aclose()

    async def _review(self) -> bool:
        from tinyagent.execution.workspace.texts import describe_changes

        notes.print(printable(describe_changes(self.changes)), markup=False, highlight=False)
        count = sum(not change.withheld for change in self.changes)
        if not count:
            return True
        if not sys.stdin.isatty():
            notes.print("Nothing is committed: there is no terminal to ask.", style="yellow")
            return True
        notes.print(f"? Commit {count} changes to {printable(str(self._folder))}? [y/N] ", end="")
        answer = str(await run_in_thread(sys.stdin.readline)).strip().lower()
        if answer not in {"y", "yes"}:
            notes.print("Nothing is committed.")
            return True
        try:
            written = await self.executor.commit()
        except (CallerError, WorkspaceConflict) as error:
            notes.print(printable(f"error: {error}"), style="red")
            return False
        notes.print(f"Committed {len(written)} changes.")
        return True
