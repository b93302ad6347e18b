"""The steps of one commit, so recorded that a commit that was cut off can be finished or undone.

All that is new is staged in one folder within the workspace, and all that is removed or replaced is
kept there until the end. Each step is one rename, which can be recognized as done, and undone.
"""

from __future__ import annotations

import json
import os
import shutil
from contextlib import suppress
from dataclasses import asdict, dataclass
from typing import Any

from tinyagent.core.errors import WorkspaceConflict
from tinyagent.execution.workspace.manifest import PathState, entry_of, parent_of, state
from tinyagent.execution.workspace.names import STAGING, HiddenNames, refusal, visible

_JOURNAL = b"journal"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MAX_JOURNAL = 256 << 20

PUT, REMOVE = "put", "remove"


@dataclass(slots=True)
class CommitStep:
    """A step of a commit.

    Args:
        action: Put a staged file or folder in its place, or remove what is there.
        path: Where.
        is_folder: Whether a folder is put or removed.
        before: What was there; None for nothing.
        staged: The inode, size and time of change of what is staged.
    """

    action: str
    path: str
    is_folder: bool = False
    before: PathState | None = None
    staged: tuple[int, int, int] | None = None

    @property
    def place(self) -> bytes:
        """The path as the system takes it."""
        return self.path.encode()


class CommitJournal:
    """The steps of a commit, and the folder in which it keeps what it needs to take them.

    Args:
        root: A descriptor of the workspace's folder.
        steps: In their order.
    """

    def __init__(self, root: int, steps: list[CommitStep]) -> None:
        self._root = root
        self._steps = steps
        self._staging = -1

    def stage(self) -> int:
        """Make the staging folder; returns a descriptor of it.

        Raises:
            OSError: It cannot be made.
        """
        os.mkdir(STAGING, 0o700, dir_fd=self._root)
        self._staging = os.open(STAGING, _FOLDER, dir_fd=self._root)
        return self._staging

    def discard(self) -> None:
        """Remove the staging folder with all that is in it."""
        if self._staging >= 0:
            with suppress(FileNotFoundError):
                os.unlink(_JOURNAL, dir_fd=self._staging)
            os.close(self._staging)
            self._staging = -1
        _remove_staging(self._root)

    def run(self) -> None:
        """Take all steps, or none.

        Raises:
            WorkspaceConflict: A step cannot be taken; those before it are undone.
            OSError: The steps cannot be recorded; none is taken.
        """
        self._record("do")
        self._finish()

    def _finish(self) -> None:
        for number, step in enumerate(self._steps):
            try:
                self._take(number, step)
            except OSError as error:
                self._record("undo")
                self._undo()
                reason = error.strerror or str(error)
                raise WorkspaceConflict(
                    f"{visible(step.path)!r} could not be written: {reason}; nothing was committed",
                    (step.path,),
                ) from error
        self._sync_folders()
        self.discard()

    def _record(self, direction: str) -> None:
        body = {"direction": direction, "steps": [asdict(step) for step in self._steps]}
        data = json.dumps(body).encode()
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
        new = os.open(b"journal.new", flags, 0o600, dir_fd=self._staging)
        with os.fdopen(new, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(new)
        os.rename(b"journal.new", _JOURNAL, src_dir_fd=self._staging, dst_dir_fd=self._staging)
        os.fsync(self._staging)
        os.fsync(self._root)

    def _take(self, number: int, step: CommitStep) -> None:
        """Take a step, unless it is done."""
        if step.action == PUT:
            if _at(self._staging, new_name(number)) is not None:
                with parent_of(self._root, step.place) as (folder, name):
                    self._put(number, step, (folder, name))
            return
        if _at(self._staging, _old(number)) is None:
            with parent_of(self._root, step.place) as (folder, name):
                _demand(_at(folder, name), step.before)
                os.rename(name, _old(number), src_dir_fd=folder, dst_dir_fd=self._staging)
        if step.is_folder and names_in(self._staging, _old(number)):
            raise OSError("the folder is not empty")

    def _put(self, number: int, step: CommitStep, place: tuple[int, bytes]) -> None:
        folder, name = place
        now = _at(folder, name)
        if now is not None and _is_staged(now, step):
            os.unlink(new_name(number), dir_fd=self._staging)
            return
        kept = _at(self._staging, _old(number))
        if kept is None or now is None or kept.inode != now.inode:
            _demand(now, step.before)
        staged = _at(self._staging, new_name(number))
        if staged is None or not _is_staged(staged, step):
            raise OSError("what was staged is not what was recorded")
        if step.before is None and not step.is_folder:
            _move_new(self._staging, new_name(number), folder, name)
            return
        if step.before is not None and kept is None:
            _keep(folder, name, self._staging, _old(number))
        os.rename(new_name(number), name, src_dir_fd=self._staging, dst_dir_fd=folder)

    def _undo(self) -> None:
        """Undo what was done, last first.

        Raises:
            WorkspaceConflict: Something was changed meanwhile; what was there before is kept.
        """
        left: list[str] = []
        for number, step in reversed(list(enumerate(self._steps))):
            try:
                if not self._undo_step(number, step):
                    left.append(step.path)
            except OSError:
                left.append(step.path)
        if left:
            raise self._kept_aside(left)
        self._sync_folders()
        self.discard()

    def _undo_step(self, number: int, step: CommitStep) -> bool:
        """Undo a step if it was done; False: what is there now is of somebody else."""
        old, now = _at(self._staging, _old(number)), state(self._root, step.place)
        is_done = old is not None
        if step.action == PUT:
            is_done = now is not None and _is_staged(now, step)
            if not is_done:  # the entry is the old one, or somebody else's
                is_same = step.before is None or step.before.is_same(now)
                return is_same or old is None or (now is not None and old.inode == now.inode)
        elif is_done and now is not None:
            return False
        if is_done:
            with parent_of(self._root, step.place) as (folder, name):
                if old is not None:
                    os.rename(_old(number), name, src_dir_fd=self._staging, dst_dir_fd=folder)
                elif step.is_folder:
                    os.rmdir(name, dir_fd=folder)
                else:
                    os.unlink(name, dir_fd=folder)
        return True

    def _kept_aside(self, left: list[str]) -> WorkspaceConflict:
        os.close(self._staging)
        self._staging = -1
        name = f"{STAGING.decode()}.left-{os.urandom(4).hex()}"
        os.rename(STAGING, name, src_dir_fd=self._root, dst_dir_fd=self._root)
        return WorkspaceConflict(
            f"a commit could not be undone in {len(left)} places that were changed meanwhile:"
            f" what they held before is in the folder {name}",
            tuple(left),
        )

    def _sync_folders(self) -> None:
        for folder in {step.place.rpartition(b"/")[0] for step in self._steps}:
            with suppress(OSError), parent_of(self._root, folder + b"/x") as (descriptor, _):
                os.fsync(descriptor)

    @staticmethod
    def is_left(root: int) -> bool:
        """Whether a commit is running, or was cut off."""
        return _at(root, STAGING) is not None

    @classmethod
    def recover(cls, root: int) -> None:
        """Finish or undo a commit that was cut off, if there is one.

        Raises:
            WorkspaceConflict: The folder was changed since, so that it could not be finished.
            OSError: The folder cannot be read or written.
        """
        if not cls.is_left(root):
            return
        journal = cls(root, [])
        journal._staging = os.open(STAGING, _FOLDER, dir_fd=root)
        body = _read_journal(journal._staging)
        if body is None:  # no step was taken
            journal.discard()
            return
        direction, journal._steps = body
        if direction == "do":
            journal._finish()
        else:
            journal._undo()


def new_name(number: int) -> bytes:
    """The name of a step's staged file."""
    return b"new-%d" % number


def staged_mark(status: os.stat_result) -> tuple[int, int, int]:
    """The identity of a staged file or folder."""
    entry = entry_of(status)
    return entry.inode, entry.size, entry.mtime


def _old(number: int) -> bytes:
    return b"old-%d" % number


def _at(folder: int, name: bytes) -> PathState | None:
    try:
        return entry_of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _is_staged(now: PathState, step: CommitStep) -> bool:
    if step.staged is None or now.is_folder != step.is_folder:
        return False
    if step.is_folder:
        return now.inode == step.staged[0]
    return (now.inode, now.size, now.mtime) == step.staged


def _demand(now: PathState | None, before: PathState | None) -> None:
    """Demand that the place is as it was when the code saw it."""
    if before is None and now is not None:
        raise FileExistsError("there is something of this name already")
    if before is not None and not before.is_same(now):
        raise OSError("it was changed meanwhile")


def _move_new(staging: int, source: bytes, folder: int, name: bytes) -> None:
    """Move a staged file to where nothing is; never replaces anything."""
    try:
        os.link(source, name, src_dir_fd=staging, dst_dir_fd=folder, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:  # a file system without hard links
        os.rename(source, name, src_dir_fd=staging, dst_dir_fd=folder)
    else:
        os.unlink(source, dir_fd=staging)


def _keep(folder: int, name: bytes, staging: int, kept: bytes) -> None:
    """Keep what is about to be replaced: by a second name, or as a copy."""
    try:
        os.link(name, kept, src_dir_fd=folder, dst_dir_fd=staging, follow_symlinks=False)
    except OSError:
        source = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
        with os.fdopen(source, "rb") as before:
            mode = os.fstat(source).st_mode & 0o777
            copy = os.open(b"copy", flags, 0o600, dir_fd=staging)
            with os.fdopen(copy, "wb") as after:
                shutil.copyfileobj(before, after)
                after.flush()
                os.fchmod(copy, mode)
                os.fsync(copy)
        os.rename(b"copy", kept, src_dir_fd=staging, dst_dir_fd=staging)


def _read_journal(staging: int) -> tuple[str, list[CommitStep]] | None:
    """The record of a commit; None if there is none."""
    try:
        descriptor = os.open(_JOURNAL, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=staging)
    except FileNotFoundError:
        return None
    with os.fdopen(descriptor, "rb") as file:
        data = file.read(_MAX_JOURNAL)
    try:
        body = json.loads(data)
        return str(body["direction"]), [_step_of(item) for item in body["steps"]]
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        raise _foreign("its journal cannot be read") from None


def _step_of(item: dict[str, Any]) -> CommitStep:
    """A step of a journal, which may have come with the folder from anywhere."""
    before, staged = item["before"], item["staged"]
    reason = refusal(item["path"].encode(), HiddenNames(()))
    if reason:
        raise _foreign(reason)
    return CommitStep(
        item["action"],
        item["path"],
        item["is_folder"],
        None if before is None else PathState(*before),
        None if staged is None else (staged[0], staged[1], staged[2]),
    )


def _foreign(reason: str) -> WorkspaceConflict:
    return WorkspaceConflict(
        f"remove the folder {STAGING.decode()!r} from the workspace: it is not one that a commit"
        f" has left ({reason})"
    )


def _remove_staging(root: int) -> None:
    """Remove the staging folder, which holds plain files only."""
    try:
        staging = os.open(STAGING, _FOLDER, dir_fd=root)
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(staging):  # noqa: PTH208 - a descriptor
            try:
                os.unlink(name, dir_fd=staging)
            except (IsADirectoryError, PermissionError):  # an empty folder
                os.rmdir(name, dir_fd=staging)
    finally:
        os.close(staging)
    os.rmdir(STAGING, dir_fd=root)


def names_in(folder: int, path: bytes) -> list[bytes]:
    """The names in a folder below `folder`; none if it is not a folder."""
    with suppress(OSError), parent_of(folder, path + b"/x") as (inner, _):
        return [os.fsencode(name) for name in os.listdir(inner)]  # noqa: PTH208 - as above
    return []
