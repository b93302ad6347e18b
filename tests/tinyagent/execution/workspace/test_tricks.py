"""No trick reaches what is outside of the folder, or hidden in it, or shows what is not so."""

from __future__ import annotations

import sys
import unicodedata
from hashlib import sha256
from pathlib import Path

import pytest
from tests.support.trees import full_state, tree_of
from tests.tinyagent.execution.workspace.backends import check_backend, executor_of
from tests.tinyagent.execution.workspace.tricks import PRELUDE, TRICKS, UNSHOWN, Trick, make

from tinyagent.core import Change, WorkspaceConflict
from tinyagent.execution.workspace.names import visible
from tinyagent.execution.workspace.texts import describe_changes


def test_there_are_enough_tricks() -> None:
    assert len(TRICKS) >= 60
    assert len({trick.name for trick in TRICKS}) == len(TRICKS)


@pytest.mark.parametrize("backend", ["overlay", "copy"])
@pytest.mark.parametrize("trick", TRICKS, ids=lambda trick: trick.name)
async def test_a_trick_is_harmless(backend: str, trick: Trick, tmp_path: Path) -> None:
    folder = make(tmp_path)
    before, outside = full_state(folder), full_state(tmp_path / "outside")
    async with executor_of(backend, folder) as executor:
        result = await executor.run(PRELUDE + trick.code)
        assert result.error is None, result.error
        check_backend(backend, executor)
        assert full_state(folder) == before
        check_shown(result.changes, trick)
        if trick.meanwhile is not None:
            trick.meanwhile(folder)
        meanwhile = tree_of(folder)
        try:
            await executor.commit()
            has_conflict = False
        except WorkspaceConflict:
            has_conflict = True
        assert has_conflict == trick.conflict
        if has_conflict:
            assert tree_of(folder) == meanwhile
        else:
            check_written(folder, meanwhile, trick)
            check_as_shown(folder, result.changes)
    assert {name: folder.joinpath(name).read_bytes() for name in UNSHOWN} == UNSHOWN
    after = full_state(tmp_path / "outside")
    if "hard.txt" not in trick.written:  # its second name is counted with the file
        assert after == outside
    assert {path: state[-1] for path, state in after.items()} == {
        path: state[-1] for path, state in outside.items()
    }


def check_shown(changes: tuple[Change, ...], trick: Trick) -> None:
    withheld = {change.path for change in changes if change.withheld}
    if trick.withheld:
        assert withheld == trick.withheld
    assert {change.path for change in changes if not change.withheld} >= {
        name for name, content in trick.written.items() if content is not None and name != "sub/c"
    }
    text = describe_changes(changes)
    assert visible(text.replace("\n", "")) == text.replace("\n", "")
    assert "the secret" not in text


def check_written(folder: Path, before: dict[str, bytes | None], trick: Trick) -> None:
    after = tree_of(folder)
    expected = dict(before)
    for name, content in trick.written.items():
        if content is None and name in before:
            del expected[name]
        else:
            expected[name] = after[name] if content is ... else content
    assert after == expected
    for path in folder.rglob("*"):
        if not path.is_symlink():
            assert path.stat().st_mode & 0o7000 == 0


def check_as_shown(folder: Path, changes: tuple[Change, ...]) -> None:
    """Whatever code did after its step, a file has the content whose digest was shown."""
    shown = {each.path: each.digest for each in changes if each.digest and not each.withheld}
    for path, digest in shown.items():
        assert sha256(folder.joinpath(path).read_bytes()).hexdigest() == digest, path


def test_nothing_that_is_not_seen_is_shown_as_it_is() -> None:
    hidden = {"Cc", "Cf", "Cs", "Zl", "Zp"}
    characters = [chr(code) for code in range(sys.maxunicode + 1)]
    unseen = [each for each in characters if unicodedata.category(each) in hidden]
    unseen += ["\u034f", "\u3164", "\ufe0e", "\U000e0041", "\U000e0101"]
    assert [each for each in unseen if visible(each) == each] == []
    assert visible("Größe 你好 \u3000😀 a\u0301") == "Größe 你好 \u3000😀 a\u0301"
