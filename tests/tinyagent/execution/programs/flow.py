"""Programs about errors, text, scopes, and what runs side by side."""

from __future__ import annotations

from tests.tinyagent.execution.programs.cases import program

FLOW = (
    program(
        "exceptions",
        """
class TooSmall(ValueError):
    def __init__(self, value):
        super().__init__(f"{value} is too small")
        self.value = value
def check(value):
    try:
        if value < 10: raise TooSmall(value)
        return 100 / (value - 10)
    except ZeroDivisionError as error:
        raise RuntimeError("bad") from error
    else: print("never")
    finally: print("checked", value)
for value in (5, 10, 20):
    try: print(check(value))
    except TooSmall as error: print("small:", error, error.value, error.args)
    except RuntimeError as error: print(type(error).__name__, error, repr(error.__cause__))
try:
    try: int("x")
    except ValueError: raise
except Exception as error: print(error)
""",
    ),
    program(
        "exceptions, plain",
        """
def check(value):
    try:
        if value < 0: raise ValueError(f"{value} is negative")
        return 10 // value
    except ZeroDivisionError: return "by zero"
    finally: print("checked", value)
for value in (5, 0, -1):
    try: print(check(value))
    except ValueError as error: print("wrong:", error)
    else: print("fine")
assert check(1) == 10, "one"
""",
        local=True,
    ),
    program(
        "groups of exceptions",
        """
try:
    raise ExceptionGroup("several", [ValueError("a"), KeyError("b"), ValueError("c")])
except* ValueError as group: print("values:", [str(e) for e in group.exceptions])
except* KeyError as group: print("keys:", len(group.exceptions))
""",
    ),
    program(
        "an error nobody catches",
        """
def half(n):
    return n / 2
def run(rows):
    return [half(row) for row in rows]
""",
        "print('before')\nrun([2, 'x'])\nprint('never')",
        fails=True,
        local=True,
    ),
    program("an error, then on", "x = 5\nprint(x)", "y = x / 0", "print(x + 1)", local=True),
    program("a syntax error", "print('one')", "print('two'\nfor", fails=True, local=True),
    program(
        "f-strings",
        """
name, value, width = "Ada", 1234.5678, 12
print(f"{name!r:>10}|{value:,.2f}|{value:{width}.1f}|{value:e}|{name:^9}|{255:#x} {255:08b}")
print(f"{name=} {value * 2 = :.1f} {{braces}} {'nested ' + f'{name.lower()}'}")
print(f"{1_000_000:_} {0.256:.1%} {-7:+d} {'é':*<4}")
""",
        local=True,
    ),
    program(
        "str.format",
        """
print("{} {1}".replace("{1}", "{}").format("a", "b"), "{0} {1} {0}".format("x", "y"))
print("{name:>8}|{amount:08.2f}|{0:,}".format(12345, name="Ada", amount=3.14159))
print("{:{fill}^{width}}".format("mid", fill="*", width=9), "{0[0]} {1[k]}".format([1], {"k": 3}))
print("{a}-{b}".format_map({"a": 1, "b": 2}))
""",
    ),
    program(
        "format with percent",
        """
print("%s is %d years and %.2f m, %5.1f%%, %x %o %e" % ("Ada", 36, 1.7, 99.5, 255, 8, 12345.678))
print("%(name)-8s|%(n)05d" % {"name": "Bob", "n": 42}, "%r %c" % ("a", 65))
""",
        local=True,
    ),
    program(
        "comprehensions and their scopes",
        """
n = "outer"
squares = [n * n for n in range(5)]
print(n, squares, {k: v for k, v in zip("abc", squares)}, {x % 3 for x in range(10)} == {0, 1, 2})
matrix = [[i * j for j in range(3)] for i in range(3)]
print([cell for row in matrix for cell in row if cell], list(zip(*matrix)))
print({word: [c for c in word if c in "aeiou"] for word in ("hello", "sky")})
""",
        local=True,
    ),
    program(
        "star unpacking",
        """
first, *middle, last = range(6)
(a, b), [c, *d] = (1, 2), "xyz"
def show(*args, sep="-", **kwargs): return sep.join(map(str, args)) + str(sorted(kwargs.items()))
print(first, middle, last, a, b, c, d, [*middle, *d], {**{"x": 1}, "y": 2})
print(show(*[1, 2], 3, sep="/", **{"k": 1}), [*range(3)], (*"ab",))
def only(a, /, b, *, c): return (a, b, c)
print(only(1, b=2, c=3))
for i, (x, y) in enumerate([(1, 2), (3, 4)], start=1): print(i, x + y)
""",
        local=True,
    ),
    program(
        "walrus",
        """
data = [5, 12, 7, 30]
if (n := len(data)) > 3: print(n)
print([y for x in data if (y := x * 2) > 20], y)
text = iter(["a", "b", "end", "c"])
while (word := next(text)) != "end": print(word)
""",
        local=True,
    ),
    program(
        "global",
        """
total = 0
def add(n):
    global total, latest
    total += n
    latest = n
""",
        "for n in (1, 2, 3): add(n)\nprint(total, latest)",
        local=True,
    ),
    program(
        "recursion",
        """
def hanoi(n, a="A", b="B", c="C"):
    return [] if n == 0 else hanoi(n - 1, a, c, b) + [(a, c)] + hanoi(n - 1, b, a, c)
def ackermann(m, n):
    if m == 0: return n + 1
    return ackermann(m - 1, 1 if n == 0 else ackermann(m, n - 1)) if n else ackermann(m - 1, 1)
def depth(n): return n and 1 + depth(n - 1)
def flatten(x): return [z for y in x for z in flatten(y)] if isinstance(x, list) else [x]
print(len(hanoi(6)), ackermann(2, 2), depth(400), flatten([1, [2, [3, [4]]]]))
""",
        local=True,
    ),
    program(
        "too deep a recursion",
        """
def down(n): return down(n + 1)
try: down(0)
except RecursionError as error: print("caught", "maximum recursion depth" in str(error))
""",
    ),
    program(
        "five steps",
        "import math\nradius = 3",
        "def area(r): return math.pi * r ** 2",
        "areas = [area(r) for r in range(1, radius + 1)]\nprint(len(areas))",
        "class Report:\n    def text(self): return f'{sum(areas):.3f}'\nreport = Report()",
        "print(report.text(), round(area(radius), 2))",
        imports="math",
        local=True,
    ),
    program(
        "typing annotations",
        """
from typing import Any, Callable, Generic, Literal, NamedTuple, Optional, TypedDict, TypeVar
T = TypeVar("T")
class Stack(Generic[T]):
    def __init__(self) -> None: self.items: list[T] = []
    def push(self, item: T) -> None: self.items.append(item)
class Row(NamedTuple):
    name: str
    amount: float = 0.0
class Movie(TypedDict):
    title: str
def apply(f: Callable[[int], int], n: Optional[int] = None, mode: Literal["a"] = "a") -> int | None:
    result: int | None = f(n) if n is not None else None
    return result
s: Stack[int] = Stack()
s.push(1)
movie: Movie = {"title": "x"}
print(s.items, Row("a"), Row("b", 2)._asdict(), movie, apply(lambda n: n + 1, 4), apply(abs))
print(apply.__annotations__["n"])
""",
        imports="typing",
    ),
    program(
        "sorting with keys",
        """
people = [("Ada", 36), ("Bob", 25), ("Cy", 36), ("Di", 25)]
print(sorted(people, key=lambda p: (-p[1], p[0])), min(people, key=lambda p: p[1]))
people.sort(key=lambda p: p[0], reverse=True)
print(people, sorted("bANana", key=str.lower), max(["a", "ccc", "bb"], key=len))
print(list(reversed([1, 2, 3])), sorted({"b": 1, "a": 2}.items()))
""",
        local=True,
    ),
    program(
        "threads",
        """
import threading, queue
done = queue.Queue()
lock, total = threading.Lock(), [0]
def work(n):
    with lock: total[0] += n
    done.put(n)
threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
for t in threads: t.start()
for t in threads: t.join()
print(total, sorted(done.get() for _ in range(8)))
from concurrent.futures import ThreadPoolExecutor
with ThreadPoolExecutor(3) as pool: print(list(pool.map(lambda n: n ** 2, range(6))))
""",
        imports="threading queue concurrent",
    ),
    program(
        "asyncio",
        """
import asyncio
async def fetch(n):
    await asyncio.sleep(0.01 * (3 - n))
    return n * 10
async def numbers():
    for n in range(3): yield n
async def main():
    print(await asyncio.gather(*(fetch(n) for n in range(3))))
    print([n async for n in numbers()])
    try: await asyncio.wait_for(asyncio.sleep(5), 0.01)
    except asyncio.TimeoutError: print("too late")
    async with asyncio.TaskGroup() as group: task = group.create_task(fetch(2))
    return task.result()
print(asyncio.run(main()))
""",
        imports="asyncio",
    ),
    program(
        "reading of types",
        """
import inspect, types
def f(a, b: int = 2, *args, c, **rest): "Says."; return a
print(inspect.signature(f), inspect.getdoc(f), callable(f), type(f).__name__)
print(hasattr([], "append"), getattr({}, "nothing", "default"))
print(sorted(vars(types.SimpleNamespace(a=1))))
print(eval("1 + 2", {}), isinstance(True, int), id(f) == id(f), [t.__name__ for t in bool.__mro__])
exec("made = 7")
print(made, "f" in dir(), "f" in globals())
""",
        imports="inspect types",
    ),
    program(
        "the module it is in",
        """
import sys
print(__name__, sys.modules["__main__"].__name__)
if __name__ == "__main__": print("main")
""",
        imports="sys",
    ),
    program(
        "quick sums",
        "rows = [3, 1, 2]\nsum(rows)",
        "max(rows) * 2",
        "sorted(rows)[-1]\nrows",
        local=True,
    ),
)
