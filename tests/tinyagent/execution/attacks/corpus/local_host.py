"""At LOCAL: what would harm the process that the code shares with its host."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, group


def _changes(proof: Proof = Proof.RUNS, /, **codes: str) -> Iterator[Attack]:
    """One attack a piece of code that changes what host and code share; the host looks itself."""
    for name, code in codes.items():
        yield attack(name.replace("_", " "), code, proof=proof, imports=())


def _endless(**codes: str) -> Iterator[Attack]:
    for name, code in codes.items():
        yield attack(name.replace("_", " "), code, proof=Proof.HANGS, imports=())


SHARED = group(
    "local shared objects",
    _changes(
        a_constant="import math\nmath.pi = 3",
        a_function_of_a_module="import json\njson.dumps = lambda *a, **k: 'forged'",
        a_function_by_setattr="import json\nsetattr(json, 'dumps', None)",
        a_function_deleted="import json\ndel json.loads",
        a_class_of_a_module="import fractions\nfractions.Fraction.forged = 1",
        a_method_of_a_class="import string\nstring.Formatter.format = None",
        a_text_of_a_module="import string\nstring.digits = 'forged'",
        a_registry="import copyreg\ncopyreg.dispatch_table.clear()",
        the_precision="import decimal\ndecimal.getcontext().prec = 1\n"
        "decimal.DefaultContext.prec = 1",
        the_dice="import random\nrandom.seed(0)",
        print_itself="import builtins\nbuiltins.print = None",
        a_built_in="def len(x): return 0",
        the_limit_of_recursion="import sys\nsys.setrecursionlimit(60)",
        standard_output="import sys\nsys.stdout = None",
        the_modules="import sys\nsys.modules['json'] = None",
        the_folder="import os\nos.chdir('/')",
        the_environment="import os\nos.environ['SANDBOX_CANARY'] = 'forged'",
        the_warnings="import warnings\nwarnings.simplefilter('ignore')",
        a_tool="lookup.forged = 1",
        an_abstract_class="import numbers\nnumbers.Number.register(str)",
        a_zone_s_folders="import zoneinfo\nzoneinfo.reset_tzpath(['/nowhere'])",
        a_csv_dialect="import csv\ncsv.register_dialect('excel', delimiter='!')\n"
        "csv.field_size_limit(1)",
    ),
    _changes(
        Proof.NONE,
        the_helpers="final_answer = None\necho = None",
        a_trace="import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: 1 / 0)",
        the_locale="import locale\nlocale.setlocale(locale.LC_ALL, 'C')",
    ),
)

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
