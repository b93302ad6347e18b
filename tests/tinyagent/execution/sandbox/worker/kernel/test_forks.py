"""Forks are granted as far as the memory goes that one process may take."""

from __future__ import annotations

import json
from typing import Any

from tests.tinyagent.execution.sandbox.worker.kernel.test_warden import PRELUDE
from tests.tinyagent.execution.sandbox.worker.serving import output_of

# A process that forks on request, and the listener of its requests.
ASKING = (
    """
    import errno, resource, select, socket, sys, threading
    from worker.kernel import seccomp
    from worker.kernel.forks import MAX_STACK, Forks
    seccomp.prepare(seccomp.fork_requests())
"""
    + PRELUDE
    + """
    MEGA = 2**20
    with open(os.open("self/statm", os.O_RDONLY, dir_fd=proc)) as file:
        base = int(file.read().split()[5]) * 4096
    limit = base + GIVEN * MEGA
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))
    forks = Forks(proc)

    def asking(work):
        ours, theirs = socket.socketpair()
        pid = os.fork()
        if pid == 0:
            listener = seccomp.listen_to_forks()
            socket.send_fds(theirs, [b"."], [listener])
            os.close(listener)
            read, write = os.pipe()
            try:
                work(theirs)
            except BaseException as error:
                theirs.send(repr(error).encode())
            os._exit(0)
        theirs.close()
        return pid, socket.recv_fds(ours, 1, 1)[1][0], ours

    def children(sock, count):
        errors = []
        for _ in range(count):
            try:
                if os.fork() == 0:
                    signal.pause()
                    os._exit(0)
            except OSError as error:
                errors.append(errno.errorcode[error.errno])
        sock.send(json.dumps(errors).encode())

    def serve(listener, sock, states=()):
        while sock not in select.select([listener, sock], [], [])[0]:
            forks.answer(listener, list(states))
        return json.loads(sock.recv(10_000))

    def members():
        return [int(name) for name in os.listdir(proc) if name.isdigit() and name != "1"]

    def limits():
        return [resource.prlimit(pid, resource.RLIMIT_DATA)[0] for pid in members()]
"""
)


def found(code: str, megas: int = 400) -> Any:
    return json.loads(output_of(ASKING.replace("GIVEN", str(megas)) + code))


def test_all_processes_together_may_take_what_one_may() -> None:
    answer = found("""
    pid, listener, sock = asking(lambda sock: (children(sock, 40), sock.recv(1)))
    errors = serve(listener, sock)
    together = sum(limits()) + MAX_STACK * len(members())
    print(json.dumps([errors, len(members()), together <= limit + MAX_STACK]))
    """)
    errors, count, kept = answer
    assert kept
    assert 3 < count < 41
    assert errors == ["ENOMEM"] * (41 - count)


def test_one_child_after_the_other_takes_nothing_away() -> None:
    answer = found("""
    def work(sock):
        for _ in range(60):
            pid = os.fork()
            if pid == 0: os._exit(0)
            os.waitpid(pid, 0)
        sock.send(b"true")
    pid, listener, sock = asking(work)
    print(json.dumps(serve(listener, sock)))
    """)
    assert answer is True


def test_what_is_filled_already_is_not_doubled() -> None:
    answer = found("""
    def work(sock):
        held = bytearray(250 * MEGA)
        children(sock, 1)
    pid, listener, sock = asking(work)
    print(json.dumps(serve(listener, sock)))
    """)
    assert answer == ["ENOMEM"]


def test_forks_of_several_threads_at_once_are_counted_before_they_happen() -> None:
    answer = found("""
    def work(sock):
        ready, together = threading.Barrier(8), []
        def fork():
            ready.wait()
            for _ in range(6):
                try:
                    if os.fork() == 0:
                        signal.pause()
                        os._exit(0)
                except OSError as error:
                    together.append(error.errno)
        threads = [threading.Thread(target=fork) for _ in range(8)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        sock.send(json.dumps(together).encode())
        sock.recv(1)
    pid, listener, sock = asking(work)
    errors = serve(listener, sock)
    together = sum(limits()) + MAX_STACK * len(members())
    print(json.dumps([len(errors), len(members()), together <= limit + MAX_STACK]))
    """)
    refused, count, kept = answer
    assert kept
    assert refused + count == 49


def test_a_state_forks_once_for_a_step_and_the_step_may_take_all() -> None:
    answer = found("""
    pid, listener, sock = asking(lambda sock: (children(sock, 2), sock.recv(1)))
    errors = serve(listener, sock, [pid])
    print(json.dumps([errors, [each == limit for each in limits()]]))
    """)
    assert answer == [["EAGAIN"], [True, True]]


def test_what_forks_took_from_a_process_it_gets_back() -> None:
    answer = found("""
    pid, listener, sock = asking(lambda sock: (children(sock, 1), sock.recv(1)))
    serve(listener, sock)
    less = resource.prlimit(pid, resource.RLIMIT_DATA)[0]
    forks.restore(pid)
    print(json.dumps([less < limit, resource.prlimit(pid, resource.RLIMIT_DATA)[0] == limit]))
    """)
    assert answer == [True, True]


def test_a_listener_that_nobody_stands_behind_is_given_up() -> None:
    answer = found("""
    pid, listener, sock = asking(lambda sock: sock.send(b"0"))
    serve(listener, sock)
    os.waitpid(pid, 0)
    print(json.dumps(forks.answer(listener, [])))
    """)
    assert answer is False
