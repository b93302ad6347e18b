"""Changing what is the host's: files by every way there is to make, change or remove one."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, group


def changes(setup: str = "", /, **statements: str) -> Iterator[Attack]:
    """One attack a statement, which succeeds if nothing is raised."""
    for name, statement in statements.items():
        yield attack(name.replace("_", " "), f"{setup}\n{statement}\nprint(WON)")


def leaves(*, root: bool = False, **folders: str) -> Iterator[Attack]:
    """One attack a folder (an expression): make a file there, and say so."""
    for name, folder in folders.items():
        code = (
            f"import json, os, sys\npath = os.path.join({folder}, MARK)\n"
            "open(path, 'w').close()\nprint(WON, path)"
        )
        yield attack(name.replace("_", " "), code, root=root)


WRITES = group(
    "writes",
    changes(
        "import os, pathlib, shutil, socket, stat, tempfile, time",
        overwrite="open(FILE, 'w').write('x')",
        append="open(FILE, 'a').write('x')",
        update_in_place="open(FILE, 'r+b').write(b'x')",
        truncate="os.truncate(FILE, 0)",
        create="open(FOLDER + '/new', 'x').write('x')",
        temporary_there="tempfile.NamedTemporaryFile(dir=FOLDER, delete=False).write(b'x')",
        unnamed_there="os.open(FOLDER, os.O_RDWR | os.O_TMPFILE)",
        remove="os.remove(FILE)",
        remove_all="(os.stat(FOLDER), shutil.rmtree(FOLDER))",
        make_a_folder="os.makedirs(FOLDER + '/a/b')",
        rename_away="os.rename(FILE, FOLDER + '/other')",
        rename_out_of_the_folder="(open('mine', 'w').close(), os.rename('mine', FOLDER + '/m'))",
        replace="(open('mine', 'w').close(), os.replace('mine', FILE))",
        move="(open('mine', 'w').close(), shutil.move('mine', FOLDER))",
        copy_out="(open('mine', 'w').close(), shutil.copy('mine', FOLDER))",
        symlink_there="os.symlink('/etc', FOLDER + '/link')",
        through_a_symlink="(os.symlink(FOLDER, 'out'), open('out/new', 'w').close())",
        hard_link_there="(open('mine', 'w').close(), os.link('mine', FOLDER + '/hard'))",
        hard_link_of_it="os.link(FILE, 'hard')",
        dot_dot="open(os.path.relpath(FOLDER) + '/new', 'w').close()",
        folder_descriptor=(
            "os.open('new', os.O_CREAT | os.O_WRONLY, dir_fd=os.open(FOLDER, os.O_PATH))"
        ),
        chmod="os.chmod(FILE, 0o600)",
        chmod_by_descriptor="os.fchmod(os.open(FILE, os.O_RDONLY), 0o600)",
        chown="os.chown(FILE, os.getuid(), os.getgid())",
        times="os.utime(FILE, (1, 1))",
        times_by_descriptor="os.utime(os.open(FILE, os.O_RDONLY), (1, 1))",
        named_pipe="os.mkfifo(FOLDER + '/pipe')",
        socket_there="socket.socket(socket.AF_UNIX).bind(FOLDER + '/sock')",
        lock="__import__('fcntl').flock(os.open(FILE, os.O_RDONLY), 2)",
        map_shared=(
            "__import__('mmap').mmap(os.open(FILE, os.O_RDWR), 0).__setitem__(slice(0, 1), b'x')"
        ),
        extended_attribute="os.setxattr(FILE, 'user.x', b'x')",
        leave_the_folder="os.chdir(FOLDER)",
        make_writable_what_is_not="(os.chmod(FOLDER, 0o700), open(FOLDER + '/n', 'w').close())",
    ),
    leaves(temp_folder="'/tmp'", other_temp_folder="'/var/tmp'", shared_memory="'/dev/shm'"),
    leaves(
        root=True,
        standard_library="os.path.dirname(os.__file__)",
        a_package_of_it="os.path.dirname(json.__file__)",
        site_packages="[p for p in sys.path if p.endswith('-packages')][0]",
        prefix="sys.prefix",
        home="'/root'",
        etc="'/etc'",
        the_root="'/'",
    ),
    attack(
        "device node",
        """
        import os, stat
        os.mknod("disk", stat.S_IFBLK | 0o600, os.makedev(1, 1))
        print(WON)
        """,
        root=True,
    ),
    attack(
        "character device that is memory",
        """
        import os, stat
        os.mknod("memory", stat.S_IFCHR | 0o600, os.makedev(1, 1))
        print(WON, os.open("memory", os.O_RDONLY))
        """,
        proof=Proof.NONE,
    ),
    attack(
        "chroot",
        """
        import os
        os.mkdir("new-root")
        os.chroot("new-root")
        print(WON)
        """,
        root=True,
    ),
    attack(
        "set-user-id file",
        """
        import os, stat
        open("tool", "w").close()
        os.chmod("tool", 0o4755)
        if os.stat("tool").st_mode & stat.S_ISUID: print(WON)
        """,
    ),
    attack(
        "byte code of a module that the next session loads",
        """
        import importlib.util, json, os
        path = importlib.util.cache_from_source(json.__file__)
        os.close(os.open(path, os.O_RDWR))
        print(WON, path)
        """,
        root=True,
    ),
    attack(
        "source of the worker",
        """
        import os, sys
        paths = [getattr(m, "__file__", None) for m in list(sys.modules.values())]
        for path in filter(None, paths):
            try:
                os.close(os.open(path, os.O_RDWR))
            except OSError:
                continue
            print(WON, path)
        """,
    ),
    attack(
        "working folder is swapped for a link",
        """
        import os
        here = os.getcwd()
        os.chdir("/")
        os.rename(here, here + "-moved")
        os.symlink(FOLDER, here)
        print(WON)
        """,
        "open('secret.txt', 'w').write('changed')",
        proof=Proof.NONE,
    ),
    attack(
        "artifact that is a link to a file of the host",
        """
        import os
        os.symlink(FILE, "report.txt")
        os.symlink(FOLDER, "folder")
        os.symlink("/etc/passwd", "users.txt")
        print(len(open("report.txt").read()) and WON)
        """,
    ),
    attack(
        "artifact that is swapped for a link meanwhile",
        """
        import os, threading, time
        def swap():
            while time.monotonic() < stop:
                open("a", "w").close()
                os.replace("a", "report.txt")
                try:
                    os.symlink(FILE, "b")
                    os.replace("b", "report.txt")
                except OSError: pass
        stop = time.monotonic() + 0.3
        threading.Thread(target=swap, daemon=True).start()
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "artifacts with hostile names",
        r"""
        import os
        for name in ("\x1b[2Jx", "a\nb", "..\\..\\x", "...", "-rf", "\udcff", "%s{0}", "x" * 255):
            with open(name, "w") as file: file.write("x")
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "artifact that never ends",
        """
        import os
        os.mkfifo("pipe")
        try: os.symlink("/dev/zero", "zeros")
        except OSError: pass
        with open("sparse", "wb") as file: file.truncate(2**23)
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "folders nested without end",
        """
        import os
        for _ in range(3000):
            os.mkdir("d")
            os.chdir("d")
        open("deep", "w").close()
        """,
        proof=Proof.NONE,  # it is hard to remove
    ),
    attack(
        "very many small files",
        """
        import os
        for number in range(3000): open(f"f{number}", "w").close()
        """,
        proof=Proof.RUNS,
    ),
)
