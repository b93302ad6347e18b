"""Packages are compiled behind locks, and only what was checked is used."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import pytest
from tests.support.wheels import line_of, make_wheel

from tinyagent.execution.packages import bytecode, store, uv
from tinyagent.execution.packages.store import prepare_packages

CODE = "A = 1\n"
FAULTY: dict[str, str] = {
    "memory": f"x = [{'1,' * 500_000}]",
    "depth": "(" * 5_000,
    "the parser": f"x = {'-' * 60_000}1",
    "syntax": "x = = 1",
    "a NUL": "x = 1\0",
}


def test_what_cannot_be_compiled_within_bounds_is_left_and_all_else_is_compiled(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tinyagent.execution.packages.bytecode.MAX_BYTES", 48 << 20)
    files = {f"thing/f{n}.py": code for n, code in enumerate(FAULTY.values())}
    plain = {f"thing/g{n}.py": CODE for n in range(4)}
    make_wheel(index, "thing", {"thing/__init__.py": "", **files, **plain})
    folder = prepare_packages(("thing",), None).folder / "thing"
    compiled = {path.name.partition(".")[0] for path in (folder / "__pycache__").iterdir()}
    assert compiled == {"__init__", "g0", "g1", "g2", "g3"}
    code = (folder / "__pycache__" / f"g0.{sys.implementation.cache_tag}.pyc").read_bytes()
    assert b"/packages/thing/g0.py" in code
    assert str(folder).encode() not in code


def test_the_compiler_is_locked_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "waits.py")
    with bytecode.start(tmp_path, 0, 0) as compiler:
        assert compiler.stdout is not None
        assert compiler.stdout.readline() == b"0\n"  # it is about to open the pipe
        status = Path(f"/proc/{compiler.pid}/status").read_text().split("\n")
        fields = dict(line.split(":\t", 1) for line in status if line)
        limits = Path(f"/proc/{compiler.pid}/limits").read_text()
        compiler.kill()
    assert int(fields["CapEff"], 16) == 0
    assert (fields["NoNewPrivs"], fields["Seccomp"]) == ("1", "2")
    assert f"Max data size             {bytecode.MAX_BYTES} " in limits
    assert "Max cpu time              60 " in limits


def test_a_wheel_that_was_changed_in_the_cache_of_uv_is_not_used(
    index: Path, cache: Path, tmp_path: Path
) -> None:
    make_wheel(index, "thing", {"thing.py": "V = 1\n"})
    lock = tmp_path / "sandbox.lock"
    first = prepare_packages(("thing",), lock).folder
    changed = b"V = 2\n"
    for module in (tmp_path / "uv").rglob("thing.py"):
        module.write_bytes(changed)
        record = next(module.parent.glob("*.dist-info")) / "RECORD"
        lines = [line for line in record.read_text().splitlines() if "thing.py" not in line]
        record.write_text("\n".join([*lines, line_of("thing.py", changed)]) + "\n")
    shutil.rmtree(cache)
    assert (prepare_packages(("thing",), lock).folder / "thing.py").read_text() == "V = 1\n"
    assert first.is_dir()


def test_a_file_that_was_changed_where_it_is_unpacked_is_noticed(index: Path) -> None:
    make_wheel(index, "thing", {"thing.py": "V = 1\n"})
    module = prepare_packages(("thing",), None).folder / "thing.py"
    times = module.stat()
    module.write_text("V = 2\n")
    os.utime(module, ns=(times.st_atime_ns, times.st_mtime_ns))
    store._prepared.clear()  # as in another process
    assert (prepare_packages(("thing",), None).folder / "thing.py").read_text() == "V = 1\n"


def test_a_set_that_was_copied_is_not_unpacked_again(
    index: Path, cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_wheel(index, "thing", {"thing.py": "V = 1\n"})
    made = prepare_packages(("thing",), None).folder
    shutil.copytree(cache, tmp_path / "copy", copy_function=shutil.copyfile)
    monkeypatch.setenv("TINYAGENT_PACKAGES", str(tmp_path / "copy"))
    monkeypatch.setenv("PATH", "/nowhere")
    monkeypatch.setattr(uv, "install", None)
    assert prepare_packages(("thing",), None).folder == tmp_path / "copy" / made.name
