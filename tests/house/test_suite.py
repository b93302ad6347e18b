"""The runner of the tests: what it selects, how it divides, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from tests.support.suite.groups import EXACT, GROUPS
from tests.support.suite.plugin import RUN, claim
from tests.support.suite.selection import Mode, select
from tests.support.suite.shards import Shard, divide, part_of
from tests.support.suite.times import Cost, measured, read_times, renewed, write_times

ROOT = Path(__file__).parents[2]
CONFTEST = 'pytest_plugins = ["tests.support.suite.plugin"]\n'
RACE = """
from pathlib import Path
def test_race():
    file = Path("was_here")
    first = not file.exists()
    file.touch()
    assert not first
"""
FINE = "def test_fine(): pass\n"
PATH = "tests/test_a.py"
TIMES = {
    PATH: {
        "test_cheap": Cost(100, 0.02, is_own=True),
        "test_moderate": Cost(7, 1.0),
        "test_elsewhere": Cost(60, 0.2, is_property=True),
        **{f"test_costly_{number}": Cost(3, 10.0) for number in range(10)},
    },
    EXACT[0]: {"test_exact": Cost(2, 0.4), "test_attacks": Cost(60, 0.2)},
}


def suite(folder: Path, files: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run the tests of a project with these files."""
    for name, text in {"conftest.py": CONFTEST, **files}.items():
        file = folder / "tests" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return subprocess.run(
        [sys.executable, "-m", "tests.support.suite", "gate"],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_passes_when_it_is_tried_again_is_named_and_accepted(tmp_path: Path) -> None:
    done = suite(tmp_path, {"test_race.py": RACE, "test_fine.py": FINE})
    assert done.returncode == 0, done.stdout
    assert "unstable: tests/test_race.py::test_race\n" in done.stdout
    assert "1 failed, 1 passed in" in done.stdout


def test_what_fails_again_is_refused(tmp_path: Path) -> None:
    done = suite(tmp_path, {"test_race.py": RACE, "test_wrong.py": "def test_wrong(): assert 0\n"})
    assert done.returncode == 1
    assert "failed again: tests/test_wrong.py::test_wrong\n" in done.stdout
    assert "unstable" not in done.stdout


def test_what_must_be_exact_is_refused_although_it_passes_again(tmp_path: Path) -> None:
    file = EXACT[-1]
    done = suite(tmp_path, {file.removeprefix("tests/"): RACE})
    assert done.returncode == 1
    assert f"must pass each time: {file}::test_race\n" in done.stdout


def test_an_item_that_does_not_run_is_refused(tmp_path: Path) -> None:
    ends = "import os\ndef test_ends(): os._exit(0)\ndef test_last(): pass\n"
    done = suite(tmp_path, {"test_gone.py": ends})
    assert done.returncode == 1
    assert re.search("these did not run: .*test_gone.py::test_last", done.stdout)
    assert "the process crashed with exit code 0" in done.stdout


def test_a_file_that_cannot_be_collected_is_refused(tmp_path: Path) -> None:
    done = suite(tmp_path, {"test_broken.py": "import nothing_of_this_name\n"})
    assert done.returncode == 1
    assert "pytest ended with exit code 2" in done.stdout


def test_many_failures_are_not_tried_again(tmp_path: Path) -> None:
    wrong = "import pytest\n@pytest.mark.parametrize('n', range(11))\ndef test_n(n): assert 0\n"
    done = suite(tmp_path, {"test_wrong.py": wrong})
    assert done.returncode == 1
    assert "failed: 11 items" in done.stdout
    assert "tried again" not in done.stdout


def test_two_items_of_a_group_never_run_in_two_processes() -> None:
    files = [str(file.relative_to(ROOT)) for file in (ROOT / "tests").rglob("test_*.py")]
    shards = divide(files, lambda _: 5.0, GROUPS, largest=10.0)
    assert sorted(file for shard in shards for file in shard.files) == sorted(files)
    for paths in GROUPS.values():
        of_the_group = {
            shard.name
            for shard in shards
            for file in shard.files
            if any(Path(file).is_relative_to(path) for path in paths)
        }
        assert len(of_the_group) == 1


def test_a_group_that_is_not_complete_is_noticed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(RUN, str(tmp_path))
    claim("browser")
    claim("browser")
    (tmp_path / "browser.claimed").write_text("1")
    with pytest.raises(pytest.fail.Exception, match="two processes start browser"):
        claim("browser")


def test_parts_are_all_shards_and_take_the_same_time() -> None:
    shards = [Shard(str(number), (), float(number)) for number in range(20, 0, -1)]
    parts = [part_of(shards, part, 3) for part in (1, 2, 3)]
    assert sorted(shard for part in parts for shard in part) == sorted(shards)
    loads = [sum(shard.seconds for shard in part) for part in parts]
    assert max(loads) - min(loads) <= 2


def test_the_cheap_run_whole_and_of_the_others_a_share_in_turn() -> None:
    costly = {f"{PATH}::test_costly_{number}" for number in range(10)}
    shares: set[frozenset[str]] = set()
    for turn in range(30):
        selection = select(Mode.GATE, TIMES, turn=turn, budget=48.0)
        assert selection.chosen(PATH, "test_cheap", range(100)) == list(range(100))
        assert selection.chosen(PATH, "test_moderate", range(7)) == [turn % 7]
        assert selection.chosen(PATH, "test_unknown", range(3)) == [0, 1, 2]
        assert selection.chosen(PATH, "test_elsewhere", range(60)) == list(range(turn % 6, 60, 6))
        assert selection.chosen(EXACT[0], "test_exact", range(2)) == [0, 1]
        assert selection.chosen(EXACT[0], "test_attacks", range(60)) == list(range(turn % 3, 60, 3))
        assert len(selection.rest) == 4  # 48 s without those of the cheap
        shares.add(selection.rest)
    assert {*costly, f"{PATH}::test_moderate"} == set().union(*shares)


def test_a_file_is_left_out_if_nothing_of_it_runs_and_all_of_it_is_known(tmp_path: Path) -> None:
    file = tmp_path / "test_b.py"
    selection = select(Mode.GATE, {str(file): {"test_costly": Cost(1, 9.0)}}, budget=1.0)
    file.write_text("def test_costly(): pass\n")
    assert selection.runs_nothing(str(file))
    file.write_text("def test_costly(): pass\nasync def test_new(): pass\n")
    assert not selection.runs_nothing(str(file))
    file.write_text("def test_costly(): pass\nTestNew = Machine.TestCase\n")
    assert not selection.runs_nothing(str(file))


def test_a_unit_run_has_what_needs_its_own_process_only() -> None:
    selection = select(Mode.UNIT, TIMES)
    assert selection.chosen(PATH, "test_cheap", range(100)) == list(range(100))
    assert selection.chosen(PATH, "test_moderate", range(7)) == []
    assert selection.chosen(PATH, "test_unknown", range(3)) == [0, 1, 2]


def test_times_are_read_as_they_were_written(tmp_path: Path) -> None:
    write_times(tmp_path / "times", TIMES)
    assert read_times(tmp_path / "times") == TIMES
    assert read_times(tmp_path / "none") == {}


def test_new_times_replace_those_of_their_files() -> None:
    new = {"tests/test_b.py": {"test_new": Cost(1, 1.0)}}
    assert renewed(TIMES, new, exists=frozenset({*TIMES, *new})) == {**TIMES, **new}
    assert renewed(TIMES, new, exists=frozenset({"tests/test_b.py"})) == new


def test_the_times_of_items_are_those_of_their_function() -> None:
    results = [
        {
            "id": f"{PATH}::test_x[{n}]",
            "seconds": n,
            "outside": n == 3,
            "property": True,
        }
        for n in (1, 2, 3)
    ]
    assert measured(results) == {PATH: {"test_x": Cost(3, 2.0, is_property=True)}}


@pytest.mark.parametrize("path", [path for paths in (*GROUPS.values(), EXACT) for path in paths])
def test_each_path_that_the_runner_names_exists(path: str) -> None:
    assert (ROOT / path).exists()
