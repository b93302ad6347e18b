"""Programs about the language itself."""

from __future__ import annotations

from tests.tinyagent.execution.programs.cases import program

LANGUAGE = (
    program(
        "classes",
        """
class Account:
    currency = "CHF"
    def __init__(self, owner, balance=0):
        self.owner = owner
        self.balance = balance
    def deposit(self, amount):
        self.balance = self.balance + amount
        return self
    def __repr__(self):
        return f"Account({self.owner!r}, {self.balance})"
    def __eq__(self, other):
        return self.balance == other.balance
account = Account("Ada").deposit(5).deposit(7)
print(account, account == Account("Bob", 12), Account.currency)
""",
        local=True,
    ),
    program(
        "inheritance",
        """
class Shape:
    def area(self): return 0
    def describe(self): return f"{type(self).__name__} of {self.area():.2f}"
class Square(Shape):
    def __init__(self, side):
        super().__init__()
        self.side = side
    def area(self): return self.side ** 2
class Named(Square):
    def describe(self): return "named " + super().describe()
print([shape.describe() for shape in (Shape(), Square(2), Named(3))])
print(isinstance(Named(1), Shape), issubclass(Square, Named))
""",
    ),
    program(
        "properties",
        """
class Celsius:
    def __init__(self, degrees): self.degrees = degrees
    @property
    def fahrenheit(self): return self.degrees * 9 / 5 + 32
    @fahrenheit.setter
    def fahrenheit(self, value): self.degrees = (value - 32) * 5 / 9
    @classmethod
    def zero(cls): return cls(0)
    @staticmethod
    def unit(): return "C"
t = Celsius(100)
print(t.fahrenheit, Celsius.zero().fahrenheit, Celsius.unit())
t.fahrenheit = 32
print(t.degrees)
""",
        local=True,
    ),
    program(
        "operators",
        """
class Vector:
    def __init__(self, x, y): self.x, self.y = x, y
    def __add__(self, other): return Vector(self.x + other.x, self.y + other.y)
    def __mul__(self, k): return Vector(self.x * k, self.y * k)
    def __getitem__(self, i): return (self.x, self.y)[i]
    def __len__(self): return 2
    def __iter__(self): return iter((self.x, self.y))
    def __contains__(self, v): return v in (self.x, self.y)
    def __call__(self, k): return self * k
    def __bool__(self): return bool(self.x or self.y)
    def __str__(self): return f"<{self.x} {self.y}>"
v = Vector(1, 2) + Vector(3, 4) * 2
print(v, v[0], len(v), list(v), 10 in v, v(2), bool(Vector(0, 0)))
""",
        local=True,
    ),
    program(
        "dataclasses",
        """
from dataclasses import asdict, dataclass, field, replace
@dataclass(order=True)
class Item:
    price: float
    name: str = "thing"
    tags: list[str] = field(default_factory=list)
items = sorted([Item(3, "c"), Item(1), Item(2, "b", ["x"])])
print(items[0], asdict(items[1]), replace(items[2], price=9))
@dataclass(frozen=True)
class Point:
    x: int
    y: int = 0
print(Point(1), hash(Point(1)) == hash(Point(1, 0)), {Point(1): "a"})
try: Point(1).x = 5
except Exception as error: print(type(error).__name__)
""",
        imports="dataclasses",
        local=True,
    ),
    program(
        "closures",
        """
def counter(start):
    count = [start]
    def step(by=1):
        count[0] = count[0] + by
        return count[0]
    return step
a, b = counter(0), counter(100)
print(a(), a(5), b(), [f(2) for f in [lambda x, n=n: x ** n for n in range(4)]])
""",
        local=True,
    ),
    program(
        "nonlocal",
        """
def average():
    total = count = 0
    def add(value):
        nonlocal total, count
        total += value
        count += 1
        return total / count
    return add
add = average()
print([add(n) for n in (10, 20, 60)])
""",
    ),
    program(
        "generators",
        """
def fibonacci():
    a, b = 0, 1
    while True:
        yield a
        a, b = b, a + b
def first(n, rows):
    for _, row in zip(range(n), rows): yield row
def chain(*parts):
    for part in parts: yield from part
def echo():
    got = yield "ready"
    while got != "stop": got = yield got * 2
    return "done"
print(list(first(10, fibonacci())), list(chain("ab", [1, 2])))
e = echo()
print(next(e), e.send(5), e.send("x"))
try: e.send("stop")
except StopIteration as stop: print(stop.value)
print(sum(n * n for n in range(10) if n % 2))
""",
    ),
    program(
        "context managers",
        """
from contextlib import contextmanager, suppress, ExitStack
class Timer:
    def __enter__(self):
        print("in")
        return self
    def __exit__(self, kind, error, trace):
        print("out", kind.__name__ if kind else None)
        return kind is ValueError
with Timer() as timer, suppress(KeyError):
    {}["x"]
with Timer(): raise ValueError("swallowed")
@contextmanager
def tag(name):
    print(f"<{name}>")
    try: yield name.upper()
    finally: print(f"</{name}>")
with tag("b") as text: print(text)
with ExitStack() as stack:
    for name in "xy": stack.enter_context(tag(name))
""",
        imports="contextlib",
    ),
    program(
        "decorators",
        """
import functools
def logged(prefix):
    def wrap(function):
        @functools.wraps(function)
        def run(*args, **kwargs):
            result = function(*args, **kwargs)
            print(prefix, function.__name__, args, kwargs, "->", result)
            return result
        return run
    return wrap
@logged("call:")
def power(base, exponent=2):
    "Raise."
    return base ** exponent
power(3)
power(2, exponent=10)
print(power.__name__, power.__doc__)
""",
        imports="functools",
    ),
    program(
        "match",
        """
def tell(value):
    match value:
        case 0: return "zero"
        case int(n) if n < 0: return f"negative {n}"
        case [x, y]: return f"pair {x} {y}"
        case [first, *rest]: return f"{first} and {len(rest)} more"
        case {"kind": "circle", "r": r}: return f"circle {r}"
        case {"kind": kind, **others}: return f"{kind} {others}"
        case "a" | "b": return "letter"
        case str() as text: return text.upper()
        case None: return "nothing"
        case _: return "other"
for value in (0, -5, [1, 2], (1, 2, 3), {"kind": "circle", "r": 2}, {"kind": "x", "y": 1},
              "b", "hello", None, 2.5):
    print(tell(value))
class Point:
    __match_args__ = ("x", "y")
    def __init__(self, x, y): self.x, self.y = x, y
match Point(0, 7):
    case Point(0, y): print("on the axis at", y)
""",
    ),
)
