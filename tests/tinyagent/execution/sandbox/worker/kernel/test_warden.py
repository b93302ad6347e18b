from __future__ import annotations

import json
import signal
from typing import Any

import pytest
from tests.tinyagent.execution.sandbox.worker.serving import output_of

# The first process of a process namespace, with its view of /proc, and children that wait.
PRELUDE = """
    import json, os, signal, sys, time
    from worker.kernel import linux, mounts, namespaces
    from worker.kernel.forks import has_ended
    from worker.kernel.warden import Warden
    namespaces.enter()
    namespaces.fork_inside()
    mounts.keep_to_ourselves()
    trees = mounts.hold(mounts.python_paths())
    namespaces.drop_root()
    mounts.enter_root(trees)
    proc = mounts.open_own_proc()

    def child(work=signal.pause):
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.write(write, b"x")
            while True: work()
        assert os.read(read, 1)
        return pid

    def fill(size):
        data = bytearray(size)
        for at in range(0, size, 4096): data[at] = 1
        return lambda: (data, signal.pause())

    def collect():
        ended = []
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return ended
            if not pid:
                return ended
            ended.append([pid, os.waitstatus_to_exitcode(status)])

    def state(pid):
        with open(os.open(f"{pid}/stat", os.O_RDONLY, dir_fd=proc)) as file:
            return file.read().rpartition(")")[2].split()[0]

    def show(**facts):
        print(json.dumps(facts), flush=True)
"""


def report_of(code: str) -> dict[str, Any]:
    answer: dict[str, Any] = json.loads(output_of(PRELUDE + code))
    return answer


def test_a_sweep_ends_all_that_are_not_kept_and_stops_the_others() -> None:
    answer = report_of("""
    kept, stranger, busy = child(), child(), child(lambda: None)
    warden = Warden(proc, 2**40)
    warden.note([kept], watch=False, wake=False)
    ended = warden.sweep()
    limit = time.monotonic() + 10
    while state(kept) != "T" and time.monotonic() < limit: pass
    show(ended=ended, collected=sorted(collect()), strangers=[stranger, busy], state=state(kept),
         again=warden.sweep())
    """)
    assert answer["ended"] == 2
    assert answer["collected"] == [[pid, -signal.SIGKILL] for pid in answer["strangers"]]
    assert answer["state"] == "T"
    assert answer["again"] == 0


def test_those_no_longer_kept_are_ended_and_the_next_sweep_waits_for_it() -> None:
    answer = report_of("""
    older, newest = child(), child(fill(50 << 20))
    warden = Warden(proc, 2**40)
    warden.note([older, newest], watch=False, wake=False)
    ended = [warden.sweep()]
    newer = child()
    warden.note([newest, newer], watch=False, wake=False)
    ended += [warden.sweep()]
    warden.note([newer], watch=False, wake=True)
    ended += [warden.sweep(), warden.sweep()]
    show(ended=ended, dropped=[older, newest], collected=sorted(collect()))
    """)
    assert answer["ended"] == [0, 0, 0, 0]
    assert answer["collected"] == [[pid, -signal.SIGKILL] for pid in answer["dropped"]]


def test_a_sweep_ends_what_forks_without_end() -> None:
    answer = report_of("""
    def breed():
        try:
            os.fork()
        except OSError:
            pass
    linux.checked(0, "")
    import resource
    resource.setrlimit(resource.RLIMIT_NPROC, (200, 200))
    child(breed)
    warden = Warden(proc, 2**40)
    ended = warden.sweep()
    collect()
    show(ended=ended, left=[name for name in os.listdir(proc) if name.isdigit() and name != "1"])
    """)
    assert answer["ended"] >= 1
    assert answer["left"] == []


def test_processes_that_stopped_themselves_or_ignore_signals_are_ended() -> None:
    answer = report_of("""
    def deaf():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        os.kill(os.getpid(), signal.SIGSTOP)
    pid = child(deaf)
    warden = Warden(proc, 2**40)
    warden.sweep()
    show(collected=collect(), pid=pid)
    """)
    assert answer["collected"] == [[answer["pid"], -signal.SIGKILL]]


def test_the_newest_that_is_kept_continues_for_the_next_step() -> None:
    answer = report_of("""
    older, newest = child(), child()
    warden = Warden(proc, 2**40)
    warden.note([older, newest], watch=False, wake=False)
    warden.sweep()
    warden.note([older, newest], watch=False, wake=True)
    limit = time.monotonic() + 10
    while [state(older), state(newest)] != ["T", "S"] and time.monotonic() < limit: pass
    show(states=[state(older), state(newest)])
    """)
    assert answer["states"] == ["T", "S"]


@pytest.mark.parametrize(("limit", "ended"), [(2**40, False), (60 * 2**20, True)])
def test_too_much_memory_ends_earlier_states_and_then_the_step(*, limit: int, ended: bool) -> None:
    answer = report_of(f"""
    first, second, step = child(fill(30 << 20)), child(fill(30 << 20)), child(fill(30 << 20))
    warden = Warden(proc, {limit})
    warden.note([first, second], watch=True, wake=False)
    rounds = []
    for _ in range(2):
        output = warden.relieve()
        rounds.append([output, sorted(pid for pid, _ in collect())])
    show(rounds=rounds, pids=[first, second, step], watching=warden.watching)
    """)
    first, second, step = answer["pids"]
    assert answer["watching"] is True
    killed = [pid for _, pids in answer["rounds"] for pid in pids]
    assert (first in killed) == ended
    assert second not in killed
    assert any(output for output, _ in answer["rounds"]) == (step in killed)


def test_memory_that_a_fork_shares_counts_once() -> None:
    answer = report_of("""
    data = fill(40 << 20)
    children = [child(data) for _ in range(5)]
    show(over=Warden(proc, 90 << 20)._is_over(), under=Warden(proc, 30 << 20)._is_over())
    """)
    assert answer == {"over": False, "under": True}


def test_files_in_memory_count_when_they_are_mapped() -> None:
    answer = report_of("""
    import mmap
    shared = mmap.mmap(-1, 60 << 20)
    for at in range(0, 60 << 20, 4096): shared[at] = 1
    children = [child() for _ in range(2)]
    show(over=Warden(proc, 40 << 20)._is_over(), under=Warden(proc, 120 << 20)._is_over())
    """)
    assert answer == {"over": True, "under": False}


def test_one_that_ends_while_it_is_looked_at_harms_nothing() -> None:
    answer = report_of("""
    warden = Warden(proc, 0)
    pid = child()
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    show(read=warden._read(f"{pid}/stat").decode(), ended=has_ended(proc, pid),
         share=warden._share(pid), private=warden._private(pid))
    """)
    assert answer == {"read": "", "ended": True, "share": 0, "private": 0}


def test_who_leaves_has_no_view_of_proc_any_more() -> None:
    answer = report_of("""
    warden = Warden(proc, 0)
    warden.leave()
    try:
        os.listdir(warden.proc)
    except OSError as error:
        show(error=error.errno)
    """)
    assert answer == {"error": 9}
