"""Other processes: signals, bombs of processes and threads."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import Proof, attack, gets_any, group, hangs

SIGNALS = group(
    "signals",
    gets_any(
        "import fcntl, os, signal, socket\n"
        "def sent(function, *args):\n"
        "    function(*args)\n"
        "    return True\n",
        victim="sent(os.kill, VICTIM, signal.SIGTERM)",
        victim_nothing="sent(os.kill, VICTIM, 0)",
        victim_stopped="sent(os.kill, VICTIM, signal.SIGSTOP)",
        victim_killed="sent(os.kill, VICTIM, signal.SIGKILL)",
        victim_by_pidfd="sent(signal.pidfd_send_signal, os.pidfd_open(VICTIM), signal.SIGUSR1)",
        victim_watched="os.pidfd_open(VICTIM)",
        victim_by_thread=(
            "__import__('ctypes').CDLL(None).syscall(234, VICTIM, VICTIM, signal.SIGURG) == 0"
        ),
        victim_queued=("__import__('ctypes').CDLL(None).sigqueue(VICTIM, signal.SIGUSR2, 1) == 0"),
        host="sent(os.kill, HOST, 0)",
        host_urgent="sent(os.kill, HOST, signal.SIGURG)",
        group_of_the_host="sent(os.killpg, os.getpgid(HOST), 0)",
        priority_of_the_victim="sent(os.setpriority, os.PRIO_PROCESS, VICTIM, 5)",
        cores_of_the_victim="sent(os.sched_setaffinity, VICTIM, {0})",
        scheduler_of_the_victim=(
            "sent(os.sched_setscheduler, VICTIM, os.SCHED_BATCH, os.sched_param(0))"
        ),
        limits_of_the_victim=(
            "(lambda r: sent(r.prlimit, VICTIM, r.RLIMIT_CORE, (0, 0)))(__import__('resource'))"
        ),
    ),
    attack(
        "by the owner of a descriptor",
        """
        import fcntl, os, socket
        ours, theirs = socket.socketpair()
        fcntl.fcntl(ours, fcntl.F_SETOWN, VICTIM)
        fcntl.fcntl(ours, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
        theirs.send(b"x")
        print(WON)
        """,
    ),
    attack(
        "everybody gets a harmless one",
        """
        import os, signal
        os.kill(-1, signal.SIGURG)
        """,
        proof=Proof.NONE,
    ),
    attack(
        "its whole group gets a harmless one",
        """
        import os, signal
        os.kill(0, signal.SIGURG)
        """,
    ),
    attack(
        "the parent is killed",
        """
        import os, signal
        if os.getppid(): os.kill(os.getppid(), signal.SIGKILL)
        """,
        proof=Proof.NONE,
        may_lose=True,
    ),
    attack(
        "the parent is stopped",
        """
        import os, signal
        if os.getppid(): os.kill(os.getppid(), signal.SIGSTOP)
        """,
        proof=Proof.NONE,
        may_lose=True,
    ),
    attack(
        "all of its namespace are stopped",
        """
        import os, signal
        if os.getpid() < 100:  # else the numbers are the host's
            for pid in {*range(1, 100)} - {os.getpid()}:
                try: os.kill(pid, signal.SIGSTOP)
                except OSError: pass
        """,
        proof=Proof.NONE,
        may_lose=True,
    ),
    attack(
        "a new group is led and killed",
        """
        import os, signal
        os.setpgid(0, 0)
        os.killpg(0, signal.SIGKILL)
        """,
        proof=Proof.CRASHES,
    ),
    attack(
        "it kills itself",
        "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)",
        proof=Proof.CRASHES,
    ),
    hangs(
        "it stops itself",
        "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)",
        checks=(),
    ),
    attack(
        "death of the parent is to be reported",
        """
        import ctypes, signal
        ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        """,
        proof=Proof.RUNS,
    ),
    hangs(
        "all signals are ignored",
        """
        import signal
        for number in signal.valid_signals():
            try: signal.signal(number, signal.SIG_IGN)
            except (OSError, ValueError): pass
        signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
        while True: pass
        """,
    ),
    attack(
        "an alarm goes off in the next step",
        """
        import signal
        signal.signal(signal.SIGALRM, lambda *_: print("alarm"))
        signal.setitimer(signal.ITIMER_REAL, 0.05, 0.01)
        """,
        """
        import signal, time
        time.sleep(0.1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        """,
        proof=Proof.RUNS,
    ),
)

# A child that has its own name and does nothing for long.
CHILD = """
import ctypes, os, signal, time
def child(seconds):
    ctypes.CDLL(None).prctl(15, MARK.encode(), 0, 0, 0)
    time.sleep(seconds)
    os._exit(0)
"""

BOMBS = group(
    "bombs",
    attack(
        "a loop of forks",
        f"""{CHILD}
children = []
try:
    while len(children) < 70:
        pid = os.fork()
        if not pid: child(3)
        children.append(pid)
except OSError: pass
if len(children) >= 70: print(WON, len(children))
for pid in children: os.kill(pid, 9)
for pid in children: os.waitpid(pid, 0)
""",
    ),
    attack(
        "forks of forks",
        f"""{CHILD}
read, write = os.pipe()
try:
    for _ in range(8): os.fork()
    os.write(write, b"x")
except OSError: pass
time.sleep(0.3)
os.set_blocking(read, False)
try:
    if len(os.read(read, 1000)) > 64: print(WON)
except OSError: pass
""",
        proof=Proof.NONE,
        may_lose=True,
    ),
    attack(
        "threads",
        """
        import threading
        threading.stack_size(65536)
        stop = threading.Event()
        held = []
        try:
            while len(held) < 100:
                held.append(threading.Thread(target=stop.wait, daemon=True))
                held[-1].start()
        except RuntimeError: held.pop()
        if len(held) >= 100: print(WON, len(held))
        stop.set()
        for thread in held: thread.join()
        """,
    ),
    attack(
        "threads that are left running",
        """
        import threading, time
        for _ in range(100):
            try: threading.Thread(target=time.sleep, args=(3,), daemon=True).start()
            except RuntimeError: break
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "vfork",
        """
        import ctypes, os
        pid = ctypes.CDLL(None).syscall(58)
        if pid == 0: os._exit(0)
        if pid > 0: print(WON)
        """,
        proof=Proof.NONE,
        may_lose=True,
    ),
    attack(
        "multiprocessing",
        """
        import multiprocessing
        with multiprocessing.get_context("spawn").Pool(2) as pool: print(WON, pool.map(abs, [-1]))
        """,
        proof=Proof.NONE,
    ),
    gets_any(
        "import os, subprocess, sys, pty, shutil",
        system="os.system('exit 7') >> 8 == 7",
        popen="os.popen('echo ran').read()",
        subprocess="subprocess.run(['/bin/sh', '-c', 'echo ran'], capture_output=True).stdout",
        the_interpreter=(
            "subprocess.run([sys.executable, '-c', 'print(1)'], capture_output=True).stdout"
        ),
        spawn="os.spawnv(os.P_WAIT, sys.executable, [sys.executable, '-c', 'exit(7)']) == 7",
        posix_spawn=(
            "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, '-c', 'exit(7)'], {}),"
            " 0)[1] == 7 << 8"
        ),
        loader_runs_it=(
            "subprocess.run([(__import__('glob').glob('/lib64/ld-linux*')"
            " + __import__('glob').glob('/lib/ld-linux*'))[0], '/bin/echo', 'ran'],"
            " capture_output=True).stdout"
        ),
        asyncio_shell=(
            "__import__('asyncio').run(__import__('asyncio').create_subprocess_shell('exit 7'))"
        ),
        terminal="pty.spawn(['/bin/sh', '-c', 'exit 7']) >> 8 == 7",
    ),
    attack(
        "it becomes another program",
        """
        import os
        os.execv("/bin/sh", ["sh", "-c", "echo $0 by exec", WON])
        """,
    ),
)
