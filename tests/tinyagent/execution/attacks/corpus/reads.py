"""Reading what is the host's: files, environment, processes, descriptors."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Proof, attack, gets, gets_any, group

FILES = group(
    "file reads",
    gets_any(
        "import os, io, codecs, fileinput, linecache, mmap, pathlib, shutil, socket, sys, array",
        open="open(FILE).read()",
        os_open="os.read(os.open(FILE, os.O_RDONLY), 100)",
        io_FileIO="io.FileIO(FILE).readall()",
        codecs_open="codecs.open(FILE).read()",
        pathlib="pathlib.Path(FILE).read_bytes()",
        fileinput="list(fileinput.input([FILE]))",
        linecache="linecache.getlines(FILE)",
        mmap="mmap.mmap(os.open(FILE, os.O_RDONLY), 0, prot=mmap.PROT_READ)[:]",
        copied_into_the_folder="open(shutil.copyfile(FILE, 'copy')).read()",
        dot_dot="open(os.path.relpath(FILE)).read()",
        opener="open('x', opener=lambda *_: os.open(FILE, os.O_RDONLY)).read()",
        a_directory_descriptor=(
            "os.read(os.open('secret.txt', os.O_RDONLY, dir_fd=os.open(FOLDER, os.O_RDONLY)), 100)"
        ),
        a_path_descriptor="open('/proc/self/fd/%d' % os.open(FILE, os.O_PATH)).read()",
        sendfile=(
            "(lambda a, b: (os.sendfile(a.fileno(), os.open(FILE, os.O_RDONLY), 0, 100),"
            " b.recv(100)))(*socket.socketpair())"
        ),
        copy_file_range=(
            "(os.copy_file_range(os.open(FILE, os.O_RDONLY),"
            " os.open('copied', os.O_RDWR | os.O_CREAT), 100), open('copied').read())[1]"
        ),
        array_fromfile="(lambda a: (a.fromfile(open(FILE, 'rb'), 10), a)[1])(array.array('B'))",
        folder_listing="os.listdir(FOLDER)",
        folder_walk="list(os.walk(FOLDER))",
        folder_scan="[entry.name for entry in os.scandir(FOLDER)]",
        folder_glob="list(pathlib.Path(FOLDER).glob('*'))",
        chdir_and_look="(os.chdir(FOLDER), os.listdir('.'))[1]",
        source_of_the_project="open(SOURCE).read()",
        users="'root:x:0:' in open('/etc/passwd').read()",
        shadow_or_its_like=(
            "[path for path in ('/etc/shadow', '/etc/hosts', '/etc/group', '/etc/fstab')"
            " if os.access(path, os.R_OK) and open(path).read()]"
        ),
        the_root="set(os.listdir('/')) & {'boot', 'home', 'media', 'mnt', 'opt', 'srv', 'var'}"
        " - {p.split('/')[1] for p in (sys.prefix, sys.base_prefix, *sys.path) if p[:1] == '/'}",
        other_temp_folders="[n for n in os.listdir('/tmp') if 'canaries-' in n]",
        machine_id="open('/etc/machine-id').read()",
        boot_log="os.path.isdir('/var/log') and os.listdir('/var/log')",
        site_of_a_link="(os.symlink(FILE, 'link'), open('link').read())[1]",
        site_of_a_hard_link="(os.link(FILE, 'hard'), open('hard').read())[1]",
        rename_into_the_folder="(os.rename(FILE, 'moved'), open('moved').read())[1]",
        trusted_wrappers="__import__('tokenize').open(FILE).read()",
        imported_as_source=(
            "__import__('importlib.machinery').machinery.SourceFileLoader('m', FILE).get_data(FILE)"
        ),
    ),
    gets_any(
        "import os, sys",
        root=True,
        homes="[n for p in ('/home', '/root') if os.path.isdir(p) for n in os.listdir(p)"
        " if not any(at.startswith(f'{p}/{n}') for at in"
        " (sys.prefix, sys.base_prefix, *sys.path))]",
    ),
    attack(
        "by a compile error's text",
        """
        from importlib.machinery import SourceFileLoader
        try:
            SourceFileLoader("secret", FILE).load_module()
        except (SyntaxError, NameError) as error:
            print(WON, error, getattr(error, "text", ""))
        """,
    ),
    attack(
        "by a traceback's lines",
        """
        exec(compile("raise ValueError", FILE, "exec"))
        """,
        """
        import traceback
        try:
            exec(compile("1/0", FILE, "exec"))
        except ZeroDivisionError:
            text = traceback.format_exc()
            if "SECRET" in text: print(WON, text)
        """,
    ),
)

HIDDEN = group(
    "hidden files",
    gets_any(
        "import os, stat, pathlib",
        stat="os.stat(FILE).st_size == SIZE",
        lstat="os.lstat(FILE).st_size == SIZE",
        exists="os.path.exists(FILE)",
        access="os.access(FILE, os.F_OK)",
        statvfs="os.statvfs(FOLDER)",
        first_process="os.readlink(f'/proc/{VICTIM}/exe')",
        realpath="pathlib.Path(FOLDER, '..', 'host', 'secret.txt').resolve(strict=True)",
        is_a_folder="os.path.isdir(FOLDER)",
        getxattr="os.listxattr(FILE) == [] and 'it is there'",
        pathconf="os.pathconf(FILE, 'PC_NAME_MAX')",
    ),
)

PROCESSES = group(
    "other processes",
    gets_any(
        "import os",
        environment_of_the_host=(
            "os.path.exists(f'/proc/{HOST}') and open(f'/proc/{HOST}/environ', 'rb').read()"
        ),
        own_environment="[v for v in os.environ.values() if 'SECRET' in v]",
        own_environment_bytes="[v for v in os.environb.values() if b'SECRET' in v]",
        own_environment_by_c="__import__('ctypes').CDLL(None).getenv(b'SANDBOX_CANARY')",
        environment_at_the_start="b'SECRET' in open('/proc/self/environ', 'rb').read()",
        command_lines="open(f'/proc/{VICTIM}/cmdline').read()",
        list_of_processes="[n for n in os.listdir('/proc') if n.isdigit() and int(n) == VICTIM]",
        root_of_the_host="os.listdir(f'/proc/{HOST}/root' + '/etc')",
        root_of_the_victim="open(f'/proc/{VICTIM}/root{FILE}').read()",
        folder_of_the_host="os.listdir(f'/proc/{HOST}/cwd')",
        descriptors_of_the_host="os.listdir(f'/proc/{HOST}/fd')",
        maps_of_the_host="open(f'/proc/{HOST}/maps').read()",
        connections="open('/proc/net/tcp').read().count('\\n') > 1",
        abstract_sockets="ABSTRACT[1:] in open('/proc/net/unix').read()",
        scheduling_of_the_victim="os.sched_getaffinity(VICTIM)",
        priority_of_the_victim="os.getpriority(os.PRIO_PROCESS, VICTIM) + 1",
        group_of_the_victim="os.getpgid(VICTIM)",
        limits_of_the_victim=(
            "__import__('resource').prlimit(VICTIM, __import__('resource').RLIMIT_CPU)"
        ),
        interfaces="os.listdir('/sys/class/net/../../devices')",
        block_devices="os.listdir('/sys/class/block')",
        device_nodes="set(os.listdir('/dev')) & {'mem', 'port', 'vda', 'sda', 'kmsg', 'kvm'}",
    ),
    attack(
        "environment of any",
        """
        import glob
        for path in glob.glob("/proc/[0-9]*/environ"):
            try:
                with open(path, "rb") as file: text = file.read()
            except OSError: continue
            if b"SECRET" in text: print(WON, path, text)
        """,
    ),
    gets(
        "root of the first",
        "os.listdir('/proc/1/root' + '/home')",
        "import os",
        proof=Proof.NONE,
    ),
)

DESCRIPTORS = group(
    "descriptors",
    attack(
        "each that is open is read",
        """
        import os, stat
        for number in range(3, 257):
            try:
                kind = os.fstat(number).st_mode
                text = os.pread(number, 100, 0) if stat.S_ISREG(kind) else b""
            except OSError:
                continue
            if b"SECRET" in text: print(WON, number, text)
        """,
    ),
    attack(
        "each that is a folder is listed",
        """
        import os, stat
        there = os.open(FOLDER + "/..", os.O_RDONLY) if os.path.exists(FOLDER) else -1
        for number in range(3, 257):
            try:
                if stat.S_ISDIR(os.fstat(number).st_mode):
                    print(WON, number, os.listdir(number))
            except OSError:
                continue
        """,
    ),
    attack(
        "a folder left open leads out",
        """
        import os
        os.path.exists(FOLDER) and os.open(FOLDER, os.O_RDONLY)
        for number in range(3, 257):
            for name in ("..", "../..", "../host/secret.txt", "secret.txt", "../../etc/hostname"):
                try:
                    got = os.stat(name, dir_fd=number)
                except OSError:
                    continue
                print(WON, number, name)
        """,
    ),
    attack(
        "each that is a socket is looked at",
        """
        import os, socket
        for number in range(0, 257):
            try:
                sock = socket.socket(fileno=os.dup(number))
            except OSError:
                continue
            if sock.family != socket.AF_UNIX: print(WON, sock)
            try:
                if sock.getpeername() or sock.getsockname(): print(WON, sock)
            except OSError:
                pass
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "the standard ones are written to",
        """
        import os
        for number in (0, 1, 2):
            try:
                os.write(number, b"SECRET seen on the host's terminal")
            except OSError:
                pass
        print(os.read(0, 10))
        """,
        proof=Proof.NONE,
    ),
    attack(
        "the standard ones are closed",
        "import os\nos.closerange(0, 3)",
        "print('still here')",
        proof=Proof.NONE,
    ),
    attack(
        "all are closed",
        "import os\nos.closerange(0, 4096)",
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "as many as there may be are opened",
        """
        import os
        held = []
        try:
            while len(held) < 5000: held.append(os.dup(0))
        except OSError: pass
        if len(held) >= 1000: print(WON, len(held))
        """,
        may_lose=True,
    ),
)
