from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import output_of

START = """
    import json, os, sys
    from worker.kernel import linux, mounts, namespaces
    from worker.kernel.keeper import Keeper
    namespaces.enter()
    namespaces.fork_inside()
    mounts.keep_to_ourselves()
    keeper = Keeper()
    trees = mounts.hold(mounts.python_paths())
    namespaces.drop_root()
    mounts.enter_root(trees)
    def error(function, *arguments):
        try:
            function(*arguments)
        except OSError as error:
            return str(error)
        return "done"
    if os.fork():
        os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
    linux.unshare(linux.CLONE_NEWNS)
    mounts.make_working_folder(1 << 20)
    os.chdir(mounts.SANDBOX)
    os.mkdir("seen")
"""


def request(folder: Path, **changes: object) -> str:
    status = folder.lstat()
    seen = {"path": str(folder), "device": status.st_dev, "inode": status.st_ino, "read_only": True}
    return repr({**seen, **changes})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    closed = tmp_path / "closed"
    closed.mkdir()
    shared = closed / "shared"
    shared.mkdir(mode=0o755)
    (shared / "a.txt").write_text("of the host")
    (shared / "a.txt").chmod(0o644)
    closed.chmod(0o700)
    return shared


def test_a_folder_that_no_path_leads_to_any_more_is_handed_over(folder: Path) -> None:
    code = f"""
    path = {str(folder)!r}
    hidden = not os.path.exists(path)
    mounts.attach(keeper.mount({request(folder)}), "seen")
    print(json.dumps({{
        "hidden": hidden,
        "entries": os.listdir("seen"),
        "text": open("seen/a.txt").read(),
        "write": error(open, "seen/a.txt", "w"),
        "above": os.listdir("seen/.."),
    }}))
    """
    assert json.loads(output_of(START + code)) == {
        "hidden": True,
        "entries": ["a.txt"],
        "text": "of the host",
        "write": "[Errno 30] Read-only file system: 'seen/a.txt'",
        "above": ["seen"],
    }


def test_a_folder_made_later_is_handed_over_too(tmp_path: Path) -> None:
    code = f"""
    path = {str(tmp_path / "later")!r}
    reason = error(keeper.mount, {{"path": path, "device": 1, "inode": 1, "read_only": True}})
    print(reason)
    """
    assert "No such file or directory" in output_of(START + code)
    (tmp_path / "later").mkdir(mode=0o755)
    code = f"""
    mounts.attach(keeper.mount({request(tmp_path / "later")}), "seen")
    print(os.listdir("seen"))
    """
    assert output_of(START + code) == "[]"


def test_another_folder_at_the_same_path_is_refused(folder: Path) -> None:
    code = f"print(error(keeper.mount, {request(folder, inode=1)}))"
    assert output_of(START + dedented(code)) == f"{folder} is another folder now"


def test_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(folder)
    code = f"print(error(keeper.mount, {request(folder, path=str(link))}))"
    assert "Not a directory" in output_of(START + dedented(code))


def test_requests_go_on_after_one_that_failed(folder: Path) -> None:
    code = f"""
    bad = error(keeper.mount, {request(folder, path="/no/such")})
    mounts.attach(keeper.mount({request(folder)}), "seen")
    print(os.listdir("seen"), bad)
    """
    assert output_of(START + code).startswith("['a.txt'] [Errno 2]")


def dedented(code: str) -> str:
    return f"    {code}\n"
