"""Hostile objects handed to the host: pickles, subclasses, things that change or never end."""

from __future__ import annotations

from tests.tinyagent.execution.attacks.cases import (
    Attack,
    Proof,
    attack,
    gets_any,
    group,
    no_answer,
)

_HOSTILE = """
class Reduced:
    def __reduce__(self):
        return (open, (FOLDER + "/pickled", "w"))
class Text(str):
    def __eq__(self, other): return True
    def __hash__(self): return 1
    def __repr__(self): return "SystemExit()"
    def __len__(self): return -1
    def encode(self, *args): return b"x"
class Number(int):
    def __repr__(self): return "__import__('os')"
    def __index__(self): return 10**9
    def __int__(self): return 10**9
class Mapping(dict):
    def __iter__(self): return iter(["__class__"])
    def items(self): raise SystemExit
    def __getitem__(self, name): return Mapping()
class Sequence(list):
    def __iter__(self):
        while True: yield 1
    def __len__(self): return 10**12
class Liar:
    @property
    def __class__(self): return dict
    def __getattr__(self, name): return lambda *a: self
class Broken:
    def __repr__(self): raise KeyboardInterrupt
class Loud:
    def __repr__(self): return "x" * 10**7
class Slow:
    def __repr__(self):
        while True: pass
class Deep:
    def __repr__(self): return repr(self)
class Meta(type):
    def __getattribute__(cls, name): raise SystemExit(name)
class Odd(metaclass=Meta): pass
class Typed:
    __module__ = property(lambda self: 1 / 0)
    __name__ = 5
def nested(depth):
    value = []
    for _ in range(depth): value = [value]
    return value
def looped():
    value = []
    value.append(value)
    return value
"""

# By name: an expression for the hostile object.
_OBJECTS = {
    "a pickle's reduction": "Reduced()",
    "text that lies": "Text('abc')",
    "a number that lies": "Number(5)",
    "a mapping that lies": "Mapping(a=1)",
    "a sequence that never ends": "Sequence([1, 2])",
    "an object that pretends to be a dict": "Liar()",
    "an object that cannot be shown": "Broken()",
    "an object that shows too much": "Loud()",
    "an object that shows itself for ever": "Deep()",
    "a class whose class is hostile": "Odd",
    "an object of no module": "Typed()",
    "very deep": "nested(100_000)",
    "in a circle": "looped()",
    "names that are tags": "{'$': 'bytes', 'at': 0, 'size': 10**9}",
    "names that are dunders": "{'__class__': 1, '__reduce__': [1], '__dict__': {}}",
    "names that lie": "{Text('a'): 1, Text('b'): 2, Number(3): 4}",
    "text with lone surrogates": "'\\ud800\\udfff' * 3",
    "text with no end of marks": "'\\x1b]0;x\\x07\\x00\\u202e' * 1000",
    "a number of very many digits": "10 ** 200_000",
    "not a number": "[float('nan'), float('inf'), -0.0, 5e-324]",
    "a hundred megabytes": "'x' * 100_000_000",
    "a hundred megabytes of bytes": "bytes(100_000_000)",
    "a million lists": "[[] for _ in range(1_000_000)]",
    "the module of files": "__import__('os')",
    "a function": "lambda: 1 / 0",
    "an open file": "open('mine', 'w')",
    "a running generator": "(1 for _ in iter(int, 1))",
    "a data frame of objects": "__import__('pandas').DataFrame({'a': [Reduced(), Liar()]})",
    "a data frame of classes": "__import__('pandas').DataFrame({'a': [Reduced, open]})",
    "a data frame with odd names": "__import__('pandas').DataFrame({Text('a'): [1], 5: [2]})",
    "a huge data frame": "__import__('pandas').DataFrame({'a': range(8_000_000)})",
    "a data frame's subclass": (
        "type('F', (__import__('pandas').DataFrame,), {'__reduce__': Reduced.__reduce__})([1])"
    ),
    "an array of objects": "__import__('numpy').array([Reduced()], dtype=object)",
    "an enormous decimal": "__import__('decimal').Decimal('1e999999999')",
    "a time without limits": "__import__('datetime').timedelta.max",
    "a zone that lies": (
        "__import__('datetime').datetime(2026, 1, 1, tzinfo=type('Z', "
        "(__import__('datetime').tzinfo,), {'utcoffset': lambda s, d: 1 / 0})())"
    ),
}


_HEAVY = ("huge", "array", "hundred", "million lists")  # slow to load, or too large for the proof


def _hands_over(name: str, expression: str) -> Attack:
    """An object handed over as an answer, as a tool's argument and as a value."""
    heavy = any(word in name for word in _HEAVY)
    uses = ("final_answer({})", "echo({})", "{}") if not heavy else ("final_answer({})",)
    steps = [f"{_HOSTILE}\n{use.format(expression)}" for use in uses]
    return attack(name, *steps, proof=Proof.NONE if heavy else Proof.RUNS)


OBJECTS = group(
    "objects",
    *(_hands_over(name, expression) for name, expression in _OBJECTS.items()),
    attack(
        "shown without end",
        f"{_HOSTILE}\nfinal_answer(Slow())",
        proof=Proof.NONE,
        checks=(no_answer,),
    ),
    attack(
        "its error is shown without end",
        f"""{_HOSTILE}
class Endless(Exception):
    def __str__(self):
        while True: pass
raise Endless
""",
        proof=Proof.HANGS,
    ),
    attack(
        "its error cannot be shown",
        f"""{_HOSTILE}
class Silent(BaseException):
    def __str__(self): raise SystemExit
    __repr__ = __str__
raise Silent
""",
        proof=Proof.NONE,
    ),
    attack(
        "its error has a hostile name",
        f"""{_HOSTILE}
raise Meta("x" * 10**6 + chr(27) + "[2J" + chr(0xd800), (BaseException,), {{}})("y" * 10**7)
""",
        proof=Proof.NONE,
    ),
    attack(
        "its error is a chain",
        """
for _ in range(5000):
    try: raise ValueError("x" * 1000)
    except ValueError as error: last, last.__cause__ = error, globals().get("last")
raise last
""",
        proof=Proof.NONE,
    ),
    attack(
        "its error's chain is a circle",
        """
a, b = ValueError("a"), ValueError("b")
a.__cause__, b.__cause__ = b, a
raise a
""",
        proof=Proof.NONE,
    ),
    attack(
        "a group of errors",
        """
group = ValueError("x")
for _ in range(500): group = ExceptionGroup("g" * 100, [group, group])
raise group
""",
        proof=Proof.NONE,
    ),
    attack(
        "arguments are checked, then change",
        """
class Twice(dict):
    count = 0
    def items(self):
        Twice.count += 1
        return [("a", Twice.count)]
echo(Twice(a=1))
""",
        proof=Proof.RUNS,
    ),
    attack(
        "a tool's names are hostile",
        """
lookup(**{"key": "x"})
for name in ("self", "__class__", "", "a b", "\\ud800"):
    try: lookup(**{name: 1})
    except Exception as error: print(type(error).__name__)
""",
        proof=Proof.RUNS,
    ),
)

TOOLS = group(
    "tools",
    gets_any(
        "import gc, inspect, sys",
        closure="[c.cell_contents for c in lookup.__closure__ if 'SECRET' in str(c.cell_contents)]",
        globals_of="'make_tools' in lookup.__globals__",
        source="'secret' in inspect.getsource(lookup)",
        code="'secret' in lookup.__code__.co_freevars",
        collector=(
            "[c.cell_contents for c in gc.get_objects() if type(c).__name__ == 'cell'"
            " and str(c.cell_contents).startswith('SECRET-') and len(c.cell_contents) == 23]"
        ),
        the_frames_below="[f for f in iter(lambda f=[sys._getframe()]: f.append(f[-1].f_back) "
        "or f[-1],"
        " None) if 'main' == f.f_code.co_name and 'plain' in f.f_code.co_filename]",
    ),
    attack(
        "the traceback of a tool's error",
        """
        try: lookup("wrong")
        except ValueError as error:
            trace = error.__traceback__
            while trace:
                for value in list(trace.tb_frame.f_locals.values()):
                    if type(value) is str and "SECRET-" in value: print(WON, value)
                trace = trace.tb_next
        """,
    ),
    attack(
        "the causes of a tool's error",
        """
        try: lookup("wrong")
        except ValueError as error:
            print(error.__cause__, error.__context__, error.__dict__, error.args)
            if error.__traceback__.tb_next.tb_frame.f_code.co_filename.endswith("plain.py"):
                print(WON)
        """,
    ),
    attack(
        "called by many threads at once",
        """
        import threading
        got = []
        threads = [threading.Thread(target=lambda n=n: got.append(echo(n))) for n in range(20)]
        for thread in threads: thread.start()
        for thread in threads: thread.join()
        print(sorted(got) == list(range(20)))
        """,
        proof=Proof.RUNS,
    ),
    attack(
        "called within a call's argument",
        """
        class Calls:
            def __repr__(self): return str(echo(1))
        echo(Calls())
        """,
        proof=Proof.RUNS,
    ),
    attack("called very often", "for n in range(500): echo(n)", proof=Proof.RUNS),
)
