"""At LOCAL: code that ends its process, that does not end, and that prints without end."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, group


def _changes(proof: Proof = Proof.RUNS, /, **codes: str) -> Iterator[Attack]:
    """One attack a piece of code."""
    for name, code in codes.items():
        yield attack(name.replace("_", " "), code, proof=proof, imports=())


def _endless(**codes: str) -> Iterator[Attack]:
    for name, code in codes.items():
        yield attack(name.replace("_", " "), code, proof=Proof.HANGS, imports=())


ENDING = group(
    "local ends",
    _changes(
        Proof.NONE,
        an_exit="raise SystemExit(3)",
        exit="exit(3)",
        an_interrupt="raise KeyboardInterrupt",
        a_cancellation="class E(BaseException): pass\nraise E('x')",
        the_end_of_a_generator="raise GeneratorExit",
        all_subclasses="for kind in BaseException.__subclasses__(): raise kind",
        a_stop="raise StopIteration(1)",
        an_error_that_cannot_be_shown="class E(Exception):\n"
        "    def __str__(self): raise SystemExit\n    __repr__ = __str__\nraise E",
        a_value_that_cannot_be_shown="class C:\n    def __repr__(self): raise SystemExit\nC()",
        a_chain_of_errors="for n in range(500):\n    try: raise ValueError('x' * 999)\n"
        "    except ValueError as error: last = error\nraise last",
    ),
)

ENDLESS = group(
    "local time",
    _endless(
        a_loop="while True: pass",
        a_loop_that_catches_all="while True:\n    try:\n        while True: pass\n"
        "    except BaseException: pass",
        a_loop_that_catches_without_a_name="while True:\n    try:\n        while True: x = 1\n"
        "    except: pass",
        a_loop_that_goes_on_at_the_end="def f():\n    try:\n        while True: pass\n"
        "    finally: f()\nf()",
        a_loop_in_a_handler="try:\n    while True: pass\nexcept BaseException:\n"
        "    while True: pass",
        a_loop_of_handlers="def f():\n    while True:\n        try: yield 1\n"
        "        except BaseException: continue\nfor n in f(): pass",
        a_context_that_swallows="class C:\n    def __enter__(self): return self\n"
        "    def __exit__(self, *a): return True\nwhile True:\n    with C():\n"
        "        while True: pass",
        a_loop_that_returns="def f():\n    while True:\n        try:\n"
        "            while True: pass\n"
        "        finally: continue\nf()",
        a_comprehension="def f():\n    while True: yield 1\n[n for n in f()]",
        a_generator_in_a_sum="def f():\n    while True: yield 1\nsum(f())",
        a_sort_key="def f(n):\n    while True: pass\nsorted([1], key=f)",
        a_comparison="class C:\n    def __eq__(self, other):\n        while True: pass\nC() == 1",
        a_hash="class C:\n    def __hash__(self):\n        while True: pass\n{C()}",
        a_property="class C:\n    @property\n    def x(self):\n        while True: pass\nC().x",
        a_lambda="(lambda f: f(f))(lambda f: [0 for _ in iter(int, 1)])",
        a_sleep="import time\ntime.sleep(100)",
        many_sleeps="import time\nwhile True:\n    try: time.sleep(100)\n"
        "    except BaseException: pass",
        a_recursion_that_is_wide="def f(n): return n < 2 or (f(n - 1), f(n - 2))\nf(60)",
        a_finalizer="class C:\n    def __del__(self):\n        while True: pass\nc = C()\ndel c",
        a_decorator="def f(g):\n    while True: pass\n@f\ndef g(): pass",
        a_class_body="class C:\n    while True: pass",
        a_default="def loop():\n    while True: pass\ndef f(a=loop()): pass",
        a_loop_with_a_walrus="while (n := 1): n += 1",
        a_loop_around_an_answer="while True:\n    try: final_answer(1)\n"
        "    except BaseException: pass",
        a_loop_around_a_tool="while True:\n    try: echo(1)\n    except BaseException: pass",
    ),
    attack(
        "the value's repr",
        "class C:\n    def __repr__(self):\n        while True: pass\nC()",
        proof=Proof.NONE,
        imports=(),
    ),
    attack(
        "an error's text",
        "class E(Exception):\n    def __str__(self):\n        while True: pass\nraise E",
        proof=Proof.HANGS,
        imports=(),
    ),
    attack("printing without end", "while True: print('x' * 1000)", proof=Proof.FLOODS, imports=()),
    attack("one long text", "print('x' * 10**7)", proof=Proof.FLOODS, imports=()),
)
