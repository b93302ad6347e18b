"""Forged frames: bytes written past the helpers to whatever leads to the host."""

from __future__ import annotations

from typing import Any

from tests.tinyagent.execution.attacks.cases import Attack, Prints, Proof, attack, group

SEND = '''
import json, os, struct, time
def send(data):
    """Write to every socket there is."""
    for number in range(3, 65):
        try:
            if os.fstat(number).st_mode & 0o170000 == 0o140000: os.write(number, data)
        except OSError: pass
def frame(kind, body, blob=b""):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return struct.pack(">BII", KINDS.get(kind, kind), len(text), len(blob)) + text + blob
done = {"error": None, "out_of_memory": False, "value": None, "value_text": "", "tail": "",
        "skipped": 0, "remarks": [], "token": ""}
'''


def forges(name: str, code: str, *more: str, **options: Any) -> Attack:
    """An attack that sends frames by `send(frame(kind, body, blob))`; the session may end by it."""
    options = {"proof": Proof.WRITES, "may_lose": True, **options}
    return attack(name, f"{SEND}\n{code}", *more, **options)


FRAMES = group(
    "forged frames",
    forges("the step is over", "send(frame('DONE', done))\nprint('after the end')"),
    forges("the step is over, then it goes on", "send(frame('DONE', done))\nwhile True: pass"),
    forges("the step is over twice", "send(frame('DONE', done) * 2)"),
    forges("the step is over a hundred times", "send(frame('DONE', done) * 100)"),
    forges(
        "the next step's output",
        "send(frame('DONE', done) + frame('OUTPUT', {'text': 'forged'}) + frame('DONE', done))",
        "print('mine')",
        checks=(Prints("mine\n"),),
    ),
    forges(
        "the next step's answer",
        "send(frame('DONE', done) + frame('FINAL', {'value': 1, 'metadata': {}}))",
        "print('mine')",
        checks=(Prints("mine\n"),),
    ),
    forges("an answer", "send(frame('FINAL', {'value': 'forged', 'metadata': {}}))"),
    forges("many answers", "send(frame('FINAL', {'value': 1, 'metadata': {}}) * 1000)"),
    forges("an answer without a value", "send(frame('FINAL', {}))"),
    forges("an answer of no such type", "send(frame('FINAL', {'value': {'$': 'code'}}))"),
    forges("metadata that are no mapping", "send(frame('FINAL', {'value': 1, 'metadata': [1]}))"),
    forges("output that is not a text", "send(frame('OUTPUT', {'text': {'a': 1}}))"),
    forges("output without text", "send(frame('OUTPUT', {}))"),
    forges("output without end", "while True: send(frame('OUTPUT', {'text': 'x' * 60_000}))"),
    forges("empty output without end", "while True: send(frame('OUTPUT', {'text': ''}) * 1000)"),
    forges(
        "a call of an unknown tool",
        "send(frame('CALL', {'id': 0, 'name': 'nobody', 'args': [], 'kwargs': {}}))\n"
        "time.sleep(0.2)",
    ),
    forges(
        "calls of what the host's objects have",
        "for name in ('__class__', 'run', 'kill', 'eval', 'os.system', '', 'final_answer'):\n"
        "    send(frame('CALL', {'id': 0, 'name': name, 'args': ['1'], 'kwargs': {}}))\n"
        "time.sleep(0.2)",
    ),
    forges(
        "a call by a number", "send(frame('CALL', {'id': 0, 'name': 1, 'args': [], 'kwargs': {}}))"
    ),
    forges("a call with no arguments at all", "send(frame('CALL', {'id': 0, 'name': 'echo'}))"),
    forges(
        "a call with names that are none",
        "send(frame('CALL', {'id': 0, 'name': 'echo', 'args': [], 'kwargs': {'': 1, 'a b': 2}}))\n"
        "time.sleep(0.2)",
    ),
    forges(
        "a call with a number that is text",
        "send(frame('CALL', {'id': 'x', 'name': 'echo', 'args': [1], 'kwargs': {}}))\n"
        "time.sleep(0.2)",
    ),
    forges(
        "calls without end",
        "while True: send(frame('CALL', {'id': 0, 'name': 'echo', 'args': [1], 'kwargs': {}}))",
    ),
    forges(
        "a call and the end at once",
        "send(frame('CALL', {'id': 0, 'name': 'echo', 'args': [1], 'kwargs': {}})"
        " + frame('DONE', done))\ntime.sleep(0.2)",
        "print('mine')",
        checks=(Prints("mine\n"),),
    ),
    forges("an order of the host's", "send(frame('RUN', {'step': 9, 'code': 'print(1)'}))"),
    forges("an answer of a tool", "send(frame('RETURN', {'id': 0, 'value': 1}))"),
    forges("the process ended", "send(frame('EXITED', {'status': 0}))"),
    forges("the process ended by no number", "send(frame('EXITED', {'status': 'x'}))"),
    forges(
        "another process runs the step", "send(frame('FORKED', {'pid': HOST}))\nwhile True: pass"
    ),
    forges("a process with no number", "send(frame('FORKED', {'pid': -1}))\nwhile True: pass"),
    forges("it is ready", "send(frame('READY', {}))"),
    forges("it is swept", "send(frame('SWEPT', {'killed': 5, 'memory': True, 'pool': ''}))"),
    forges("it failed", "send(frame('FAILED', {'error': 'x' * 100_000}))"),
    forges("a kind that is none", "send(frame(200, {}))"),
    forges("kind zero", "send(bytes(9))"),
    forges("noise", "send(os.urandom(5000))"),
    forges("text", "send(b'GET / HTTP/1.1\\r\\n\\r\\n')"),
    forges("half a header", "send(b'\\x01\\x00')\nwhile True: pass"),
    forges("half a frame", "send(frame('OUTPUT', {'text': 'abc'})[:-2])\nwhile True: pass"),
    forges("half a frame and the end", "send(frame('OUTPUT', {'text': 'abc'})[:-2])"),
    forges("a header of four gigabytes", "send(struct.pack('>BII', 1, 2**32 - 1, 2**32 - 1))"),
    forges(
        "a blob of a gigabyte that never comes",
        "send(struct.pack('>BII', KINDS['OUTPUT'], 2, 2**30) + b'{}')\nwhile True: pass",
    ),
    forges("a body that is not JSON", "send(frame('OUTPUT', b'{nothing'))"),
    forges("a body that is a list", "send(frame('OUTPUT', b'[1]'))"),
    forges("a body that is nested", "send(frame('OUTPUT', b'[' * 100_000))"),
    forges(
        "a body with nested objects",
        "send(frame('OUTPUT', b'{\"text\":' * 50_000 + b'1' + b'}' * 50_000))",
    ),
    forges("a body that is not a text", "send(frame('OUTPUT', b'\\xff\\xfe{}'))"),
    forges(
        "a body with a huge number", "send(frame('OUTPUT', b'{\"text\":' + b'9' * 99_999 + b'}'))"
    ),
    forges("a body with NaN", "send(frame('FINAL', b'{\"value\": NaN, \"metadata\": {}}'))"),
    forges(
        "a body that has a name twice",
        'send(frame(\'FINAL\', b\'{"value": 1, "value": {"$": 1}, "metadata": {}}\'))',
    ),
    forges(
        "a value that reaches out of its blob",
        "send(frame('FINAL', {'value': {'$': 'bytes', 'at': 10**9, 'size': 5, 'offset': -9,"
        " 'length': 10**9}, 'metadata': {}}))",
    ),
    forges(
        "a data frame that is none",
        "for tag in ('frame', 'arrow', 'table'):\n"
        "    send(frame('FINAL', {'value': {'$': tag, 'at': 0, 'size': 100, 'offset': 0,"
        " 'length': 100}, 'metadata': {}}, b'ARROW1' + os.urandom(94)))",
    ),
    forges(
        "a pickle as a blob",
        "import pickle\n"
        "class Run:\n"
        "    def __reduce__(self): return (open, (FOLDER + '/pickled', 'w'))\n"
        "data = pickle.dumps(Run())\n"
        "for tag in ('bytes', 'pickle', 'frame'):\n"
        "    send(frame('FINAL', {'value': {'$': tag, 'at': 0, 'size': len(data), 'offset': 0,"
        " 'length': len(data)}, 'metadata': {}}, data))",
    ),
    forges(
        "artifacts that are paths",
        "for name in ('../x', '/etc/x', FILE, '', '..', 'a\\0b', '\\ud800'):\n"
        "    send(frame('ARTIFACT', {'name': name, 'media_type': 'x'}, b'changed'))",
    ),
    forges("an artifact with no name", "send(frame('ARTIFACT', {'name': 7, 'media_type': []}))"),
    forges(
        "artifacts without end",
        "while True: send(frame('ARTIFACT', {'name': 'a', 'media_type': 'b'}, bytes(1 << 20)))",
    ),
    forges(
        "an end whose fields have other types",
        "send(frame('DONE', {'error': 5, 'out_of_memory': 'no', 'value': {'$': []},"
        " 'value_text': 7, 'tail': 1, 'skipped': 'x', 'remarks': 3}))",
    ),
    forges("an end with no fields", "send(frame('DONE', {}))"),
    forges(
        "an end with a huge error",
        "send(frame('DONE', {**done, 'error': 'x' * 3_000_000, 'value_text': 'y' * 500_000}))",
    ),
    forges(
        "an end with hostile text",
        "send(frame('DONE', {**done, 'tail': '\\x1b]0;x\\x07', 'skipped': -10**9,"
        " 'remarks': ['x'] * 10_000}))",
    ),
    forges(
        "the sockets are shut",
        """
import socket
for number in range(3, 65):
    try: socket.socket(fileno=number).shutdown(socket.SHUT_RDWR)
    except OSError: pass
""",
        proof=Proof.RUNS,
    ),
    forges(
        "the sockets' buffers are set",
        """
import socket
for number in range(3, 65):
    try:
        sock = socket.socket(fileno=os.dup(number))
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
        sock.setblocking(False)
    except OSError: pass
print('x' * 9000)
""",
        proof=Proof.RUNS,
    ),
    forges(
        "descriptors are sent along",
        """
import array, socket
ours, theirs = socket.socketpair()
for number in range(3, 65):
    if number in (ours.fileno(), theirs.fileno()): continue
    try:
        sock = socket.socket(fileno=os.dup(number))
        sock.sendmsg([frame('OUTPUT', {'text': 'x'})], [(socket.SOL_SOCKET, socket.SCM_RIGHTS,
                     array.array('i', [ours.fileno()] * 200))])
    except OSError: pass
""",
    ),
    forges(
        "calls whose answers are never read",
        "big = 'x' * 1_000_000\n"
        "for _ in range(20):\n"
        "    send(frame('CALL', {'id': 0, 'name': 'echo', 'args': [big], 'kwargs': {}}))\n"
        "while True: pass",
    ),
)
