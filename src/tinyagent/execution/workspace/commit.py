"""The commit: checks every place first, stages every content, and then takes all steps or none."""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Generator, Iterable, Sequence
from contextlib import contextmanager, suppress

from tinyagent.core.errors import WorkspaceConflict
from tinyagent.execution.workspace.compare import Difference, parents
from tinyagent.execution.workspace.journal import (
    PUT,
    REMOVE,
    CommitJournal,
    CommitStep,
    names_in,
    new_name,
    staged_mark,
)
from tinyagent.execution.workspace.manifest import PathState, state
from tinyagent.execution.workspace.names import visible
from tinyagent.execution.workspace.report import Found, Spool

_LOCK_SECONDS = 10.0
_PAUSE_SECONDS = 0.005
_EXECUTABLE, _PLAIN = 0o777, 0o666


@contextmanager
def together(root: int) -> Generator[None]:
    """Hold the folder's lock with others who read it: no commit changes it meanwhile.

    Raises:
        WorkspaceConflict: A commit does not end, or was cut off and cannot be completed.
    """
    while True:
        with _locked(root, fcntl.LOCK_SH):
            if not CommitJournal.is_left(root):
                yield
                return
        with _alone(root):
            pass


@contextmanager
def _alone(root: int) -> Generator[None]:
    """Hold the folder's lock, for a commit; one that was cut off is completed first."""
    with _locked(root, fcntl.LOCK_EX):
        CommitJournal.recover(root)
        yield


@contextmanager
def _locked(root: int, kind: int) -> Generator[None]:
    """Hold the folder's lock.

    Raises:
        WorkspaceConflict: Others hold it for too long.
    """
    lock = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=root)
    try:
        late = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, kind | fcntl.LOCK_NB)
                break
            except BlockingIOError as error:
                if time.monotonic() >= late:
                    raise WorkspaceConflict(
                        f"another commit to this folder has been running for {_LOCK_SECONDS:g} s"
                    ) from error
                time.sleep(_PAUSE_SECONDS)
        yield
    finally:
        os.close(lock)


def commit(root: int, chosen: Sequence[Difference], spool: Spool) -> None:
    """Write the differences to the folder, all or none.

    Args:
        root: A descriptor of the folder.
        chosen: What to write.
        spool: Holds the new contents.

    Raises:
        WorkspaceConflict: The folder is not as the code saw it, or cannot be written.
    """
    with _alone(root):
        _check(root, chosen)
        steps = list(_steps(chosen))
        journal = CommitJournal(root, [step for step, _ in steps])
        try:
            staging = journal.stage()
            for number, (step, content) in enumerate(steps):
                if content is not None:
                    step.staged = _stage(staging, number, (step, content), spool)
        except OSError as error:
            journal.discard()
            reason = error.strerror or str(error)
            raise WorkspaceConflict(
                f"the commit could not be staged in the folder: {reason}; nothing was committed"
            ) from error
        journal.run()


def _check(root: int, chosen: Sequence[Difference]) -> None:
    """Check that every place is as the code saw it, and that the steps can follow each other.

    Raises:
        WorkspaceConflict: A place is not; all of them are named.
    """
    gone = {item.key for item in chosen if item.before is not None and item.after is None}
    made = {item.key for item in chosen if item.before is None}
    changed = [item.key for item in chosen if not _is_as_seen(root, item, gone)]
    changed += [
        item.key
        for item in chosen
        if item.after is not None and not _has_parents(root, item.key, gone, made)
    ]
    if changed:
        paths = tuple(dict.fromkeys(key.decode() for key in sorted(changed)))
        names = ", ".join(repr(visible(path)) for path in paths[:10])
        more = f" and {len(paths) - 10} more" if len(paths) > 10 else ""  # noqa: PLR2004
        raise WorkspaceConflict(
            f"the folder is not as the code saw it at {names}{more}; nothing was committed", paths
        )


def _is_as_seen(root: int, item: Difference, gone: set[bytes]) -> bool:
    path = item.key.rstrip(b"/")
    now = state(root, path)
    if item.before is None:
        other = path if item.key != path else path + b"/"
        return now is None or other in gone
    if not item.before.is_same(now):
        return False
    if item.after is not None or not item.before.is_folder:
        return True
    inside = (path + b"/" + name for name in names_in(root, path))
    return all(each in gone or each + b"/" in gone for each in inside)


def _has_parents(root: int, key: bytes, gone: set[bytes], made: set[bytes]) -> bool:
    """Whether each folder above is there, and stays, or is made."""
    for parent in parents(key.rstrip(b"/")):
        if parent + b"/" in made:
            continue
        now = state(root, parent)
        return now is not None and now.is_folder and parent + b"/" not in gone
    return True


def _steps(chosen: Sequence[Difference]) -> Iterable[tuple[CommitStep, Found | None]]:
    """The steps in their order, with what to stage: a folder comes after what was in it."""
    removed = [item for item in chosen if item.after is None]
    written = [item for item in chosen if item.after is not None]
    for item in sorted(removed, key=lambda item: item.key, reverse=True):
        path, is_folder = _place(item)
        yield CommitStep(REMOVE, path, is_folder, item.before), None
    for item in sorted(written, key=lambda item: item.key):
        path, is_folder = _place(item)
        yield CommitStep(PUT, path, is_folder, item.before), item.after


def _place(item: Difference) -> tuple[str, bool]:
    return item.key.rstrip(b"/").decode(), item.key.endswith(b"/")


def _stage(
    staging: int, number: int, step: tuple[CommitStep, Found], spool: Spool
) -> tuple[int, int, int]:
    """Make a staged folder, or a file with the new content; returns what it is recognized by."""
    before, content = step[0].before, step[1]
    name = new_name(number)
    if step[0].is_folder:
        os.mkdir(name, dir_fd=staging)  # less the umask
        return staged_mark(os.stat(name, dir_fd=staging))
    mode = _EXECUTABLE if content.executable else _PLAIN
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    descriptor = os.open(name, flags, mode, dir_fd=staging)  # less the umask
    with os.fdopen(descriptor, "wb") as file:
        file.writelines(spool.pieces(content.start, content.size))
        file.flush()
        if before is not None:
            _like(descriptor, before)
        os.fsync(descriptor)
        return staged_mark(os.fstat(descriptor))


def _like(descriptor: int, before: PathState) -> None:
    """Give the file the owner and the permissions of the one that it replaces."""
    with suppress(PermissionError):  # the owner is not this user: it stays this user's
        os.fchown(descriptor, before.user, before.group)
    os.fchmod(descriptor, before.mode & 0o777)
