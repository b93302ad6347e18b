"""Workspace: a folder of the host, what the code saw in it, and what the code has changed."""

from __future__ import annotations

import math
import os
import threading
import time
from collections.abc import Generator, Iterable, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from tinyagent.core.errors import (
    CallerError,
    ConfigurationError,
    ExecutionTimeout,
    WorkspaceConflict,
)
from tinyagent.core.execution import Change
from tinyagent.execution.deadline import deadline
from tinyagent.execution.workspace.commit import commit, together
from tinyagent.execution.workspace.compare import Difference, Folder, differences, shown
from tinyagent.execution.workspace.manifest import (
    MAX_ENTRIES,
    Manifest,
    PathState,
    content_of,
    digest_of,
    scan,
    state,
)
from tinyagent.execution.workspace.names import HIDDEN, HiddenNames, visible
from tinyagent.execution.workspace.report import Found, Report, Spool
from tinyagent.execution.workspace.texts import MAX_TEXT_BYTES, text_diff

TOO_LATE = "they could not be read within the time of the step"
_MAX_DIFFS = 1 << 20
_MAX_DIFF_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Workspace:
    """A folder that code works on: it sees a copy, and what it changes there can be committed.

    Args:
        folder: The folder, which stays as it is until `commit`.
        hidden: Names that the code is not shown and that a commit does not write, as in `fnmatch`;
            a pattern with `/` is for the end of a path.
    """

    folder: str | Path
    hidden: Iterable[str] = HIDDEN
    path: Path = field(init=False, repr=False, compare=False)
    """The folder's path, which stays the same if the process changes its own folder."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.folder).absolute())

    def open(self) -> OpenWorkspace:
        """Read what is in the folder now.

        Raises:
            ConfigurationError: It is not a folder that can be read, or it holds too much.
            WorkspaceConflict: An earlier commit was cut off and cannot be finished.
        """
        return OpenWorkspace(self.path, HiddenNames(self.hidden))


class OpenWorkspace:
    """A workspace while a session works on it.

    Args:
        path: The folder.
        hidden: Names that are not shown.
    """

    def __init__(self, path: Path, hidden: HiddenNames) -> None:
        self.path = path
        self._hidden = hidden
        try:
            self.root = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise ConfigurationError(
                f"workspace: {str(path)!r} is not a folder that can be read:"
                f" {error.strerror or error}"
            ) from None
        self._spool = Spool()
        self._found: dict[bytes, Found] = {}
        self._differences: list[Difference] = []
        self._digests: dict[bytes, tuple[PathState, str]] = {}
        self._diffs: dict[tuple[str, str, str], str] = {}
        self._use = threading.Lock()
        self._is_closing = self._is_closed = False
        try:
            with together(self.root):
                self.manifest: Manifest = scan(self.root, hidden)
        except OSError as error:
            self.close()
            raise ConfigurationError(f"workspace: {str(path)!r} cannot be read: {error}") from None
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        """Forget what the code has changed, once no thread works on it any more."""
        self._is_closing = True
        self._close_if_idle()

    def _close_if_idle(self) -> None:
        if not self._is_closing or not self._use.acquire(blocking=False):
            return  # the thread that uses it closes it
        try:
            if not self._is_closed:
                self._is_closed = True
                os.close(self.root)
                self._spool.close()
        finally:
            self._use.release()

    def is_owned(self) -> bool:
        """Whether this user owns all that is shown: files of others cannot be changed in layers."""
        return self.manifest.owners() <= {(os.geteuid(), os.getegid())}

    def new_report(self, max_bytes: int) -> Report:
        """The collector of the session's next report.

        Args:
            max_bytes: The size of the session's working folder.
        """
        with self._in_use():
            if self._spool.end > 2 * max_bytes:
                self._compact()
            return Report(self._spool, self._found, max_bytes, MAX_ENTRIES)

    def settle(self, report: Report, until: float = math.inf) -> tuple[Change, ...]:
        """Compare what was reported with the folder; returns the changes.

        Args:
            report: What the code's view holds.
            until: When to give up, on the monotonic clock; changes that can be listed by then, but
                not shown line by line, are shown without their lines.

        Raises:
            ExecutionTimeout: That moment came first.
        """
        with self._in_use():
            self._found = report.found
            return self._compare(until)

    def commit(self, paths: Iterable[str] | None) -> tuple[Change, ...]:
        """Write changes to the folder, all of these or none.

        Args:
            paths: Of the changes, or of folders above them; None: all that are not withheld.

        Raises:
            ConfigurationError: No change has such a path, or it is withheld.
            WorkspaceConflict: The folder is not as the code saw it, or cannot be written.
        """
        with self._in_use():
            chosen = self._chosen(paths)
            if not chosen:
                return ()
            self._check_folder()
            commit(self.root, chosen, self._spool)
            written = {item.key for item in chosen}
            for item in sorted(chosen, key=lambda item: item.after is not None):
                self._note(item)  # what is gone first: a file may have taken its place
            self._differences = [item for item in self._differences if item.key not in written]
            return shown(chosen)

    @contextmanager
    def _in_use(self) -> Generator[None]:
        """Keep the folder open meanwhile: its descriptor's number may be another's afterwards.

        Raises:
            CallerError: The workspace was closed.
        """
        try:
            with self._use:
                if self._is_closed:
                    raise CallerError("the workspace was closed meanwhile")
                yield
        finally:
            self._close_if_idle()

    def _chosen(self, paths: Iterable[str] | None) -> list[Difference]:
        free = [item for item in self._differences if not item.change.withheld]
        if paths is None:
            return free
        chosen: set[bytes] = set()
        for path in [paths] if isinstance(paths, str) else paths:
            named = [item for item in self._differences if _is_named(item, path)]
            held = [item.change for item in named if item.change.withheld]
            if held and len(held) == len(named):
                raise ConfigurationError(
                    f"{visible(path)!r} cannot be committed: {held[0].withheld}"
                )
            if not named:
                raise ConfigurationError(f"there is no change of {visible(path)!r} to commit")
            chosen |= {item.key for item in named if not item.change.withheld}
        above = {parent + b"/" for key in chosen for parent in _parents(key)}
        return [
            item
            for item in free
            if item.key in chosen or (item.key in above and item.after is not None)
        ]

    def _check_folder(self) -> None:
        """Check that the path still leads to the folder that the code saw."""
        try:
            now, then = self.path.stat(), os.fstat(self.root)
        except OSError as error:
            raise WorkspaceConflict(
                f"the workspace {str(self.path)!r} is gone: {error.strerror}"
            ) from None
        if (now.st_dev, now.st_ino) != (then.st_dev, then.st_ino):
            raise WorkspaceConflict(f"another folder has taken the place of {str(self.path)!r}")

    def _note(self, item: Difference) -> None:
        """Take what was written for what the code saw."""
        path = item.key.rstrip(b"/")
        now = None if item.after is None else state(self.root, path)
        if now is None:
            self.manifest.entries.pop(path, None)
        else:
            self.manifest.entries[path] = now
            if item.after is not None:
                self._digests[path] = now, item.after.digest

    def _compare(self, until: float) -> tuple[Change, ...]:
        digest = partial(self._digest, until=until)
        folder = Folder(self.manifest, self._hidden, digest, self._is_same, partial(_check, until))
        room, earlier = _MAX_DIFFS, self._diffs
        each, self._diffs = differences(folder, self._found), {}
        for place, item in enumerate(each):
            if room <= 0 or time.monotonic() >= until:
                break
            if text := self._diff(item, earlier, until):
                room -= len(text)
                each[place] = replace(item, change=replace(item.change, diff=text))
        self._differences = each
        return shown(each)

    def _is_same(self, path: bytes, before: PathState | None) -> bool:
        now = state(self.root, path)
        return now is None if before is None else before.is_same(now)

    def _digest(self, path: bytes, before: PathState, until: float = math.inf) -> str:
        known = self._digests.get(path)
        if known is not None and known[0] == before:
            return known[1] if self._is_same(path, before) else ""
        digest = digest_of(self.root, path, before, partial(_check, until))
        if digest:
            self._digests[path] = before, digest
        return digest

    def _diff(
        self, item: Difference, earlier: Mapping[tuple[str, str, str], str], until: float
    ) -> str:
        """The lines that differ, for a text of moderate size, if they are found in time.

        Args:
            item: What differs.
            earlier: What was shown before, by path and digests.
            until: When to give up, on the monotonic clock.
        """
        change, before, after = item.change, item.before, item.after
        if change.withheld or change.conflict or change.path.endswith("/"):
            return ""
        sizes = [each.size for each in (before, after) if each is not None]
        if max(sizes, default=0) > MAX_TEXT_BYTES or change.kind == "renamed":
            return ""
        old = b"" if before is None else content_of(self.root, item.key, before)
        new = b"" if after is None else self._spool.read(after.start, after.size)
        if old is None:
            return ""
        known = (change.path, "" if before is None else self._digest(item.key, before))
        key = (*known, change.digest)
        text = earlier.get(key)
        if text is None:
            seconds = min(until - time.monotonic(), _MAX_DIFF_SECONDS)
            try:
                with deadline(seconds):
                    text = text_diff(change.path, old, new, change.kind)
            except ExecutionTimeout:
                return ""
        self._diffs[key] = text
        return text

    def _compact(self) -> None:
        """Copy the contents that are still known to a new spool."""
        fresh = Spool()
        kept: dict[bytes, Found] = {}
        for path, item in self._found.items():
            kept[path] = item._replace(start=fresh.end)
            for piece in self._spool.pieces(item.start, item.size):
                fresh.append(piece)
        self._spool.close()
        self._spool, self._found = fresh, kept


def _check(until: float) -> None:
    """Check that the time is not over.

    Raises:
        ExecutionTimeout: It is.
    """
    if time.monotonic() >= until:
        raise ExecutionTimeout(TOO_LATE)


def _is_named(item: Difference, path: str) -> bool:
    """Whether the path names the change, or a folder above it."""
    folder = path.rstrip("/") + "/"
    names = (item.change.path, item.change.old_path)
    return any(name in {path, folder} or name.startswith(folder) for name in names if name)


def _parents(key: bytes) -> Iterable[bytes]:
    path = key.rstrip(b"/")
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path
