from __future__ import annotations

import errno
import os
import struct
import sys
from pathlib import Path
from textwrap import dedent
from typing import Any, NamedTuple

import pytest
from tests.tinyagent.execution.sandbox.worker.kernel.confined import output_of

from tinyagent.execution.sandbox.worker.kernel import landlock, linux

ABI = landlock.abi()
TRIES = """
    def outcome(function, *arguments):
        try:
            function(*arguments)
        except OSError as error:
            return f"{type(error).__name__} {error.errno}"
        return "done"
"""
REFUSED = f"PermissionError {errno.EACCES}"
pytestmark = pytest.mark.skipif(ABI == 0, reason="this kernel has no Landlock")


def since(version: int) -> pytest.MarkDecorator:
    return pytest.mark.skipif(version > ABI, reason=f"Landlock here is {ABI}, not {version}")


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """The folder that the code may write to; next to it are others."""
    folder = tmp_path / "own"
    folder.mkdir()
    (tmp_path / "foreign").mkdir()
    (tmp_path / "foreign/secret").write_text("secret")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared/data").write_text("shared")
    return folder


def test_what_is_enforced_is_reported(own: Path) -> None:
    expected = landlock.Enforced(
        ABI, files=True, truncate=ABI >= 3, network=ABI >= 4, devices=ABI >= 5, scope=ABI >= 6
    )
    assert output_of("print(enforced)", own, "files") == str(expected)


def test_files_elsewhere_are_neither_read_nor_changed(own: Path) -> None:
    code = """
        print(outcome(open, "../foreign/secret"))
        print(outcome(os.listdir, "../foreign"))
        print(outcome(open, "/etc/passwd"))
        print(outcome(open, "../foreign/secret", "a"))
        print(outcome(open, "../foreign/new", "w"))
        print(outcome(os.remove, "../foreign/secret"))
        print(outcome(os.mkdir, "../foreign/folder"))
        print(outcome(os.rename, "../foreign/secret", "secret"))
        print(outcome(os.link, "../foreign/secret", "secret"))
    """
    *most, renamed, linked = output_of(code, own, "files", before=TRIES).splitlines()
    assert set(most) == {REFUSED}
    # Which of both is said where a file would change its folder is the kernel's choice.
    assert {renamed, linked} <= {REFUSED, f"OSError {errno.EXDEV}"}
    assert (own.parent / "foreign/secret").read_text() == "secret"
    assert [path.name for path in (own.parent / "foreign").iterdir()] == ["secret"]


@since(3)
def test_files_elsewhere_are_not_emptied(own: Path) -> None:
    code = """
        print(outcome(os.truncate, "../foreign/secret", 0))
        print(outcome(os.truncate, "../shared/data", 0))
        print(outcome(os.open, "../shared/data", os.O_RDONLY | os.O_TRUNC))
    """
    output = output_of(code, own, "files", before=TRIES, readable=(own.parent / "shared",))
    assert set(output.splitlines()) == {REFUSED}
    assert (own.parent / "shared/data").read_text() == "shared"


def test_readable_folders_are_read_only(own: Path) -> None:
    code = """
        print(open("../shared/data").read(), os.listdir("../shared"))
        print(outcome(open, "../shared/data", "a"))
        print(outcome(open, "../shared/new", "w"))
        print(outcome(os.remove, "../shared/data"))
        print(outcome(open, os.__file__, "a"))
    """
    output = output_of(code, own, "files", before=TRIES, readable=(own.parent / "shared",))
    assert output.splitlines() == ["shared ['data']", *[REFUSED] * 4]


def test_a_single_file_may_be_readable(own: Path) -> None:
    code = """
        print(open("../shared/data").read(), outcome(os.listdir, "../shared"))
    """
    output = output_of(code, own, "files", before=TRIES, readable=(own.parent / "shared/data",))
    assert output == f"shared {REFUSED}"


@pytest.mark.parametrize("move", ["os.rename", pytest.param("os.replace", marks=since(2))])
def test_the_own_folder_is_free_for_files_and_folders(move: str, own: Path) -> None:
    code = f"""
        os.makedirs("a/b")
        with open("a/file", "w") as file:
            file.write("text")
            file.truncate(2)
        target = "a/b/moved" if "{move}" == "os.replace" else "a/moved"
        {move}("a/file", target)
        print(open(target).read())
        os.remove(target)
        os.rmdir("a/b")
        print(os.listdir("a"))
    """
    assert output_of(code, own, "files") == "te\n[]"


def test_nothing_but_files_and_folders_is_made_in_it(own: Path) -> None:
    code = """
        import socket, stat
        print(outcome(os.symlink, "/etc/passwd", "link"))
        print(outcome(os.mkfifo, "pipe"))
        print(outcome(os.mknod, "device", stat.S_IFCHR | 0o600, os.makedev(1, 3)))
        print(outcome(socket.socket(socket.AF_UNIX).bind, "socket"))
    """
    output = output_of(code, own, "files", before=TRIES).splitlines()
    assert set(output) <= {REFUSED, f"PermissionError {errno.EPERM}"}  # EPERM: not being root
    assert list(own.iterdir()) == []


def test_no_program_is_run(own: Path) -> None:
    code = """
        import shutil
        with open("/dev/null") as nothing:
            shutil.copyfile(sys.executable, "program")
        os.chmod("program", 0o755)
        for program in (sys.executable, "./program", "/usr/lib/ld-linux.so.2", "/bin/sh"):
            print(outcome(os.execv, program, [program, "-c", "print('ran')"]))
    """
    output = output_of(code, own, "files", before=TRIES, readable=(Path(sys.executable).resolve(),))
    assert set(output.splitlines()) <= {REFUSED, f"FileNotFoundError {errno.ENOENT}"}
    assert output.splitlines()[:2] == [REFUSED] * 2


def test_shared_libraries_are_still_loaded(own: Path) -> None:
    code = """
        import importlib, pathlib, sysconfig
        folder = pathlib.Path(sysconfig.get_path("stdlib"), "lib-dynload")
        there = {path.name.split(".")[0] for path in folder.glob("*.so")} - set(sys.modules)
        name = min(there & {"_lsprof", "_queue", "_zoneinfo"}, default=None)
        print(importlib.import_module(name).__file__ if name else "no library left to load")
    """
    output = output_of(code, own, "files")
    if output == "no library left to load":
        pytest.skip("this Python has all of its library built in")
    assert output.endswith(".so")


def test_only_devices_that_keep_nothing_are_written(own: Path) -> None:
    code = """
        print(outcome(open, "/dev/null", "w"), outcome(open, "/dev/urandom", "w"))
        print(len(open("/dev/urandom", "rb").read(3)))
    """
    assert output_of(code, own, "files", before=TRIES) == f"done {REFUSED}\n3"


@since(4)
def test_tcp_reaches_nobody(own: Path) -> None:
    before = """
        import socket
        server = socket.create_server(("127.0.0.1", 0))
    """
    code = """
        def outcome(function, *arguments):
            try:
                function(*arguments)
            except OSError as error:
                return error.errno
        print(outcome(socket.create_connection, server.getsockname()))
        print(outcome(socket.create_server, ("127.0.0.1", 0)))
    """
    assert output_of(code, own, "files", before=before) == f"{errno.EACCES}\n{errno.EACCES}"


@since(6)
def test_processes_outside_are_neither_signalled_nor_spoken_to(own: Path) -> None:
    before = """
        import signal, socket
        reading, writing = os.pipe()
        name = f"\\0landlock test {os.getpid()}"
        waiting, ready = os.pipe()
        outsider = os.fork()
        if outsider == 0:
            server = socket.socket(socket.AF_UNIX)
            server.bind(name)
            server.listen()
            os.write(ready, b".")
            os.close(writing)
            os.read(reading, 1)
            os._exit(7)
        os.read(waiting, 1)
    """
    code = """
        print(outcome(os.kill, outsider, signal.SIGKILL))
        print(outcome(socket.socket(socket.AF_UNIX).connect, name))
        print(outcome(os.kill, os.getpid(), 0))
        os.close(writing)
        print(os.waitstatus_to_exitcode(os.waitpid(outsider, 0)[1]))
    """
    refused = f"PermissionError {errno.EPERM}"
    output = output_of(code, own, "files", before=dedent(TRIES) + dedent(before))
    assert output.splitlines() == [refused, refused, "done", "7"]


def test_threads_and_forks_stay_confined(own: Path) -> None:
    code = """
        import threading
        look = lambda: print(outcome(open, "../foreign/secret"), flush=True)
        thread = threading.Thread(target=look)
        thread.start()
        thread.join()
        if os.fork() == 0:
            look()
            os._exit(0)
        os.wait()
        landlock.restrict([os.open("/", os.O_PATH)], [])
        look()
    """
    output = output_of(code, own, "files", before=TRIES)
    assert output.splitlines() == [REFUSED] * 3


def test_a_kernel_without_landlock_enforces_nothing_and_reports_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def absent(*arguments: object) -> int:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(linux, "syscall", absent)
    assert landlock.abi() == 0
    assert landlock.restrict([], []) == landlock.Enforced(
        0, files=False, truncate=False, network=False, devices=False, scope=False
    )


@pytest.mark.parametrize(
    ("version", "size", "rights"),
    [(1, 8, 13), (2, 8, 14), (3, 8, 15), (4, 16, 15), (5, 16, 16), (6, 24, 16), (9, 24, 16)],
)
def test_older_kernels_are_asked_for_what_they_know(
    version: int, size: int, rights: int, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[int | bytes | None, ...]] = []

    def kernel(name: str, *arguments: int | bytes | None) -> int:
        asked.append((name.encode(), *arguments))
        if arguments[0] is None:
            return version
        return os.dup(0) if name == "landlock_create_ruleset" else 0

    monkeypatch.setattr(linux, "syscall", kernel)
    monkeypatch.setattr(linux, "set_no_new_privs", lambda: None)
    folder = os.open(tmp_path, os.O_PATH)
    landlock.restrict([], [folder])
    os.close(folder)
    _, (_, attributes, length, _), (_, _, _, rule, _), (restricted, _, _) = asked
    assert isinstance(attributes, bytes)
    assert isinstance(rule, bytes)
    assert len(attributes) == length == size
    handled = int.from_bytes(attributes[:8], "little")
    assert handled == 2**rights - 1
    assert int.from_bytes(rule[:8], "little") & ~handled == 0
    assert restricted == b"landlock_restrict_self"


def test_a_descriptor_that_is_not_open_is_an_error() -> None:
    with pytest.raises(OSError, match="Bad file descriptor"):
        landlock.restrict([-1], [])


class Asked(NamedTuple):
    """What the kernel was asked, in the order of the requests."""

    created: list[bytes]
    allowed: list[tuple[int, tuple[int, int]]]


# As in the kernel's include/uapi/linux/landlock.h and Documentation/userspace-api/landlock.rst.
WRITE_FILE, READ_FILE, READ_DIR, REMOVE_DIR, REMOVE_FILE = (1 << bit for bit in range(1, 6))
MAKE_DIR, MAKE_REG, REFER, TRUNCATE = 1 << 7, 1 << 8, 1 << 13, 1 << 14
ALL_OF_VERSION = {1: 0x1FFF, 2: 0x3FFF, 3: 0x7FFF, 4: 0x7FFF, 5: 0xFFFF, 6: 0xFFFF, 7: 0xFFFF}
PATH_BENEATH, NET_PORT, CONNECT_TCP = 1, 2, 2


def asked_by_version(monkeypatch: pytest.MonkeyPatch, version: int) -> Asked:
    """The requests of `restrict` to a kernel of this version, which grants them all."""
    asked = Asked([], [])

    def syscall(name: str, *arguments: Any) -> int:
        if name == "landlock_create_ruleset":
            if arguments == (None, 0, 1):  # LANDLOCK_CREATE_RULESET_VERSION
                return version
            attributes, size, flags = arguments
            assert (size, flags) == (len(attributes), 0)
            asked.created.append(attributes)
            return os.open("/dev/null", os.O_RDONLY)
        if name == "landlock_add_rule":
            ruleset, kind, rule, flags = arguments
            assert os.fstat(ruleset)
            assert flags == 0
            fields = struct.unpack("=QQ" if kind == NET_PORT else "=Qi", rule)
            asked.allowed.append((kind, fields))
        else:
            assert name == "landlock_restrict_self"
            assert arguments[1] == 0
        return 0

    monkeypatch.setattr(linux, "syscall", syscall)
    monkeypatch.setattr(linux, "set_no_new_privs", lambda: None)
    return asked


@pytest.mark.parametrize("version", range(1, 8))
def test_each_version_is_asked_for_the_rights_that_it_knows(
    version: int, own: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = os.open(own, os.O_PATH)
    file = os.open(own.parent / "shared/data", os.O_PATH)
    sinks = [os.open(f"/dev/{name}", os.O_PATH) for name in ("null", "zero", "full", "random")]
    asked = asked_by_version(monkeypatch, version)
    try:
        enforced = landlock.restrict([folder, file, *sinks], [folder], [443])
    finally:
        for descriptor in (folder, file, *sinks):
            os.close(descriptor)

    fields = [ALL_OF_VERSION[version], *[3] * (version >= 4), *[3] * (version >= 6)]
    assert asked.created == [struct.pack(f"={len(fields)}Q", *fields)]
    changes = WRITE_FILE | REMOVE_DIR | REMOVE_FILE | MAKE_DIR | MAKE_REG | REFER | TRUNCATE
    rights = [
        (READ_FILE | READ_DIR, folder),
        (READ_FILE, file),
        *((READ_FILE | WRITE_FILE, sink) for sink in sinks[:3]),
        (READ_FILE, sinks[3]),
        ((READ_FILE | READ_DIR | changes) & ALL_OF_VERSION[version], folder),
    ]
    ports = [(NET_PORT, (CONNECT_TCP, 443))] if version >= 4 else []
    assert asked.allowed == [*((PATH_BENEATH, each) for each in rights), *ports]
    names = ("files", "truncate", "network", "devices", "scope")
    since_version = dict(zip(names, (1, 3, 4, 5, 6), strict=True))
    assert enforced == landlock.Enforced(
        version, **{name: version >= first for name, first in since_version.items()}
    )


def test_without_landlock_nothing_is_asked_and_nothing_enforced(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def syscall(name: str, *arguments: Any) -> int:
        raise OSError(errno.ENOSYS, name, arguments)

    monkeypatch.setattr(linux, "syscall", syscall)
    nothing = landlock.Enforced(
        0, files=False, truncate=False, network=False, devices=False, scope=False
    )
    assert landlock.restrict([], []) == nothing
