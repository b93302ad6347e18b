"""What code, or somebody outside meanwhile, may try with a workspace."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import EllipsisType
from typing import NamedTuple

from tests.support.trees import Tree

OUTSIDE: Tree = {"secret": b"the secret", "hard": b"one file, two names"}
SHOWN: Tree = {
    "a.txt": b"a\n",
    "sub/": None,
    "sub/b.txt": b"b\n",
    "hard.txt": b"one file, two names",
    "conf/": None,
    "conf/app.cfg": b"app",
    "keys/": None,
    "keys/known": b"known",
    ".git/": None,
    ".git/HEAD": b"ref: refs/heads/main",
    ".git/hooks/": None,
}
UNSHOWN: Tree = {
    ".env": b"KEY=the secret",
    "conf/.env.local": b"KEY=the secret",
    "keys/id_rsa": b"the secret",
    ".git/config": b"password = the secret",
}
PRELUDE = """
import ctypes, fcntl, os, shutil, mmap, sqlite3, stat, socket, threading, time, unicodedata
def write(path, text="new"):
    with open(path, "w") as file: file.write(text)
def refused(call, *arguments, **options):
    try: call(*arguments, **options)
    except (OSError, ValueError): return
    raise AssertionError(f"{call.__name__}{arguments} was not refused")
def absent(*paths):
    for path in paths:
        assert not os.path.lexists(path), path
        refused(open, path)
        refused(os.stat, path)
"""


def make(place: Path) -> Path:
    """The folder of the tricks, beside one that they must not reach."""
    outside, folder = place / "outside", place / "folder"
    for base, tree in ((outside, OUTSIDE), (folder, {**SHOWN, **UNSHOWN})):
        base.mkdir()
        for name in sorted(tree):
            content = tree[name]
            if content is None:
                (base / name).mkdir(exist_ok=True)
            elif name != "hard.txt":
                (base / name).parent.mkdir(exist_ok=True)
                (base / name).write_bytes(content)
    os.link(outside / "hard", folder / "hard.txt")
    os.mkfifo(folder / "pipe")
    for name, target in (
        ("link_out", "../outside/secret"),
        ("link_folder", "../outside"),
        ("link_absolute", "/etc/passwd"),
        ("link_in", "a.txt"),
        ("sub/link_chain", "../link_folder/secret"),
    ):
        (folder / name).symlink_to(target)
    return folder


class Trick(NamedTuple):
    """One trick, and what must come of it.

    Args:
        name: what is tried.
        code: run in the sandbox; it raises if something is not refused that should be.
        written: what a commit of all changes in the folder; None for what is deleted, `...` for
            content that depends on time.
        withheld: what a commit leaves out.
        meanwhile: what happens to the folder between the step and the commit.
        conflict: whether the commit must be refused.
    """

    name: str
    code: str = "write('a.txt', 'changed')"
    written: dict[str, bytes | EllipsisType | None] = {}  # noqa: RUF012 - never changed
    withheld: frozenset[str] = frozenset()
    meanwhile: Callable[[Path], object] | None = None
    conflict: bool = False


def held(*paths: str) -> frozenset[str]:
    """Paths that a commit leaves out."""
    return frozenset(paths)


def _becomes_link(name: str, target: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        path = folder / name
        if path.is_dir():
            shutil.move(path, folder.parent / "moved away")
        elif path.exists():
            path.unlink()
        path.symlink_to(target)

    return change


def _becomes_pipe(name: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        os.mkfifo(folder / name)

    return change


def _becomes_file(name: str) -> Callable[[Path], object]:
    def change(folder: Path) -> None:
        shutil.rmtree(folder / name)
        (folder / name).write_bytes(b"")

    return change


LINKS = (
    Trick("a link to a file outside is not there", "absent('link_out')"),
    Trick("a link to a folder outside is not there", "absent('link_folder', 'link_folder/secret')"),
    Trick("an absolute link is not there", "absent('link_absolute')"),
    Trick("a chain of links is not there", "absent('sub/link_chain')"),
    Trick("a link within is not there", "absent('link_in'); refused(os.remove, 'link_in')"),
    Trick("an absolute link is made", "refused(os.symlink, '/etc/passwd', 'x')"),
    Trick("a link to outside is made", "refused(os.symlink, '../../outside', 'sub/x')"),
    Trick("a link within is made", "refused(os.symlink, 'a.txt', 'x')"),
    Trick("a hard link is made", "refused(os.link, 'a.txt', 'x')"),
    Trick("a path leads out", "refused(open, '../outside/secret'); refused(open, '../../x', 'w')"),
    Trick("a file where a link is", "write('link_out')", withheld=held("link_out")),
    Trick(
        "a folder where a link is",
        "os.mkdir('link_folder'); write('link_folder/secret')",
        withheld=held("link_folder/", "link_folder/secret"),
    ),
    Trick("a file with a second name", "write('hard.txt')", {"hard.txt": b"new"}),
    Trick(
        "a file becomes a link meanwhile",
        meanwhile=_becomes_link("a.txt", "../outside/secret"),
        conflict=True,
    ),
    Trick(
        "a folder becomes a link meanwhile",
        "write('sub/b.txt'); write('sub/hard')",
        meanwhile=_becomes_link("sub", "../outside"),
        conflict=True,
    ),
    Trick(
        "a link where a new file is to be",
        "write('new')",
        meanwhile=_becomes_link("new", "../outside/new"),
        conflict=True,
    ),
    Trick(
        "a link where a new folder is to be",
        "os.mkdir('new'); write('new/x')",
        meanwhile=_becomes_link("new", "../outside"),
        conflict=True,
    ),
    Trick(
        "a folder becomes a file meanwhile",
        "write('sub/new')",
        meanwhile=_becomes_file("sub"),
        conflict=True,
    ),
)

SPECIAL = (
    Trick("a pipe of the folder is not there", "absent('pipe')"),
    Trick("a pipe is made", "refused(os.mkfifo, 'x')"),
    Trick("a device is made", "refused(os.mknod, 'x', stat.S_IFCHR, os.makedev(1, 3))"),
    Trick("a whiteout is made", "refused(os.mknod, 'x', stat.S_IFCHR, 0)"),
    Trick("a socket is made", "refused(lambda: socket.socket(socket.AF_UNIX).bind('x'))"),
    Trick("a file becomes a pipe meanwhile", meanwhile=_becomes_pipe("a.txt"), conflict=True),
    Trick(
        "a pipe where a new file is to be",
        "write('new')",
        meanwhile=_becomes_pipe("new"),
        conflict=True,
    ),
)

NAMES = (
    Trick("names of other layers", "write('.wh.a.txt'); write('.wh..wh..opq')",
          {".wh.a.txt": b"new", ".wh..wh..opq": b"new"}),
    Trick("a line break in a name", "write('x\\ny')", {"x\ny": b"new"}),
    Trick("an escape sequence in a name", "write('x\\x1b[2Jy')", {"x\x1b[2Jy": b"new"}),
    Trick("a name that reads backwards", "write('x\\u202etxt.exe')", {"x\u202etxt.exe": b"new"}),
    Trick("a name that is not UTF-8", "write(b'x\\xff')", withheld=held("x\\xff")),
    Trick("a name of dots, spaces and a dash", "write('...'); write(' '); write('-rf')",
          {"...": b"new", " ": b"new", "-rf": b"new"}),
    Trick("the longest name", "write('x' * 255)", {"x" * 255: b"new"}),
    Trick("another case", "write('A.TXT')", {"A.TXT": b"new"}),
    Trick("a name that is shown like another", "write(b'x\\xff'); write('x\\\\xff')",
          {"x\\xff": b"new"}, held("x\\xff")),
    Trick("two normal forms", "write('\\u00e9'); write('e\\u0301')",
          {"\u00e9": b"new", "e\u0301": b"new"}),
    Trick("commas, colons and backslashes", "os.mkdir('a,b:c\\\\d'); write('a,b:c\\\\d/x')",
          {"a,b:c\\d/": None, "a,b:c\\d/x": b"new"}),
)  # fmt: skip

GIT = (
    Trick("a hook", "write('.git/hooks/pre-commit')", withheld=held(".git/hooks/pre-commit")),
    Trick("Git's head", "write('.git/HEAD')", withheld=held(".git/HEAD")),
    Trick("a configuration", "absent('.git/config'); write('.git/config')",
          withheld=held(".git/config")),
    Trick("another case of .git", "os.mkdir('.GIT'); write('.GIT/x')",
          withheld=held(".GIT/", ".GIT/x")),
    Trick("dots and spaces after .git", "os.mkdir('.git.'); os.mkdir('.git '); os.mkdir('git~1')",
          withheld=held(".git./", ".git /", "git~1/")),
    Trick("an invisible letter in .git", "os.mkdir('.g\\u200cit'); write('.g\\u200cit/x')",
          withheld=held(".g\\u200cit/", ".g\\u200cit/x")),
    Trick("a repository of its own", "os.mkdir('sub/.git'); write('sub/.git/HEAD')",
          withheld=held("sub/.git/", "sub/.git/HEAD")),
    Trick(".git is removed", "shutil.rmtree('.git', ignore_errors=True)",
          withheld=held(".git/HEAD", ".git/hooks/")),
)  # fmt: skip

HIDDEN = (
    Trick("a hidden file", "absent('.env', './.env', 'sub/../.env', os.path.abspath('.env'))\n"
          "assert '.env' not in os.listdir() and '.env' not in {e.name for e in os.scandir()}"),
    Trick("hidden files below", "absent('conf/.env.local', 'keys/id_rsa')\n"
          "assert os.listdir('keys') == ['known']"),
    Trick("a file of a hidden name", "write('.env')", withheld=held(".env")),
    Trick("spellings of a hidden name", "for name in ('.ENV', '.env.', '.env::$DATA', 'x.Pem'):"
          " write(name)", withheld=held(".ENV", ".env.", ".env::$DATA", "x.Pem")),
    Trick("a folder with a hidden file is removed", "shutil.rmtree('conf')",
          {"conf/app.cfg": None}),
    Trick("a file takes the place of such a folder", "shutil.rmtree('conf'); write('conf')",
          {"conf/app.cfg": None}, held("conf")),
    Trick("a folder with a hidden file is renamed", "os.rename('keys', 'k')",
          {"keys/known": None, "k/": None, "k/known": b"known"}),
    Trick("a staging folder", "os.mkdir('.tinyagent-commit'); write('.tinyagent-commit/journal')",
          withheld=held(".tinyagent-commit/", ".tinyagent-commit/journal")),
)  # fmt: skip

LAYERS = (
    Trick("marks in attributes", "refused(os.setxattr, 'sub', 'user.overlay.opaque', b'y')\n"
          "refused(os.setxattr, 'a.txt', 'user.overlay.redirect', b'/x')"),
    Trick("the layers", "absent('/sandbox/upper', '/sandbox/lower', '/sandbox/masks')"),
    Trick("the folder above", "write('../note'); os.mkdir('../upper')"),
    Trick("a mapped file", "with open('sub/b.txt', 'r+b') as file:\n"
          "    mmap.mmap(file.fileno(), 0)[0:1] = b'B'", {"sub/b.txt": b"B\n"}),
    Trick("rights of the owner", "os.close(os.open('x', os.O_CREAT, 0o6777))\n", {"x": b""}),
    Trick("a file that cannot be read", "os.close(os.open('x', os.O_CREAT, 0))",
          withheld=held("x")),
    Trick("a folder that cannot be read", "os.mkdir('x', 0)", withheld=held("x")),
    Trick("a file without a name", "file = open('x', 'w'); file.write('x'); os.remove('x')"),
    Trick("a database", "with sqlite3.connect('x.db') as db: db.execute('create table t (a)')\n"
          "db.close(); assert os.path.getsize('x.db'); os.remove('x.db')"),
)  # fmt: skip

SIZES = (
    Trick("a huge sparse file", "with open('x', 'w') as file: refused(file.truncate, 2**40)\n"
          "os.remove('x')"),
    Trick("a full disk", "def fill():\n    with open('x', 'wb') as file:\n"
          "        for _ in range(400): file.write(bytes(2**20))\n"
          "refused(fill); os.remove('x')"),
    Trick("a path that is too long", "os.makedirs('/'.join(['x' * 200] * 6))",
          dict.fromkeys("/".join(["x" * 200] * n) + "/" for n in range(1, 5)),
          held(*("/".join(["x" * 200] * n) + "/" for n in (5, 6)))),
    Trick("folders deeper than any path", "for _ in range(60): os.mkdir('y' * 100); os.chdir('y' *"
          " 100)", dict.fromkeys("/".join(["y" * 100] * n) + "/" for n in range(1, 10))),
    Trick("many files", "os.mkdir('m')\nfor n in range(300): write(f'm/{n}', '')",
          {"m/": None, **{f"m/{n}": b"" for n in range(300)}}),
)  # fmt: skip

OTHERS = (
    Trick("a child that goes on writing", "write('x')\nif os.fork() == 0:\n    time.sleep(0.3)\n"
          "    while True: write('x', 'later')\n", {"x": ...}),
    Trick("a thread that goes on writing", "def spin():\n    time.sleep(0.05)\n"
          "    while True: write('x', 'later')\nwrite('x')\n"
          "threading.Thread(target=spin, daemon=True).start()", {"x": ...}),
    Trick("a text that looks like a diff",
          "write('x', '\\x1b[31m+++ b/a.txt\\r\\u2028@@ -1 +1 @@')",
          {"x": b"\x1b[31m+++ b/a.txt\r\xe2\x80\xa8@@ -1 +1 @@"}),
    Trick("everything is removed", "for e in os.scandir():\n    (shutil.rmtree if e.is_dir() else"
          " os.remove)(e.path)",
          dict.fromkeys(("a.txt", "sub/b.txt", "hard.txt", "conf/app.cfg", "keys/known")),
          held(".git/HEAD", ".git/hooks/")),
    Trick("somebody writes into a folder that is removed", "shutil.rmtree('sub')",
          {"sub/b.txt": None, "sub/c": b""},
          meanwhile=lambda folder: (folder / "sub" / "c").touch()),
)  # fmt: skip

CALLS = (
    Trick("a rename that leaves a whiteout",
          "assert ctypes.CDLL(None).renameat2(-100, b'a.txt', -100, b'x', 4) == -1"),
    Trick("an exchange of two files",
          "assert ctypes.CDLL(None).renameat2(-100, b'a.txt', -100, b'sub/b.txt', 2) == -1"),
    Trick("a link to a file without a name", "refused(lambda: os.link(f'/proc/self/fd/"
          "{os.open(\".\", os.O_TMPFILE | os.O_RDWR)}', 'x', follow_symlinks=True))"),
    Trick("a lease on a file of the host", "refused(fcntl.fcntl, open('a.txt'), 1024, 0)"),
    Trick("a notice of the host's changes",
          "refused(fcntl.fcntl, os.open('.', os.O_RDONLY), 1026, 2)"),
    Trick("a file that cannot be changed", "refused(fcntl.ioctl, open('a.txt', 'a'), 0x40086602,"
          " bytes([16, 0, 0, 0]))"),
    Trick("a clone of the host's blocks", "refused(fcntl.ioctl, open('x', 'w'), 0x40049409,"
          " open('a.txt').fileno())\nos.remove('x')"),
)  # fmt: skip

STATES = (
    Trick("the same size", "write('a.txt', 'A\\n')", {"a.txt": b"A\n"}),
    Trick("the same content", "write('a.txt', 'a\\n')"),
    Trick("two files change places", "os.rename('a.txt', 't'); os.rename('sub/b.txt', 'a.txt')\n"
          "os.rename('t', 'sub/b.txt')", {"a.txt": b"b\n", "sub/b.txt": b"a\n"}),
    Trick("only the case of a name", "os.rename('a.txt', 'A.txt')",
          {"a.txt": None, "A.txt": b"a\n"}),
    Trick("a file takes the place of a folder with a link", "shutil.rmtree('sub'); write('sub')",
          {"sub/b.txt": None}, held("sub")),
    Trick("a working folder that is gone", "os.mkdir('d'); os.chdir('d'); os.rmdir('../d')"),
    Trick("a file that is written and removed", "write('x'); os.remove('x')"),
    Trick("streams of .git", "os.mkdir('.git::$INDEX_ALLOCATION'); write('.git:x')",
          withheld=held(".git::$INDEX_ALLOCATION/", ".git:x")),
    Trick("a short name in capitals", "os.mkdir('GIT~1')", withheld=held("GIT~1/")),
    Trick("other invisible letters",
          "os.mkdir('.gi\u2060t'); write('.env\u200b'); write('.e\ufeffnv')",
          withheld=held(".gi\\u2060t/", ".env\\u200b", ".e\\ufeffnv")),
    Trick("another case of the staging folder", "os.mkdir('.TinyAgent-Commit')",
          withheld=held(".TinyAgent-Commit/")),
    Trick("what a commit has left", "os.mkdir('.tinyagent-commit.left-1')",
          withheld=held(".tinyagent-commit.left-1/")),
    Trick("the same content in a new file meanwhile", meanwhile=lambda folder: (
          (folder / "n").write_bytes(b"a\n"), (folder / "n").replace(folder / "a.txt")),
          conflict=True),
    Trick("a folder where a new file is to be", "write('new')",
          meanwhile=lambda folder: (folder / "new").mkdir(), conflict=True),
)  # fmt: skip

TRICKS = (*CALLS, *STATES, *LINKS, *SPECIAL, *NAMES, *GIT, *HIDDEN, *LAYERS, *SIZES, *OTHERS)
