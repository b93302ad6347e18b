"""An executor's workspace over several steps, runs and sessions."""

from __future__ import annotations

import asyncio
from contextlib import chdir
from pathlib import Path

import pytest
from tests.support.execution import hurry, isolated, value_of
from tests.support.trees import tree_of

from tinyagent import Sandbox, ScriptedModel, TinyCodeAgent
from tinyagent.core import CallerError, ConfigurationError
from tinyagent.execution import ProcessExecutor, Workspace
from tinyagent.execution.sandbox.worker.codec.wire import Kind
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


MANY_FILES = "n = 0\nwhile True:\n    n += 1\n    open(f'f{n}', 'w').close()"


@pytest.mark.parametrize("checkpoints", [1, 0])
async def test_a_tree_that_is_not_read_in_time_is_lost_and_said_to_be(
    folder: Path, checkpoints: int
) -> None:
    async with isolated(workspace=folder, checkpoints=checkpoints) as executor:
        await executor.run(ADDS)
        hurry(executor, 0.5)
        result = await executor.run(MANY_FILES)
        assert (result.timed_out, result.state_lost, result.changes) == (True, True, ())
        assert "what it had changed in the workspace is lost" in str(result.error)
        with pytest.raises(CallerError, match="no code has run"):
            await executor.commit()
        hurry(executor, 20.0)
        assert (await executor.run("open('a').read()")).value == "one\n"
    assert tree_of(folder) == {"a": b"one\n"}


async def test_a_step_that_is_cancelled_while_it_is_read_ends_its_session(folder: Path) -> None:
    async with isolated(workspace=folder) as executor:
        await executor.run("1")
        session = executor._session
        assert session is not None
        step = asyncio.create_task(
            executor.run("for n in range(3000):\n    open(f'f{n}', 'w').close()")
        )
        receive, count = session.first.receive, 0

        async def cancelling(seconds: float | None) -> object:
            nonlocal count
            frame = await receive(seconds)
            count += getattr(frame, "kind", None) is Kind.ENTRY
            if count == 10:
                step.cancel()
                await asyncio.sleep(0)
            return frame

        vars(session.first)["receive"] = cancelling
        with pytest.raises(asyncio.CancelledError):
            await step
        assert not session.is_open
        assert [change.kind for change in (await executor.run(ADDS)).changes] == ["changed"]


async def test_a_relative_folder_stays_the_same_one(folder: Path) -> None:
    (folder / "inner").mkdir()
    with chdir(folder):
        executor = isolated(workspace=".")
    with chdir(folder / "inner"):
        async with executor:
            assert await value_of(executor, "open('a').read()") == "one\n"


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
        ProcessExecutor(Sandbox(workspace=folder / "nowhere"))
    with pytest.raises(ConfigurationError, match="put the files into the folder"):
        ProcessExecutor(Sandbox(workspace=folder, files=[folder / "a"]))


async def test_without_a_workspace_there_is_nothing_to_commit() -> None:
    async with isolated() as executor:
        assert (await executor.run("1")).changes == ()
        with pytest.raises(CallerError, match="no workspace"):
            await executor.commit()
