"""What stays behind when a step has ended, and gets in the way of the next."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Prints, Proof, attack, group
from tests.tinyagent.execution.attacks.corpus.signals import CHILD

_LOOK = """
import os, time
for _ in range(12):
    time.sleep(0.05)
    if os.path.exists("late"):
        print(WON)
        break
"""

LINGERING = group(
    "lingering",
    attack(
        "a child goes on after the step",
        f"""{CHILD}
if not os.fork():
    time.sleep(0.1)
    open("late", "w").close()
    child(3)
""",
        _LOOK,
    ),
    attack(
        "a daemon goes on after the step",
        f"""{CHILD}
if not os.fork():
    os.setsid()
    if os.fork(): os._exit(0)
    for number in signal.valid_signals():
        try: signal.signal(number, signal.SIG_IGN)
        except (OSError, ValueError): pass
    time.sleep(0.1)
    open("late", "w").close()
    child(3)
""",
        _LOOK,
    ),
    attack(
        "a child forks again and again",
        f"""{CHILD}
if not os.fork():
    ctypes.CDLL(None).prctl(15, MARK.encode(), 0, 0, 0)
    stop = time.monotonic() + 2
    while time.monotonic() < stop:
        try:
            if os.fork(): os._exit(0)
        except OSError: pass
    os._exit(0)
""",
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "a child writes to the socket after the step",
        """
        import json, os, struct, time
        text = json.dumps({"text": "forged"}).encode()
        if not os.fork():
            time.sleep(0.1)
            for number in range(3, 65):
                try: os.write(number, struct.pack(">BII", KINDS["OUTPUT"], len(text), 0) + text)
                except OSError: pass
            os._exit(0)
        """,
        "import time\nprint('mine')\ntime.sleep(0.5)",
        proof=Proof.WRITES,
        checks=(Prints("mine\n"),),
    ),
    attack(
        "two go on from one step",
        """
        import os
        os.fork()
        print("who am I?")
        """,
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "a child gives the answer",
        """
        import os, time
        if not os.fork(): final_answer("of the child")
        time.sleep(0.2)
        """,
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "a thread prints after the step",
        """
        import threading, time
        def later():
            time.sleep(0.1)
            print("late output")
        threading.Thread(target=later).start()
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "a thread answers after the step",
        """
        import threading, time
        def later():
            while True:
                try: final_answer("late")
                except BaseException: pass
        threading.Thread(target=later, daemon=True).start()
        """,
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "a thread takes the next order",
        """
        import os, socket, threading
        def take(number):
            while True: os.read(number, 65536)
        for number in range(3, 65):
            try: socket.socket(fileno=os.dup(number)).getpeername()
            except OSError: continue
            threading.Thread(target=take, args=(number,), daemon=True).start()
        """,
        proof=Proof.RUNS,
        may_lose=True,
    ),
    attack(
        "hooks at the end of the process",
        """
        import atexit, os, threading, weakref
        for register in (atexit.register, threading._register_atexit):
            register(lambda: open("late", "w").close())
            register(lambda: final_answer("late"))
        os.register_at_fork(before=lambda: print("forked"), after_in_child=lambda: 1 / 0)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "a fork in the next step never ends",
        """
        import os, time
        os.register_at_fork(after_in_child=lambda: time.sleep(100))
        """,
        proof=Proof.RUNS,
        resets=True,
    ),
)
