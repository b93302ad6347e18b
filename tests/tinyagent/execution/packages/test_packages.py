from __future__ import annotations

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.support.execution import value_of
from tests.support.waits import until
from tests.support.wheels import line_of, make_sdist, make_wheel

from tinyagent import Sandbox
from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages.store import prepare_packages
from tinyagent.execution.sandbox.executor import ProcessExecutor

LEVELS = ("isolated", "sandboxed")


def refused(*names: str, lock: Path | None = None) -> str:
    """Why the set is refused."""
    with pytest.raises(ConfigurationError) as error:
        prepare_packages(names, lock)
    return str(error.value)


def state_of(folder: Path) -> dict[str, str]:
    """The hash and mode of each file."""
    return {
        str(path): f"{path.stat().st_mode:o} {hashlib.sha256(path.read_bytes()).hexdigest()}"
        for path in folder.rglob("*")
        if path.is_file()
    }


@pytest.mark.parametrize("level", LEVELS)
async def test_code_imports_its_packages_and_no_others(index: Path, level: str) -> None:
    make_wheel(
        index,
        "greeter",
        {"greeter.py": "import tools_of_it\nHELLO = tools_of_it.H"},
        requires=["tools"],
    )
    make_wheel(index, "tools", {"tools_of_it/__init__.py": "H = 'hello'"})
    async with ProcessExecutor(Sandbox(level, packages=["Greeter>=1"], imports="*")) as executor:
        assert await value_of(executor, "import greeter\ngreeter.HELLO") == "hello"
        assert await value_of(executor, "import tools_of_it\ntools_of_it.__file__") == (
            "/packages/tools_of_it/__init__.py"
        )
        result = await executor.run("import aiohttp")
        assert "No module named 'aiohttp'" in str(result.error)
    async with ProcessExecutor(Sandbox(level, packages=["greeter"])) as executor:
        result = await executor.run("import numpy")
        assert "import of 'numpy' is not allowed here" in str(result.error)
        version = "import importlib.metadata as m\nm.version('tools')"
        assert "is not allowed" in str((await executor.run(version)).error)
        assert executor.packages is not None
        assert executor.packages.modules == {"greeter", "tools_of_it"}


@pytest.mark.parametrize("level", LEVELS)
async def test_the_set_cannot_be_changed_by_the_code(index: Path, level: str) -> None:
    make_wheel(index, "thing", {"thing/__init__.py": "A = 1", "thing/data.txt": "data"})
    code = """
        import os, thing
        def error(function, *arguments):
            try:
                function(*arguments)
            except OSError as error:
                return type(error).__name__
            return "done"
        place = os.path.dirname(thing.__file__)
        (
            open(place + "/data.txt").read(),
            [
                error(open, place + "/data.txt", "w"),
                error(open, place + "/new.py", "w"),
                error(os.unlink, place + "/data.txt"),
                error(os.rename, place, place + "2"),
                error(os.mkdir, "/packages/json"),
                error(os.truncate, place + "/__init__.py", 0),
                error(os.symlink, "/", "/packages/root"),
            ],
        )
    """
    executor = ProcessExecutor(Sandbox(level, packages=["thing"]))
    async with executor:
        assert executor.packages is not None
        before = state_of(executor.packages.folder)
        text, errors = await value_of(executor, "\n".join(line[8:] for line in code.splitlines()))
        assert text == "data"
        assert "done" not in errors
        assert state_of(executor.packages.folder) == before


async def test_a_package_that_starts_a_program_is_held_back(index: Path) -> None:
    source = "import subprocess\nsubprocess.run(['/bin/true'])"
    make_wheel(index, "starter", {"starter.py": source})
    async with ProcessExecutor(Sandbox(packages=["starter"])) as executor:
        result = await executor.run("import starter")
        assert "PermissionError" in str(result.error)


async def test_package_code_runs_in_sessions_only(index: Path, tmp_path: Path) -> None:
    canary = tmp_path / "ran"
    source = f"try:\n    open({str(canary)!r}, 'w')\nexcept OSError:\n    pass\nRAN = True"
    make_wheel(index, "eager", {"eager.py": source, "eager_lib/__init__.py": source})
    async with ProcessExecutor(Sandbox(packages=["eager"], imports=["eager"])) as executor:
        assert await value_of(executor, "import eager, eager_lib\neager.RAN")
    assert not canary.exists()


async def test_the_lock_is_written_kept_and_used(
    index: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, "thing", {"thing.py": "V = 1"})
    lock = tmp_path / "project" / "sandbox.lock"
    async with ProcessExecutor(Sandbox(packages=["thing"], lock=lock)) as executor:
        assert await value_of(executor, "import thing\nthing.V") == 1
        assert executor.packages is not None
        assert executor.packages.lock_file == lock
        assert executor.packages.lock.text == lock.read_text()
    assert lock.read_text().startswith("thing==1.0 \\\n    --hash=sha256:")
    make_wheel(index, "thing", {"thing.py": "V = 2"}, version="2.0")
    monkeypatch.setenv("PATH", "/nowhere")  # a set that exists needs no uv
    async with ProcessExecutor(Sandbox(lock=lock)) as executor:
        assert await value_of(executor, "import thing\nthing.V") == 1


def test_a_tampered_wheel_is_refused(index: Path, tmp_path: Path) -> None:
    wheel = make_wheel(index, "thing", {"thing.py": "V = 1"})
    lock = tmp_path / "sandbox.lock"
    lock.write_text(f"thing==1.0 --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n")
    make_wheel(index, "thing", {"thing.py": "V = 2"})
    reason = refused(lock=lock)
    assert "thing" in reason
    assert "hash" in reason.lower()
    make_wheel(index, "thing", {"thing.py": "V = 1"})
    wheel.write_bytes(wheel.read_bytes())


def test_a_project_without_wheels_is_refused_and_not_built(index: Path, tmp_path: Path) -> None:
    canary = tmp_path / "built"
    sdist = make_sdist(index, "builds", canary)
    assert "nothing is built here" in refused("builds")
    lock = tmp_path / "sandbox.lock"
    lock.write_text(f"builds==1.0 --hash=sha256:{hashlib.sha256(sdist.read_bytes()).hexdigest()}\n")
    assert "nothing is built here" in refused(lock=lock)
    assert not canary.exists()


def test_wheels_of_another_platform_are_refused(index: Path) -> None:
    make_wheel(index, "windows", {"windows.py": ""}, tag="cp311-cp311-win_amd64")
    assert "windows" in refused("windows")


def test_a_missing_lock_without_requirements_is_refused(index: Path, tmp_path: Path) -> None:
    assert "there is no file" in refused(lock=tmp_path / "none.lock")


CODE = "A = 1\n"
TRICKS: dict[str, tuple[dict[str, Any], str]] = {
    "a start-up file": ({"files": {"evil.pth": "import os"}}, "evil.pth of evil-1.0"),
    "sitecustomize": ({"files": {"sitecustomize.py": CODE}}, "would run at the start of Python"),
    "usercustomize as a package": (
        {"files": {"usercustomize/__init__.py": CODE}},
        "would run at the start of Python",
    ),
    "a module of the standard library": (
        {"files": {"json.py": CODE}},
        "json.py of evil-1.0.dist-info would hide the module json of Python",
    ),
    "a package of the standard library": (
        {"files": {"email/__init__.py": CODE}},
        "would hide the module email of Python",
    ),
    "a built-in module": ({"files": {"math.abi3.so": b"\x7fELF"}}, "would hide the module math"),
    "a file within a package of the standard library": (
        {"files": {"os/path.py": CODE}},
        "would hide the module os",
    ),
    "the sandbox's own package": ({"files": {"worker/__init__.py": CODE}}, "the sandbox's own"),
    "a file that is not recorded": (
        {"files": {"evil.py": CODE, "more.py": CODE}, "unlisted": ["more.py"]},
        "more.py has no strong hash in the record",
    ),
    "a file with another hash": (
        {"files": {"evil.py": CODE}, "unlisted": ["evil.py"], "lines": [line_of("evil.py", b"")]},
        "evil.py is not the file that evil-1.0.dist-info records",
    ),
    "a file without a hash": (
        {"files": {"evil.py": CODE}, "unlisted": ["evil.py"], "lines": ["evil.py,,"]},
        "evil.py",
    ),
    "a weak hash": (
        {"files": {"evil.py": CODE}, "unlisted": ["evil.py"], "lines": ["evil.py,md5=AAAA,6"]},
        "evil.py",
    ),
    "a link": ({"files": {"evil.py": CODE}, "links": {"evil_link.py": "/etc/passwd"}}, ""),
    "a name that cannot be shown": ({"files": {"evil\u202e.py": CODE}}, ""),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_a_wheel_that_is_made_to_harm_is_refused(index: Path, cache: Path, trick: str) -> None:
    options, words = TRICKS[trick]
    make_wheel(index, "evil", **options)
    reason = refused("evil")
    assert words in reason
    assert [path.name for path in cache.iterdir() if path.is_dir()] == []
    assert not list(index.parent.rglob("outside*.py"))


LEFT_OUT: dict[str, dict[str, Any]] = {
    "a file that is not there": {"lines": [line_of("gone.py", b"")]},
    "a file of two hashes": {"lines": [line_of("evil.py", b"other")]},
    "a record that leads out": {"lines": [line_of("../../outside.py", b"")]},
    "a path that leads out": {"more": "../outside.py"},
    "an absolute path": {"more": "/outside-of-wheel.py"},
}


@pytest.mark.parametrize("trick", LEFT_OUT)
def test_what_leads_out_of_a_wheel_leads_nowhere(index: Path, trick: str) -> None:
    options = dict(LEFT_OUT[trick])
    more = {options.pop("more"): CODE} if "more" in options else {}
    make_wheel(index, "evil", {"evil.py": CODE, **more}, **options)
    made = prepare_packages(("evil",), None)
    names = {path.name for path in made.folder.iterdir()} - {"__pycache__"}
    assert names == {"evil.py", "evil-1.0.dist-info"}
    assert (made.folder / "evil.py").read_text() == CODE
    assert not list(index.parent.rglob("outside*.py"))
    assert not Path("/outside-of-wheel.py").exists()


def test_two_wheels_with_the_same_file_are_refused(index: Path) -> None:
    make_wheel(index, "one", {"common/__init__.py": "", "common/a.py": "A = 1"})
    make_wheel(index, "two", {"common/a.py": "A = 2"})
    assert "common/a.py is in two wheels" in refused("one", "two")


def test_a_wheel_that_is_another_package_is_refused(index: Path) -> None:
    wheel = make_wheel(index, "other", {"other.py": CODE})
    wheel.rename(index / "wanted-1.0-py3-none-any.whl")
    assert "other" in refused("wanted")


def test_one_name_in_two_spellings_is_one_package(index: Path) -> None:
    make_wheel(index, "My_Thing", {"my_thing.py": CODE})
    assert prepare_packages(("my-thing", "MY.THING"), None).modules == {"my_thing"}


def test_a_bomb_is_refused(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_wheel(index, "bomb", {f"bomb/{n}.txt": bytes(1 << 20) for n in range(8)})
    monkeypatch.setattr("tinyagent.execution.packages.tree._MAX_BYTES", 4 << 20)
    assert "more than" in refused("bomb")


def test_programs_are_left_out(index: Path) -> None:
    make_wheel(index, "tool", {"tool.py": CODE, "tool-1.0.data/scripts/tool": "#!python\n"})
    made = prepare_packages(("tool",), None)
    assert not (made.folder / "bin").exists()


HOST = """
import sys
from tinyagent.execution.packages.store import prepare_packages
print(prepare_packages(("thing",), None).folder)
"""


def start(environment: dict[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOST],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, **(environment or {})},
    )


def test_two_hosts_fill_the_cache_at_once(index: Path, cache: Path) -> None:
    make_wheel(index, "thing", {f"thing/m{n}.py": CODE for n in range(200)})
    hosts = [start(), start(), start()]
    folders = {host.communicate(timeout=60)[0].strip() for host in hosts}
    assert [host.returncode for host in hosts] == [0, 0, 0]
    assert len(folders) == 1
    assert sum(path.is_dir() for path in cache.iterdir()) == 1


def test_a_host_that_is_killed_leaves_no_half_set(index: Path, cache: Path) -> None:
    make_wheel(index, "thing", {f"thing/m{n}.py": CODE for n in range(2000)})
    host = start()
    until(lambda: any(cache.glob("new-*/thing/m*.py")) or host.poll() is not None)
    host.send_signal(signal.SIGKILL)
    host.communicate()
    made = prepare_packages(("thing",), None)
    assert len(list((made.folder / "thing").glob("*.py"))) == 2000
    made.folder.with_suffix(".json").unlink()  # as if it had been killed before the last write
    assert prepare_packages(("thing",), None).folder == made.folder


@pytest.mark.parametrize("change", ["writable by others", "a link to another's folder"])
def test_a_cache_that_others_may_change_is_refused(
    index: Path, cache: Path, change: str, tmp_path: Path
) -> None:
    make_wheel(index, "thing", {"thing.py": CODE})
    shared = tmp_path / "shared"
    shared.mkdir()
    shared.chmod(0o777)
    if change == "writable by others":
        shared.rename(cache)
    else:
        cache.symlink_to(shared)
    assert "may be changed by other users" in refused("thing")


def test_without_locks_there_are_no_packages() -> None:
    with pytest.raises(
        ConfigurationError, match="'local' has no locks, so it has no option packag"
    ):
        ProcessExecutor(Sandbox("local", packages=["polars"]))


@pytest.mark.parametrize("level", LEVELS)
async def test_well_known_packages_of_the_index_are_imported(level: str) -> None:
    names = ["polars>=2", "scikit-learn>=1.9", "lxml", "pillow"]
    async with ProcessExecutor(Sandbox(level, packages=names)) as executor:
        try:
            _ = executor.packages
        except ConfigurationError as error:
            pytest.skip(f"no index: {error}")
        for code, value in WELL_KNOWN:
            assert await value_of(executor, code) == value


@pytest.mark.parametrize("level", LEVELS)
async def test_polars_works_over_steps_with_checkpoints(level: str) -> None:
    """Its pool of threads, which a fork lacks, once made every later step wait for ever."""
    async with ProcessExecutor(Sandbox(level, packages=["polars>=2"], checkpoints=4)) as executor:
        try:
            _ = executor.packages
        except ConfigurationError as error:
            pytest.skip(f"no index: {error}")
        await value_of(executor, "import polars as pl\ndf = pl.DataFrame({'a': [1, 1, 3]})")
        for _ in range(3):
            assert await value_of(executor, "df.group_by('a').agg(pl.len()).height") == 2


WELL_KNOWN: tuple[tuple[str, Any], ...] = (
    ("import polars as pl\ndf = pl.DataFrame({'a': [1, 1, 3]})\nint(df['a'].sum())", 5),
    ("df.group_by('a').agg(pl.len()).height", 2),
    (
        "from sklearn.linear_model import Ridge\nRidge().fit([[1], [2]], [2, 4]).coef_.shape",
        (1,),
    ),
    ("import lxml.etree as e\ne.fromstring('<a><b/></a>')[0].tag", "b"),
    ("from PIL import Image\nImage.new('RGB', (3, 2)).size", (3, 2)),
)
