"""Forged answers and helpers: what the code may rebind, catch or patch in its own process."""

from __future__ import annotations

from typing import Any

from tests.tinyagent.execution.attacks.cases import (
    Answers,
    Attack,
    Heard,
    Prints,
    Proof,
    attack,
    group,
    no_answer,
)


def inside(name: str, *steps: str, **options: Any) -> Attack:
    """An attack on the code's own side; plain Python shows only that it runs."""
    return attack(name, *steps, **{"proof": Proof.RUNS, **options})


def patches(name: str, code: str, **options: Any) -> Attack:
    """An attack on a module of the worker, found by a class or function it has."""
    found = "import sys\nmodules = {n.split('.')[-1]: m for n, m in sys.modules.items()}\n"
    options = {"proof": Proof.NONE, "resets": True, "may_lose": True, **options}
    return attack(name, found + code, "print(6 * 7)", **options)


ANSWERS = group(
    "answers",
    inside("by a name", "_final_result = 7\nfinal_value = 7\nis_final = True", checks=(no_answer,)),
    inside(
        "by another function",
        "def final_answer(value): print('mine')\nfinal_answer(1)",
        checks=(no_answer,),
    ),
    inside(
        "another function is gone in the next step",
        "def final_answer(value): print('mine')",
        "final_answer(42)",
        checks=(Answers(42),),
    ),
    inside(
        "a deleted helper is back", "del final_answer", "final_answer(42)", checks=(Answers(42),)
    ),
    inside(
        "helpers are cleared",
        "globals().clear()",
        "final_answer(42)",
        checks=(Answers(42),),
        resets=True,
    ),
    inside(
        "the exception is caught",
        "try: final_answer(42)\nexcept BaseException: pass\nprint('went on')",
        checks=(Answers(42),),
    ),
    inside(
        "the exception is caught and the answer given again",
        "for value in (42, 43):\n    try: final_answer(value)\n    except BaseException: pass",
        checks=(Answers(42),),
    ),
    inside(
        "it hangs after the answer",
        "try: final_answer(42)\nfinally:\n    while True: pass",
        proof=Proof.HANGS,
    ),
    inside(
        "the exception is swallowed by a context",
        "import contextlib\nwith contextlib.suppress(BaseException): final_answer(42)",
        checks=(Answers(42),),
    ),
    inside(
        "in a generator that goes on",
        "def steps():\n    try: yield final_answer(42)\n    finally: yield 1\nprint(list(steps()))",
        checks=(Answers(42),),
    ),
    inside(
        "in a finalizer",
        "class Last:\n    def __del__(self): final_answer(42)\nlast = Last()\ndel last",
        proof=Proof.RAISES,
    ),
    inside(
        "in a thread",
        "import threading\n"
        "thread = threading.Thread(target=final_answer, args=(42,))\nthread.start()\nthread.join()",
        proof=Proof.RAISES,
    ),
    inside("while sorting", "sorted([2, 1], key=final_answer)", checks=(Answers(2),)),
    inside(
        "the exception is raised without the helper",
        "kinds = []\n"
        "try: final_answer(1)\n"
        "except BaseException as error: kinds.append(type(error))",
        "raise kinds[0]",
    ),
    inside(
        "all subclasses of BaseException are raised",
        "kinds = BaseException.__subclasses__()\n"
        "for kind in kinds:\n    if 'inal' in kind.__name__: raise kind()",
        checks=(no_answer,),
    ),
    inside(
        "traced",
        "import sys\n"
        "def trace(frame, event, value):\n"
        "    if event == 'exception': frame.f_trace = None\n"
        "    return trace\n"
        "sys.settrace(trace)\nsys.setprofile(lambda *_: None)",
        "final_answer(42)",
        checks=(Answers(42),),
    ),
    inside(
        "a tracer raises",
        "import sys\ndef trace(*_): raise MemoryError('trace')\n"
        "sys.setprofile(trace)\nsys.settrace(trace)\nfinal_answer(42)",
        resets=True,
        may_lose=True,
        proof=Proof.RUNS_OUT,
    ),
    inside(
        "the code of the helper is replaced",
        "def other(value, **metadata): print('mine')\n"
        "try: final_answer.__code__ = other.__code__\n"
        "except (AttributeError, ValueError): pass",
        "final_answer(42)",
        checks=(Answers(42),),
    ),
    inside(
        "the answer changes while it is read",
        "class Moving(dict):\n"
        "    def items(self): return [('a', final_answer)]\n"
        "    def __iter__(self): return iter(['b'])\n"
        "    def __len__(self): return 10**9\n"
        "final_answer(Moving(c=1))",
    ),
)

HELPERS = group(
    "monkeypatching",
    inside(
        "print",
        "def print(*_): pass",
        "import builtins\nbuiltins.print(6 * 7)",
        checks=(Prints("42\n"),),
        resets=True,
    ),
    inside("built-in print", "import builtins\nbuiltins.print = None", resets=True),
    inside(
        "all built-ins",
        "import builtins\nfor name in dir(builtins):\n"
        "    if name[0] != '_': delattr(builtins, name)",
        resets=True,
        may_lose=True,
        proof=Proof.NONE,
    ),
    inside(
        "__import__",
        "import builtins\nbuiltins.__import__ = lambda *a, **k: 1 / 0",
        resets=True,
        may_lose=True,
    ),
    inside(
        "a tool",
        "def echo(value): return 'mine'\nassert echo(1) == 'mine'",
        "assert echo(5) == 5",
        checks=(Heard((5,)),),
    ),
    inside(
        "what the tool calls",
        "import json, struct\njson.dumps = json.loads = struct.pack = lambda *a, **k: b'x' * 9",
        "echo(5)",
        resets=True,
        may_lose=True,
    ),
    inside("sys.stdout", "import sys\nsys.stdout = None", "print(6 * 7)", checks=(Prints("42\n"),)),
    inside(
        "sys.stdout is closed",
        "import sys\nsys.stdout.close()",
        "print(6 * 7)",
        checks=(Prints("42\n"),),
        proof=Proof.NONE,
    ),
    inside(
        "sys.stdout is an object of the code's",
        "import sys\nclass Out:\n"
        "    def __getattr__(self, name): raise SystemExit(name)\nsys.stdout = Out()",
    ),
    inside("sys.modules is emptied", "import sys\nsys.modules.clear()", resets=True, may_lose=True),
    inside(
        "sys.modules is full of hostile objects",
        "import sys\nclass Any:\n"
        "    def __getattr__(self, name): return lambda *a, **k: self\n"
        "for name in ('json', 'matplotlib.pyplot', 'pandas', 'pyarrow', 'numpy', 'linecache',\n"
        "             'traceback'):\n    sys.modules[name] = Any()",
        "final_answer([1])",
        resets=True,
        may_lose=True,
    ),
    inside(
        "the module __main__",
        "import sys\nsys.modules['__main__'] = None",
        "x = 5\nimport __main__\nprint(6 * 7)",
        checks=(Prints("42\n"),),
        proof=Proof.NONE,
    ),
    inside(
        "excepthook and displayhook",
        "import sys, threading\n"
        "sys.excepthook = sys.displayhook = threading.excepthook = sys.unraisablehook = None\n"
        "1 / 0",
        proof=Proof.RAISES,
    ),
    inside("exit", "raise SystemExit('bye')", proof=Proof.NONE),
    inside("exit by a thread's", "import _thread\n_thread.interrupt_main()", proof=Proof.NONE),
    inside("an interrupt", "raise KeyboardInterrupt", proof=Proof.NONE),
    inside("a cancellation", "import asyncio\nraise asyncio.CancelledError", proof=Proof.NONE),
    inside("the end of a generator", "raise GeneratorExit", proof=Proof.NONE),
    inside(
        "an audit hook",
        "import sys\ndef no(*_): raise RuntimeError\nsys.addaudithook(no)",
        resets=True,
        may_lose=True,
        proof=Proof.NONE,
    ),
    inside(
        "the collector",
        "import gc\ngc.freeze()\ngc.callbacks.append(lambda *_: 1 / 0)\ngc.set_threshold(1)\n"
        "x = [[] for _ in range(1000)]",
        resets=True,
        proof=Proof.RAISES,
    ),
    patches("worker's encoder", "modules['values'].encode = lambda *a: {'$': 'code'}"),
    patches("worker's decoder", "modules['values'].decode = lambda *a: 1 / 0"),
    patches("worker's frames", "modules['wire'].pack = lambda frame: b'x' * 100"),
    patches(
        "worker's limits of frames", "modules['wire'].MAX_JSON = modules['wire'].MAX_BLOB = 2**40"
    ),
    patches("worker's kinds", "modules['wire'].Kind = None"),
    patches("worker's link", "modules['link'].Link.send = lambda *a: None"),
    patches("worker's step", "modules['step'].run_step = lambda *a: None"),
    patches(
        "worker's namespace",
        "modules['step'].Namespace.prepare = lambda self, names: 1 / 0",
    ),
    patches(
        "worker's output limit",
        "modules['door'].OutputSink.write = lambda self, data: self._send('x' * 10_000_000) or 1",
    ),
    patches(
        "worker's refusal of imports",
        "modules['imports'].allowed = lambda *a: True\nimport socket\n"
        "print(WON, socket.create_connection(('127.0.0.1', PORT)))",
        imports=(),
    ),
    patches("worker's errors", "modules['tracebacks'].describe = lambda *a: 5"),
    patches(
        "worker's objects by the collector",
        "import gc\nfor thing in gc.get_objects():\n"
        "    if type(thing).__name__ in"
        " ('SessionProcess', 'Link', 'Warden', 'Namespace', 'Rules'):\n"
        "        for name in list(getattr(thing, '__dict__', ())):\n"
        "            try: setattr(thing, name, None)\n"
        "            except Exception: pass",
    ),
    patches(
        "worker's frames on the stack",
        "frame = sys._getframe()\nwhile frame:\n"
        "    frame.f_locals.clear()\n    frame = frame.f_back",
    ),
    patches(
        "worker's warden",
        "for n in dir(modules['warden']):\n    if n[0] != '_': setattr(modules['warden'], n, None)",
    ),
)
