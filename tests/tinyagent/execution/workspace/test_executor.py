"""An executor's workspace over several steps, runs and sessions."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.execution import isolated, value_of
from tests.support.trees import tree_of

from tinyagent import ScriptedModel, TinyCodeAgent
from tinyagent.core import CallerError, ConfigurationError
from tinyagent.execution import ProcessExecutor, Workspace
from tinyagent.execution.workspace.names import HIDDEN

ADDS = "open('a', 'a').write('two\\n')"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").write_bytes(b"one\n")
    return tmp_path


async def test_after_an_agents_run_its_changes_can_be_committed(folder: Path) -> None:
    async with isolated(workspace=folder) as executor:
        model = ScriptedModel([f"{ADDS}\nfinal_answer('done')"])
        run = await TinyCodeAgent(model, executor=executor).run("Add a line.")
        assert run.output == "done"
        assert tree_of(folder) == {"a": b"one\n"}
        (written,) = await executor.commit()
        assert written.diff.endswith("@@ -1 +1,2 @@\n one\n+two")
        assert tree_of(folder) == {"a": b"one\ntwo\n"}
        assert await value_of(executor, "open('a').read()") == "one\ntwo\n"


async def test_changes_of_a_step_that_failed_stay_until_they_are_discarded(folder: Path) -> None:
    async with isolated(workspace=folder) as executor:
        result = await executor.run(f"{ADDS}\nimport os\nos._exit(1)")
        assert result.undone
        assert [change.kind for change in result.changes] == ["changed"]
        await executor.discard()
        with pytest.raises(CallerError, match="no code has run"):
            await executor.commit()
        result = await executor.run("open('a').read()")
        assert (result.value, result.changes) == ("one\n", ())


async def test_steps_that_run_in_the_session_itself_have_a_copy(folder: Path) -> None:
    async with isolated(workspace=folder, checkpoints=0) as executor:
        result = await executor.run(ADDS)
        assert [change.path for change in result.changes] == ["a"]
        await executor.commit()
    assert tree_of(folder) == {"a": b"one\ntwo\n"}


async def test_the_hidden_names_can_be_extended(folder: Path) -> None:
    (folder / "private").mkdir()
    (folder / "private" / "b").write_bytes(b"")
    workspace = Workspace(folder, hidden=(*HIDDEN, "private"))
    async with isolated(workspace=workspace) as executor:
        assert await value_of(executor, "import os\nos.listdir()") == ["a"]


async def test_content_that_is_changed_again_is_shown_and_committed_as_it_is_now(
    folder: Path,
) -> None:
    async with isolated(workspace=folder) as executor:
        for number in range(3):
            result = await executor.run(f"open('a', 'w').write('{number}')")
            (change,) = result.changes
            assert f"+{number}" in change.diff
        await executor.commit()
    assert tree_of(folder) == {"a": b"2"}


def test_options_that_cannot_work_are_refused(folder: Path) -> None:
    with pytest.raises(ConfigurationError, match="there is no folder"):
        ProcessExecutor(workspace=folder / "nowhere")
    with pytest.raises(ConfigurationError, match="put the files into the folder"):
        ProcessExecutor(workspace=folder, files=[folder / "a"])


async def test_without_a_workspace_there_is_nothing_to_commit() -> None:
    async with isolated() as executor:
        assert (await executor.run("1")).changes == ()
        with pytest.raises(CallerError, match="no workspace"):
            await executor.commit()
