"""Using more than the limits: memory, files, time."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import (
    Attack,
    Proof,
    attack,
    ended,
    group,
    hangs,
)

# Three times what the executors of these tests may use, and less than the proofs may.
MEMORY_TO_WIN = 640
FILES_TO_WIN = 48


def fills(name: str, code: str, **options: object) -> Attack:
    """An attack that wins if its code, which takes `MEGAS` megabytes, gets to its end."""
    code = f"MEGAS, MEGA = {MEMORY_TO_WIN}, 2**20\n{code}\nprint(WON)"
    return attack(name, code, **{"checks": (ended,), **options})


def endless(**codes: str) -> Iterator[Attack]:
    """One attack a piece of code that does not come back."""
    for name, code in codes.items():
        yield hangs(name.replace("_", " "), code)


_MAPPED = """
import ctypes
libc, NOWHERE = ctypes.CDLL(None, use_errno=True), (None, 2**64 - 1)
libc.mmap.restype = ctypes.c_void_p
def take(flags=0x22, rights=3):
    for _ in range(MEGAS):
        place = libc.mmap(None, ctypes.c_size_t(MEGA), 3, flags, -1, ctypes.c_long(0))
        if place in NOWHERE: raise MemoryError
        ctypes.memset(place, 1, MEGA)
        libc.mprotect(ctypes.c_void_p(place), ctypes.c_size_t(MEGA), rights)
"""

_STACK = """
libc.mremap.restype = ctypes.c_void_p
place = ctypes.c_void_p.in_dll(libc, "environ").value & -4096
for below in range(2**16, 2**20, 4096):
    old = ctypes.c_void_p(place - below)
    moved = libc.mremap(old, ctypes.c_size_t(4096), ctypes.c_size_t(MEGAS * MEGA), 1)
    if moved not in NOWHERE: break
else:
    raise MemoryError
ctypes.memset(moved, 1, MEGAS * MEGA)
"""

MEMORY = group(
    "memory",
    fills(
        "bytes", "held = bytearray(MEGAS * MEGA)\nfor i in range(0, len(held), 4096): held[i] = 1"
    ),
    fills("a list", "held = [0] * (MEGAS * MEGA // 8)"),
    fills("text", "held = 'x' * (MEGAS * MEGA)"),
    fills("doubled text", "held = 'x'\nwhile len(held) < MEGAS * MEGA // 2: held += held"),
    fills("a large number", "held = 1 << (MEGAS * MEGA * 8)"),
    fills("many pieces", "held = []\nwhile len(held) < MEGAS: held.append(bytearray(MEGA))"),
    fills(
        "small objects",
        "held = []\nwhile len(held) < MEGAS * 12_000: held.append({})",
        proof=Proof.NONE,
    ),
    fills("a format", "held = f'{0:>{MEGAS * MEGA}}'"),
    fills(
        "an array",
        "import numpy\nheld = numpy.zeros(MEGAS * MEGA, 'u1')\nheld[::4096] = 1",
        proof=Proof.NONE,
    ),
    fills(
        "a map of memory",
        "import mmap\nheld = mmap.mmap(-1, MEGAS * MEGA)\n"
        "for i in range(0, len(held), 4096): held[i] = 1",
    ),
    fills(
        "a private map of memory",
        "import mmap\nheld = mmap.mmap(-1, MEGAS * MEGA, flags=mmap.MAP_PRIVATE)\n"
        "for i in range(0, len(held), 4096): held[i] = 1",
    ),
    fills(
        "memory from C",
        "import ctypes\nc = ctypes.CDLL(None)\nc.malloc.restype = ctypes.c_void_p\n"
        "for _ in range(MEGAS):\n    place = c.malloc(ctypes.c_size_t(MEGA))\n"
        "    assert place\n    ctypes.memset(place, 1, MEGA)",
    ),
    fills(
        "a file without a name",
        "import os\nfile = os.memfd_create('x')\n"
        "for _ in range(MEGAS): os.write(file, bytes(MEGA))",
        proof=Proof.NONE,
    ),
    *(
        fills(f"memory {name}", f"{_MAPPED}\n{code}")
        for name, code in (
            ("like a stack", "take(flags=0x122)"),
            ("that is read only by then", "take(rights=1)"),
            ("that is code by then", "take(rights=5)"),
            ("that nobody may use by then", "take(rights=0)"),
        )
    ),
    fills("memory in place of the stack", f"{_MAPPED}\n{_STACK}", proof=Proof.NONE),
    fills(
        "shared by several processes",
        "import os, time\nread, write = os.pipe()\n"
        "for _ in range(6):\n    if not os.fork():\n"
        "        held = bytearray(MEGAS // 6 * MEGA)\n"
        "        for i in range(0, len(held), 4096): held[i] = 1\n"
        "        os.write(write, b'x')\n        time.sleep(3)\n        os._exit(0)\n"
        "for _ in range(6): assert os.read(read, 1)",
        checks=(),
        may_lose=True,
    ),
    fills(
        "buffers of sockets",
        "import socket\nheld = []\n"
        "for _ in range(200):\n    pair = socket.socketpair()\n    held.append(pair)\n"
        "    pair[0].setblocking(False)\n"
        "    pair[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 8 * MEGA)\n"
        "    pair[0].send(bytes(8 * MEGA))\n"
        "assert sum(p[0].getsockopt(1, 7) for p in held) > MEGAS * MEGA",
        proof=Proof.NONE,
        checks=(),
        may_lose=True,
    ),
    fills(
        "buffers of sockets in many processes",
        "import os, socket, time\nread, write = os.pipe()\nprocesses = 0\n"
        "for _ in range(30):\n    try: pid = os.fork()\n    except OSError: break\n"
        "    processes += 1\n    if pid: continue\n    held, total = [], 0\n    try:\n"
        "        while total < 25 * MEGA:\n            held.append(socket.socketpair())\n"
        "            for end in held[-1]:\n                end.setblocking(False)\n"
        "                try:\n                    while True: total += end.send(bytes(1 << 16))\n"
        "                except OSError: pass\n"
        "    except OSError: pass\n    os.write(write, total.to_bytes(8, 'big'))\n"
        "    time.sleep(5)\n    os._exit(0)\n"
        "total = sum(int.from_bytes(os.read(read, 8), 'big') for _ in range(processes))\n"
        "assert total > MEGAS * MEGA, total",
        proof=Proof.ESCAPES,
        may_lose=True,
    ),
    fills(
        "threads' stacks",
        "import threading, time\nthreading.stack_size(16 * MEGA)\n"
        "def deep(n):\n    return n and deep(n - 1)\n"
        "for _ in range(MEGAS // 16):\n"
        "    threading.Thread(target=time.sleep, args=(2,), daemon=True).start()",
        proof=Proof.NONE,
    ),
    fills(
        "a small file that grows",
        "import zlib\nsmall = zlib.compressobj(1)\n"
        "data = b''.join(small.compress(bytes(MEGA)) for _ in range(MEGAS)) + small.flush()\n"
        "held = zlib.decompress(data)",
        proof=Proof.NONE,
    ),
)

FILLING = group(
    "filling",
    *(
        attack(
            name,
            f"import os\nlimit = {FILES_TO_WIN} * 2**20\n{code}\n"
            "if written >= limit: print(WON, written)\nraise OSError('as far as it went')",
            proof=proof,
        )
        for name, code, proof in (
            (
                "one file",
                (
                    "written = 0\nwith open('big', 'wb', 0) as file:\n"
                    "    while written < limit: written += file.write(bytes(2**20))"
                ),
                Proof.ESCAPES,
            ),
            (
                "many files",
                (
                    "written = 0\nwhile written < limit:\n"
                    "    with open(f'f{written}', 'wb', 0) as file: written += "
                    "file.write(bytes(2**20))"
                ),
                Proof.ESCAPES,
            ),
            (
                "removed files",
                (
                    "written, held = 0, []\nwhile written < limit:\n"
                    "    held.append(open('gone', 'wb', 0))\n    os.remove('gone')\n"
                    "    written += held[-1].write(bytes(2**20))"
                ),
                Proof.ESCAPES,
            ),
            (
                "a file grown by a map",
                (
                    "import mmap\nwith open('big', 'w+b') as file:\n    file.truncate(limit)\n"
                    "    held = mmap.mmap(file.fileno(), limit)\n"
                    "    for i in range(0, limit, 4096): held[i] = 1\nwritten = limit"
                ),
                Proof.ESCAPES,
            ),
            (
                "places other than the working folder",
                (
                    "written = 0\nfor place in ('/tmp', '/dev/shm', '/var/tmp', '/run', '/'):\n"
                    "    try:\n        with open(f'{place}/{MARK}', 'wb', 0) as file:\n"
                    "            while written < limit: written += file.write(bytes(2**20))\n"
                    "    except OSError: pass"
                ),
                Proof.ESCAPES,
            ),
        )
    ),
)

PROCESSOR = group(
    "processor",
    endless(
        a_loop="while True: pass",
        a_loop_that_catches_all=(
            "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
        ),
        a_comprehension="sum(1 for _ in iter(int, 1))",
        a_loop_in_C="sum(range(10**12))",
        all_of_an_endless_row="import itertools\nall(itertools.repeat(True))",
        a_search_in_an_endless_row="0 in __import__('itertools').count(1)",
        a_pattern="import re\nre.match('(a+)+$', 'a' * 40 + 'b')",
        a_power="pow(7, 10**8)",
        a_power_of_powers="9 ** 9 ** 9",
        digits="import sys\nsys.set_int_max_str_digits(0)\nstr(1 << 40_000_000)",
        a_factorial="import math\nmath.factorial(10**7)",
        key_derivation="import hashlib\nhashlib.pbkdf2_hmac('sha256', b'x', b'x', 10**9)",
        a_sleep="import time\ntime.sleep(100)",
        a_lock="import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()",
        a_join="import threading, time\nt = threading.Thread(target=time.sleep, args=(9,))\n"
        "t.daemon = True\nt.start()\nt.join()",
        a_read_of_nothing="import os\nos.read(os.pipe()[0], 1)",
        a_loop_of_events="import asyncio\nasyncio.run(asyncio.Event().wait())",
        a_sort_with_a_key="sorted(range(10**6), key=lambda n: sum(range(n)))",
        a_hash="class C:\n    def __hash__(self):\n        while True: pass\n{C()}",
        a_finalizer="class C:\n    def __del__(self):\n        while True: pass\nc = C()\ndel c",
        a_signal_wait="import signal\nsignal.sigwait({signal.SIGUSR1})",
        ctypes_loop="import ctypes\nctypes.CDLL(None).pause()",
    ),
    hangs(
        "a finalizer of the value",
        "class C:\n    def __del__(self):\n        while True: pass\nC()",
        checks=(),
        may_lose=True,
    ),
    hangs("a pipe opened", "import os\nos.mkfifo('pipe')\nopen('pipe')", checks=()),
    hangs(
        "a loop in numpy",
        "import numpy\na = numpy.ones((1500, 1500))\nwhile True: a @ a",
        proof=Proof.NONE,
    ),
    hangs(
        "a loop in pandas",
        "import pandas\nwhile True: pandas.DataFrame({'a': range(10**5)}).a.sum()",
        proof=Proof.NONE,
    ),
    hangs(
        "a loop in sqlite3",
        "import sqlite3\nsqlite3.connect(':memory:').execute('with recursive"
        " n(x) as (select 1 union all select x + 1 from n) select count(*) from n').fetchone()",
    ),
    hangs(
        "threads that spin",
        "import threading\ndef spin():\n    while True: pass\n"
        "for _ in range(4): threading.Thread(target=spin, daemon=True).start()\nspin()",
    ),
    hangs(
        "processes that spin",
        "import os\nfor _ in range(2): os.fork()\nwhile True: pass",
        proof=Proof.NONE,
    ),
    hangs(
        "while a tool waits",
        "import threading\nthreading.Thread(target=echo, args=(1,)).start()\nwhile True: pass",
    ),
    hangs("between calls of tools", "while True: echo(1)"),
)
