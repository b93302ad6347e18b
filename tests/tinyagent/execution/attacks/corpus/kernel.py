"""Past Python: system calls by number, the C library, memory."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, ended, group

# A call that the kernel looked at, even if it found fault with its arguments, was not refused.
_CALL = """
import ctypes, errno, os, struct
libc = ctypes.CDLL(None, use_errno=True)
REFUSED = {errno.EPERM, errno.ENOSYS, errno.EACCES, errno.ESRCH, errno.ENOENT}
def call(number, *arguments):
    outcome = libc.syscall(ctypes.c_long(number), *arguments)
    return outcome, ctypes.get_errno() if outcome < 0 else 0
def asks(number, *arguments):
    outcome, error = call(number, *arguments)
    if error not in REFUSED: print(WON, number, outcome, errno.errorcode.get(error))
"""


def _calls(*, root: bool = False, proof: Proof = Proof.ESCAPES, **calls: str) -> Iterator[Attack]:
    """One attack a system call of x86-64: its number and arguments, harmless if let through."""
    for name, arguments in calls.items():
        code = f"{_CALL}\nasks({arguments})"
        yield attack(name.replace("_", " "), code, root=root, proof=proof)


CALLS = group(
    "system calls",
    _calls(
        memfd_create="319, b'x', 0",
        memory_without_a_map="447, 0",
        userfaultfd="323, 1",
        io_uring_setup="425, 1, ctypes.create_string_buffer(200)",
        keyctl="250, 0, -3, 0",
        add_key="248, b'user', b'canary', b'x', 1, -3",
        ptrace_the_victim="101, 0x4206, VICTIM, 0, 0",
        read_the_memory_of_the_victim=(
            "310, VICTIM, ctypes.create_string_buffer(16), 0, ctypes.create_string_buffer(16), 1, 0"
        ),
        write_the_memory_of_the_victim=(
            "311, VICTIM, ctypes.create_string_buffer(16), 0, ctypes.create_string_buffer(16), 1, 0"
        ),
        compare_with_the_victim="312, VICTIM, VICTIM, 0, 0, 0",
        pidfd_open="434, VICTIM, 0",
        unshare_users="272, 0x10000000",
        a_message_queue="68, 0, 0o1600",
        shared_memory="29, 0, 4096, 0o1600",
        a_semaphore="64, 0, 1, 0o1600",
        posix_message_queue="240, MARK.encode(), 0o102, 0o600, 0",
        inotify="294, 0",
        fanotify="300, 0x200, 0",
        file_handle="303, -100, FILE.encode(), ctypes.create_string_buffer(struct.pack('Ii', "
        "128, 0),"
        " 200), ctypes.create_string_buffer(8), 0",
        open_tree="428, -100, FOLDER.encode(), 0",
        personality="135, 0x0040000",
        landlock_again="444, 0, 0, 1",
        cachestat="451, 0, 0, 0, 1",
        set_a_limit_of_the_victim="302, VICTIM, 4, 0, ctypes.create_string_buffer(16)",
        vmsplice="278, 0, 0, 0, 0xff",
        splice="275, 0, 0, 1, 0, 1, 0",
        process_madvise="440, -1, 0, 0, 0, 0",
        ioprio_of_the_victim="251, 1, VICTIM, 0x4000",
        move_pages_of_the_victim="279, VICTIM, 0, 0, 0, 0, 0",
        robust_list_of_the_victim="274, VICTIM, ctypes.create_string_buffer(8),"
        " ctypes.create_string_buffer(8)",
    ),
    _calls(
        proof=Proof.NONE,  # this kernel, or its owner, has none of them
        load_a_module="175, 0, 0, 0",
        load_a_module_of_a_file="313, -1, b'', 0",
        load_a_kernel="246, 0, 0, 0, 0xffffff",
        ports="173, 0, 0, 0",
        accounting="163, b''",
        a_number_that_is_none="9999, 0",
    ),
    _calls(
        root=True,
        perf_event_open="298, ctypes.create_string_buffer(struct.pack('II', 1, 64), 128),"
        " 0, -1, -1, 0",
        change_the_root_of_none="161, b'/'",
        unshare_mounts="272, 0x00020000",
        unshare_network="272, 0x40000000",
        join_a_namespace="308, os.open('/dev/null', os.O_RDONLY), 0",
        mount="165, b'none', (FOLDER + '/nowhere').encode(), b'nothing', 0xffffffff, 1",
        unmount="166, b'', 0xffff",
        fsopen="430, b'tmpfs', 0",
        pivot_root="155, b'/', b'/'",
        bpf="321, 0, 0, 0",
        reboot="169, 0, 0, 0, 0",
        name_of_the_host="170, b'x', -1",
        name_of_the_domain="171, b'x', -1",
        time_of_the_host="164, 0, 0",
        clock_of_the_host="227, 0, ctypes.create_string_buffer(struct.pack('qq', 1, -1))",
        swap="167, b'', 0xffffffff",
        log_of_the_kernel="103, 10, 0, 0",
        quota="179, 0xffffffff, 0, 0, 0",
        open_by_handle="304, -100, ctypes.create_string_buffer(struct.pack('Ii', 0, 0), 64), 0",
        setuid="105, 0",
        groups="116, 0, 0",
        capabilities="126, ctypes.create_string_buffer(struct.pack('Ii', 0, 0)), 0",
    ),
    attack(
        "a descriptor of the victim's is taken",
        f"""{_CALL}
victim, _ = call(434, VICTIM, 0)
asks(438, victim, 0, 0)
""",
    ),
    attack(
        "a program that is not a file is run",
        f"""{_CALL}
file = os.memfd_create("tool", 0)
os.write(file, b"#!/bin/sh\\nexit 7\\n")
pid = os.fork()
if not pid:
    call(322, file, b"", (ctypes.c_char_p * 2)(b"x", None), 0, 0x1000)
    os._exit(1)
if os.waitpid(pid, 0)[1] >> 8 == 7: print(WON)
""",
    ),
    attack(
        "a child in a new user namespace",
        f"""{_CALL}
pid, error = call(56, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: libc._exit(0)
if pid > 0: print(WON, os.waitpid(pid, 0))
""",
    ),
    attack(
        "a child by clone3",
        f"""{_CALL}
size = 88
arguments = ctypes.create_string_buffer(struct.pack("8Q", 0x10000000, 0, 0, 0, 17, 0, 0, 0), size)
pid, error = call(435, arguments, size)
if pid == 0: libc._exit(0)
if pid > 0: print(WON, os.waitpid(pid, 0))
""",
    ),
    attack(
        "system of the C library",
        f"""{_CALL}
if libc.system(b"exit 7") >> 8 == 7: print(WON)
""",
    ),
    attack(
        "open of the C library",
        f"""{_CALL}
file = libc.open(FILE.encode(), 0)
text = ctypes.create_string_buffer(100)
if libc.read(file, text, 100) > 0: print(WON, text.value)
""",
    ),
    attack(
        "fopen of the C library",
        f"""{_CALL}
libc.fopen.restype = ctypes.c_void_p
file = libc.fopen(FILE.encode(), b"r")
text = ctypes.create_string_buffer(100)
if file and libc.fgets(text, 100, ctypes.c_void_p(file)): print(WON, text.value)
""",
    ),
    attack(
        "openat2",
        f"""{_CALL}
how = struct.pack("QQQ", 0, 0, 0)
file, error = call(437, -100, FILE.encode(), how, len(how))
if file >= 0: print(WON, os.read(file, 100))
""",
    ),
    attack(
        "the calls of another machine",
        f"""{_CALL}
file, error = call(0x40000000 + 2, FILE.encode(), 0)
if file >= 0: print(WON, os.read(file, 100))
""",
        proof=Proof.NONE,
    ),
    attack(
        "calls of 32 bits",
        """
        import ctypes, mmap
        code = mmap.mmap(-1, 4096, prot=7)
        # mov eax, 20 (getpid of 32 bits); int 0x80; ret
        code.write(bytes([0xB8, 20, 0, 0, 0, 0xCD, 0x80, 0xC3]))
        place = ctypes.addressof(ctypes.c_char.from_buffer(code))
        print(WON, ctypes.CFUNCTYPE(ctypes.c_int)(place)())
        """,
        proof=Proof.NONE,
    ),
    attack(
        "terminal input is forged",
        f"""{_CALL}
if libc.ioctl(0, 0x5412, b"x") == 0: print(WON)
""",
        proof=Proof.NONE,
    ),
    attack(
        "the filter is taken off",
        f"""{_CALL}
call(157, 22, 1, 0, 0, 0)   # seccomp: strict would end it
call(157, 38, 0, 0, 0, 0)   # no_new_privs: off
call(317, 1, 0, ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 1, 0)))
print(len(open(FILE).read()) and WON)
""",
        proof=Proof.NONE,
    ),
)

MAPPED = group(
    "memory of others",
    attack(
        "memory of the machine",
        """
        import os
        for path in ("/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore", "/dev/kvm"):
            try: print(WON, os.open(path, os.O_RDONLY), path)
            except OSError: pass
        """,
        root=True,
    ),
    attack(
        "memory of the host",
        """
        with open(f"/proc/{HOST}/mem", "rb") as file: print(WON, file)
        """,
        root=True,
    ),
    attack(
        "its own memory by a file",
        """
        import ctypes
        text = ctypes.create_string_buffer(b"before")
        with open("/proc/self/mem", "r+b", 0) as file:
            file.seek(ctypes.addressof(text))
            file.write(b"after!")
        print(WON, text.value)
        """,
    ),
    attack(
        "the first page",
        """
        import ctypes
        mmap = ctypes.CDLL(None).mmap
        mmap.restype = ctypes.c_void_p
        mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
        if mmap(0, 4096, 3, 0x32, -1, 0) in (0, None): print(WON)
        """,
        root=True,
    ),
    attack(
        "secrets that a fork would have kept",
        """
        import gc, re
        for thing in gc.get_referents(*gc.get_objects()):
            for value in list(thing.values()) if type(thing) is dict else ():
                if type(value) is bytes and re.fullmatch(rb"SECRET-[0-9a-f]{16}", value):
                    print(WON, value)
        """,
    ),
    attack(
        "all of its own memory",
        """
        import ctypes, re
        needle = b"SECRET" + rb"-[0-9a-f]{16}"
        for line in open("/proc/self/maps"):
            first, last = (int(end, 16) for end in line.split()[0].split("-"))
            if "rw-p" not in line or last - first > 2**26: continue
            for match in re.finditer(needle, ctypes.string_at(first, last - first)):
                print(WON, match.group())
        """,
    ),
    attack(
        "code that is data",
        """
        import ctypes, mmap
        code = mmap.mmap(-1, 4096, prot=7)
        code.write(bytes([0xB8, 39, 0, 0, 0, 0x0F, 0x05, 0x48, 0x31, 0xC0, 0x48, 0x8B, 0, 0xC3]))
        place = ctypes.addressof(ctypes.c_char.from_buffer(code))
        ctypes.CFUNCTYPE(ctypes.c_int)(place)()
        """,
        proof=Proof.CRASHES,
        checks=(ended,),
    ),
    attack(
        "the interpreter's own objects",
        """
        import ctypes
        ctypes.memset(id(None), 0, 8)
        ctypes.memset(id(True), 255, 24)
        """,
        proof=Proof.NONE,
        resets=True,
        may_lose=True,
    ),
)
