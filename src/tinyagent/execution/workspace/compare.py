"""The differences between a view and its folder, as changes that can be shown and committed.

Within this module, the key of a folder is its path with a final slash, and that of a file is its
path: a file that takes the place of a folder is a deletion and an addition.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tinyagent.core.execution import Change
from tinyagent.execution.workspace.manifest import Manifest, PathState
from tinyagent.execution.workspace.names import HiddenNames, refusal, visible
from tinyagent.execution.workspace.report import FILE, FOLDER, OPAQUE, OTHER, Found

_UNSHOWN = "something that the code is not shown is there"
_STAYS = "a file or folder of this name stays in the folder"


@dataclass(frozen=True, slots=True)
class Difference:
    """An entry that a commit makes, replaces or removes.

    Args:
        key: Its path, for a folder with a final slash.
        before: What the folder holds there, as the code saw it; None for nothing.
        after: What the view holds there; None for nothing.
        change: How it is shown; a rename is a deletion and an addition that show the same change.
    """

    key: bytes
    before: PathState | None
    after: Found | None
    change: Change


@dataclass(frozen=True, slots=True)
class Folder:
    """The facts about the folder that a comparison needs.

    Args:
        manifest: What the code saw in it.
        hidden: Names that a commit leaves alone.
        digest_of: SHA-256 of a file as it is in the manifest; "" if it has changed since.
        is_same: Whether there is still at a path what the manifest says.
        check: Raises if there is no time left.
    """

    manifest: Manifest
    hidden: HiddenNames
    digest_of: Callable[[bytes, PathState], str]
    is_same: Callable[[bytes, PathState | None], bool]
    check: Callable[[], None]


def differences(folder: Folder, found: Mapping[bytes, Found]) -> list[Difference]:
    """All differences, sorted by path."""
    base = {
        path + b"/" if entry.is_folder else path: entry
        for path, entry in folder.manifest.entries.items()
    }
    view = _view(base, found)
    each = [*_deletions(folder, base, view), *_additions(folder, base, view)]
    each = _withhold(each, base)
    each += _edits(folder, base, view)
    each += [
        Difference(path, None, item, _refused("added", path, "it is not a plain file"))
        for path, item in found.items()
        if item.kind == OTHER
    ]
    each = [_with_conflict(folder, item) for item in each]
    return sorted(_with_renames(folder, each), key=lambda item: item.key)


def _view(
    base: Mapping[bytes, PathState], found: Mapping[bytes, Found]
) -> dict[bytes, Found | None]:
    """All that the code sees; None stands for what is in the folder."""
    covered = {path for path, item in found.items() if item.kind != FOLDER}
    view: dict[bytes, Found | None] = {}
    for key in sorted(base):  # each folder before what is in it
        path = key.rstrip(b"/")
        item = found.get(path)
        is_kept = item is None or (item.kind in {FOLDER, OPAQUE} and key != path)
        if path.rpartition(b"/")[0] in covered:
            covered.add(path)
        elif is_kept:
            view[key] = None
    for path, item in found.items():
        if item.kind == FILE:
            view[path] = item
        elif item.kind in {FOLDER, OPAQUE}:
            view[path + b"/"] = None if path + b"/" in base else item
    return view


def _deletions(
    folder: Folder, base: Mapping[bytes, PathState], view: Mapping[bytes, Found | None]
) -> Iterator[Difference]:
    # A folder that holds what the code cannot see stays, and makes no difference.
    stay = {parent for path in folder.manifest.unshown for parent in parents(path)}
    for key, before in base.items():
        if key not in view and key.rstrip(b"/") not in stay:
            yield Difference(key, before, None, _change(folder, "deleted", key))


def _additions(
    folder: Folder, base: Mapping[bytes, PathState], view: Mapping[bytes, Found | None]
) -> Iterator[Difference]:
    unshown = sorted(path + b"/" for path in folder.manifest.unshown)  # none is within another
    for key, after in view.items():
        if after is not None and key not in base:
            change = _change(folder, "added", key)
            if not change.withheld and _is_in(key.rstrip(b"/"), unshown):
                change = _refused("added", key, _UNSHOWN)
            change = replace(change, size=after.size, digest=after.digest)
            yield Difference(key, None, after, change)


def _edits(
    folder: Folder, base: Mapping[bytes, PathState], view: Mapping[bytes, Found | None]
) -> Iterator[Difference]:
    for key, after in view.items():
        before = base.get(key)
        if after is None or before is None:
            continue
        if before.size == after.size and folder.digest_of(key, before) == after.digest:
            continue
        change = _change(folder, "changed", key)
        change = replace(change, size=after.size, digest=after.digest)
        yield Difference(key, before, after, change)


def _withhold(each: list[Difference], base: Mapping[bytes, PathState]) -> list[Difference]:
    """Withhold also what cannot be done without a change that is withheld."""
    left = {item.key for item in each if item.change.withheld and item.before is not None}
    stay = left | {parent + b"/" for key in left for parent in parents(key.rstrip(b"/"))}
    gone = {item.key for item in each if item.before is not None and item.key not in stay}
    top = b"/"  # below which nothing can be added: all of that comes next in this order
    outcome: list[Difference] = []
    for item in sorted(each, key=lambda item: item.key.rstrip(b"/") + b"/"):
        path = item.key.rstrip(b"/")
        if item.before is not None:
            is_blocked = item.key in stay
        else:
            other = path if item.key != path else path + b"/"
            has_namesake = other in base and other not in gone
            is_below = path.startswith(top)
            is_blocked = has_namesake or is_below
            if not is_below and (is_blocked or item.change.withheld):
                top = path + b"/"
        if is_blocked and not item.change.withheld:
            item = replace(item, change=replace(item.change, withheld=_STAYS))  # noqa: PLW2901
        outcome.append(item)
    return outcome


def _with_conflict(folder: Folder, item: Difference) -> Difference:
    folder.check()
    path = item.key.rstrip(b"/")
    if item.change.withheld or folder.is_same(path, folder.manifest.entries.get(path)):
        return item
    return replace(item, change=replace(item.change, conflict=True))


def _with_renames(folder: Folder, each: list[Difference]) -> list[Difference]:
    """Show a deleted and an added file with the same content as one change."""
    added: dict[tuple[int, str], list[Difference]] = {}
    for item in each:
        if item.change.kind == "added" and item.change.size and not item.change.withheld:
            added.setdefault((item.change.size, item.change.digest), []).append(item)
    sizes = {size for size, _ in added}
    renamed: dict[bytes, Change] = {}
    for item in each:
        if item.change.kind != "deleted" or item.change.withheld or item.before is None:
            continue
        if item.before.is_folder or item.before.size not in sizes:
            continue
        size, digest = item.before.size, folder.digest_of(item.key, item.before)
        namesakes = added.get((size, digest), [])
        if namesakes:
            new = namesakes.pop(0)
            conflict = item.change.conflict or new.change.conflict
            change = replace(
                new.change, kind="renamed", old_path=item.change.path, conflict=conflict
            )
            renamed |= {item.key: change, new.key: change}
    return [replace(item, change=renamed.get(item.key, item.change)) for item in each]


def _is_in(path: bytes, folders: Sequence[bytes]) -> bool:
    """Whether the path is one of these folders, or within one; they are sorted."""
    place = bisect_right(folders, path + b"/") - 1
    return place >= 0 and (path + b"/").startswith(folders[place])


def _change(folder: Folder, kind: str, key: bytes) -> Change:
    """The change as it is shown, without its content."""
    folder.check()
    reason = refusal(key.rstrip(b"/"), folder.hidden)
    return _refused(kind, key, reason) if reason else Change(kind, key.decode())


def _refused(kind: str, key: bytes, reason: str) -> Change:
    text = visible(key[:_MAX_SHOWN].decode(errors="backslashreplace"))
    return Change(kind, text, withheld=reason)


_MAX_SHOWN = 5000


def parents(path: bytes) -> Iterator[bytes]:
    """The folders above a path, the nearest first."""
    while b"/" in path:
        path = path.rpartition(b"/")[0]
        yield path


def shown(each: Iterable[Difference]) -> tuple[Change, ...]:
    """The changes, each once."""
    return tuple(dict.fromkeys(item.change for item in each))
