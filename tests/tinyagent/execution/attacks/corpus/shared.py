"""What all sessions and the host have in common: files that all may read, and their names."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import attack, gets, group

_OPEN = """
import fcntl, os, struct
null, library = open("/dev/null", "r+"), open(os.__file__)
def seen_by_another(file):
    pid = os.fork()
    if pid == 0:
        kind = fcntl.F_RDLCK if file is null else fcntl.F_WRLCK
        asked = struct.pack("hhqqi", fcntl.F_WRLCK, 0, 0, 0, 0)
        answer = fcntl.fcntl(file, fcntl.F_GETLK, asked)
        os._exit(7 if struct.unpack("hhqqi", answer)[0] != fcntl.F_UNLCK else 0)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
"""

# A file's page is the same for all who map it: who waits there is woken by anybody.
_FUTEX = """
import ctypes, os, time
libc = ctypes.CDLL(None, use_errno=True)
NUMBER = 202 if os.uname().machine == "x86_64" else 98
place = ctypes.cast(libc.qsort, ctypes.c_void_p).value & -4
word = ctypes.c_uint32.from_address(place).value
def futex(operation, value):
    return libc.syscall(
        ctypes.c_long(NUMBER), ctypes.c_void_p(place), operation, ctypes.c_uint32(value), None)
pid = os.fork()
if pid == 0:
    futex(0, word)
    os._exit(0)
woken = 0
for _ in range(100):
    woken = futex(WAKE, 1)
    if woken: break
    time.sleep(0.005)
if woken == 1: print(WON)
"""

SHARED = group(
    "shared files",
    attack(
        "a lock on a device",
        f"{_OPEN}\nfcntl.lockf(null, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "if seen_by_another(null): print(WON)",
    ),
    attack(
        "a lock on a library",
        f"{_OPEN}\nfcntl.lockf(library, fcntl.LOCK_SH | fcntl.LOCK_NB)\n"
        "if seen_by_another(library): print(WON)",
    ),
    attack(
        "a lock of an open file",
        f"{_OPEN}\nwanted = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)\n"
        "fcntl.fcntl(null, fcntl.F_OFD_SETLK if hasattr(fcntl, 'F_OFD_SETLK') else 37, wanted)\n"
        "if seen_by_another(null): print(WON)",
    ),
    attack(
        "a lock of a whole file",
        f"{_OPEN}\nfcntl.flock(null, fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "try: fcntl.flock(open('/dev/null'), fcntl.LOCK_EX | fcntl.LOCK_NB)\n"
        "except BlockingIOError: print(WON)",
    ),
    attack(
        "a lease",
        f"{_OPEN}\nopen('mine', 'w').close()\n"
        "fcntl.fcntl(open('mine'), fcntl.F_SETLEASE, fcntl.F_RDLCK)\nprint(WON)",
    ),
    attack("a futex in a library", f"WAKE = 1\n{_FUTEX}"),
    attack("a futex by its bits", f"WAKE = 10\n{_FUTEX}".replace("None)", "None, None, -1)")),
    attack(
        "urgent bytes",
        "import socket\nleft, right = socket.socketpair()\n"
        "if left.send(b'x', socket.MSG_OOB): print(WON)",
    ),
    gets("the name of the host", "os.uname().nodename == HOSTNAME", "import os"),
    gets("the name of the host by its socket", "socket.gethostname() == HOSTNAME", "import socket"),
)
