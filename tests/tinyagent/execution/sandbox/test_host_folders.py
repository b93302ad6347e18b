from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import until, value_of

from tinyagent.execution.sandbox.engines.kernel import KernelEngine
from tinyagent.execution.sandbox.host_folders import HostFolder
from tinyagent.execution.sandbox.templates import Spec, TemplateHandle
from tinyagent.execution.sandbox.worker.codec.wire import Kind
from tinyagent.execution.sandbox.worker.session.link import Link

LIMITS = {
    "cpu_seconds": 10,
    "max_output_bytes": 1000,
    "max_memory_bytes": 2**28,
    "max_processes": 8,
    "max_file_bytes": 2**20,
    "checkpoints": 0,
}
ORDER = {"limits": LIMITS, "imports": ["*"]}
LOOK = """
import os
def error(function, *arguments):
    try:
        function(*arguments)
    except OSError as error:
        return error.strerror
    return "done"
{
    "text": open("seen/inner/a.txt").read(),
    "write": error(open, "seen/inner/a.txt", "w"),
    "make": error(open, "seen/new.txt", "w"),
    "remove": error(os.unlink, "seen/inner/a.txt"),
    "entries": sorted(os.listdir("seen")),
    "above": sorted(os.listdir("..")) == sorted(os.listdir("/")),
    "device": error(open, "seen/null", "rb") if os.path.exists("seen/null") else None,
}
"""


@pytest.fixture
def template() -> Generator[TemplateHandle]:
    with closing(TemplateHandle(Spec(KernelEngine(), (), keeper=True))) as made:
        yield made


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder that any user may read, whose parents only its owner may enter."""
    shared = tmp_path / "shared, with: odd\\names"
    (shared / "inner").mkdir(parents=True)
    (shared / "inner" / "a.txt").write_text("of the host")
    (shared / "link").symlink_to("/etc/passwd")
    for path in (shared, shared / "inner"):
        path.chmod(0o755)
    return shared


def step(template: TemplateHandle, code: str, *folders: HostFolder) -> Any:
    """The value of one step in a session that sees the folders."""
    _number, sock = template.spawn(ORDER, folders)
    sock.settimeout(20)
    with closing(Link(sock)) as link:
        frame = link.receive()
        assert frame.kind is Kind.READY, frame.body
        body = {"step": 1, "code": code, "tools": [], "values": {}, "fork": False, "token": ""}
        link.send(Kind.RUN, body)
        return value_of(until(link, Kind.DONE))


def test_a_session_sees_the_folder_and_cannot_change_it(
    template: TemplateHandle, folder: Path
) -> None:
    seen = step(template, LOOK, HostFolder(folder, "seen"))
    assert seen["text"] == "of the host"
    assert seen["entries"] == ["inner", "link"]
    assert seen["above"]
    assert {seen["write"], seen["make"], seen["remove"]} == {"Read-only file system"}
    assert (folder / "inner" / "a.txt").read_text() == "of the host"


def test_a_link_that_leads_out_leads_nowhere(template: TemplateHandle, folder: Path) -> None:
    code = "import os\n[os.readlink('seen/link'), os.path.exists('seen/link')]"
    assert step(template, code, HostFolder(folder, "seen")) == ["/etc/passwd", False]


def test_each_session_sees_its_own_folders(template: TemplateHandle, folder: Path) -> None:
    code = "import os\nsorted(os.listdir('.'))"
    inner = HostFolder(folder / "inner", "b")
    assert step(template, code, HostFolder(folder, "a"), inner) == ["a", "b"]
    assert step(template, code) == []
    assert step(template, code, inner) == ["b"]


def test_a_folder_that_may_be_changed_is_changed_on_the_host(
    template: TemplateHandle, folder: Path
) -> None:
    code = "open('seen/new.txt', 'w').write('of the code')"
    view = HostFolder(folder, "seen", read_only=False, owned=True)
    assert step(template, code, view) == 11
    made = folder / "new.txt"
    assert made.read_text() == "of the code"
    assert made.stat().st_uid == os.geteuid()


@pytest.mark.parametrize("name", ["no such folder", "file", "link"])
def test_what_is_not_a_folder_is_refused(
    template: TemplateHandle, tmp_path: Path, name: str
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    with pytest.raises(OSError, match=name):
        template.spawn(ORDER, [HostFolder(tmp_path / name, "seen")])
    assert step(template, "1 + 1") == 2


def test_descriptors_do_not_pile_up(template: TemplateHandle, folder: Path) -> None:
    inside = Path(f"/proc/{template._process.pid}/fd")
    step(template, "1", HostFolder(folder, "seen"))
    own = Path("/proc/self/fd")
    before = len(list(own.iterdir())), len(list(inside.iterdir()))
    for _ in range(5):
        step(template, "1", HostFolder(folder, "seen", owned=True))
    assert len(list(own.iterdir())) <= before[0]  # others may be closed meanwhile
    assert len(list(inside.iterdir())) <= before[1]
