"""Fifty ordinary programs, each with an expression about its state and what cannot be kept."""

from __future__ import annotations

from typing import NamedTuple


class Program(NamedTuple):
    """A program.

    Args:
        code: one step.
        check: an expression whose value must be the same in the loaded session.
        refused: the names that cannot be kept.
    """

    code: str
    check: str
    refused: tuple[str, ...] = ()


PROGRAMS: dict[str, Program] = {
    "numbers": Program("a, b, c = 1, 2.5, 10**40", "[a, b, str(c)]"),
    "special floats": Program("a, b = float('inf'), float('nan')", "[a, b != b]"),
    "texts": Program("a = 'ä€\\n' * 200\nb = b'\\x00\\xff'", "[a, b]"),
    "lists": Program("rows = [[1, 'x'], [2, None]]", "rows"),
    "shared lists": Program("a = b = []\nc = {'a': a}", "(a.append(1), b, c['a'] is a)[1:]"),
    "a list in itself": Program("a = [1]\na.append(a)", "a[1] is a"),
    "dicts": Program("d = {'a': {1: 2.0}, (1, 2): True}", "[str(d), list(d)]"),
    "sets": Program("s = {1, 'a', (2, 3)}\nf = frozenset([4])", "[sorted(map(str, s)), sorted(f)]"),
    "money": Program("from decimal import Decimal\nm = Decimal('1.10')", "str(m)"),
    "dates": Program(
        "from datetime import date, datetime, timedelta, timezone\n"
        "a, b = date(2024, 2, 29), datetime(2024, 1, 1, tzinfo=timezone.utc)\n"
        "c = timedelta(hours=1)",
        "[str(a), b.isoformat(), str(c)]",
    ),
    "zones": Program(
        "from zoneinfo import ZoneInfo\nfrom datetime import datetime\n"
        "t = datetime(2024, 7, 1, tzinfo=ZoneInfo('Europe/Berlin'))",
        "[t.isoformat(), t.tzinfo.key]",
    ),
    "fractions": Program("from fractions import Fraction\nf = Fraction(1, 3)", "str(f + 1)"),
    "complex": Program("z = 1 + 2j", "[z.real, z.imag]"),
    "ranges": Program("r = range(1, 10, 3)", "list(r)"),
    "paths": Program("from pathlib import Path\np = Path('a') / 'b.txt'", "str(p)"),
    "uuids": Program("import uuid\nu = uuid.UUID(int=5)", "str(u)"),
    "patterns": Program("import re\np = re.compile('(a+)b', re.I)", "p.match('AAB').group(1)"),
    "counting": Program(
        "from collections import Counter\nc = Counter('hello')\ntop = c.most_common(1)",
        "[top, c['l']]",
    ),
    "grouping": Program(
        "from collections import defaultdict\ng = defaultdict(list)\ng['a'].append(1)",
        "(g['b'].append(2), dict(g))[1]",
    ),
    "queues": Program(
        "from collections import deque\nd = deque([1, 2, 3], maxlen=3)", "(d.append(4), list(d))[1]"
    ),
    "ordered": Program(
        "from collections import OrderedDict\no = OrderedDict(b=1, a=2)\no.move_to_end('b')",
        "list(o)",
    ),
    "functions": Program(
        "import math\ndef area(r, n=2):\n    return round(math.pi * r, n)\nx = area(2)",
        "[x, area(3, n=1)]",
    ),
    "functions that call each other": Program(
        "def even(n):\n    return n == 0 or odd(n - 1)\ndef odd(n):\n    return n and even(n - 1)",
        "bool(even(10))",
    ),
    "lambdas": Program("double = lambda x: 2 * x\nvalues = [double(1)]", "[values, double(4)]"),
    "functions in a dict": Program(
        "def add(a, b):\n    return a + b\nops = {'+': add}", "[ops['+'](1, 2), ops['+'] is add]"
    ),
    "generator functions": Program(
        "def count(n):\n    i = 0\n    while i < n:\n        yield i\n        i += 1",
        "list(count(3))",
    ),
    "async functions": Program("async def f():\n    return 1", "f.__code__.co_flags & 128 > 0"),
    "dataclasses": Program(
        "from dataclasses import dataclass, field\n@dataclass\nclass Item:\n    name: str\n"
        "    tags: list = field(default_factory=list)\nitems = [Item('a', ['x']), Item('b')]",
        "[repr(items), items[1].tags]",
    ),
    "frozen dataclasses": Program(
        "from dataclasses import dataclass\n@dataclass(frozen=True)\nclass P:\n    x: int = 0\n"
        "seen = {P(1): 'a'}",
        "[seen[P(1)], repr(P())]",
    ),
    "classes": Program(
        "class Account:\n    rate = 0.5\n    def __init__(self, n):\n        self.n = n\n"
        "    @property\n    def due(self):\n        return self.n * self.rate\nacc = Account(10)",
        "(setattr(acc, 'n', 20), acc.due)[1]",
    ),
    "inheritance": Program(
        "class A:\n    def f(self):\n        return 1\nclass B(A):\n    def f(self):\n"
        "        return super().f() + 1\nb = B()",
        "[b.f(), isinstance(b, A)]",
    ),
    "objects that know each other": Program(
        "class N:\n    def __init__(self):\n        self.next = None\na, b = N(), N()\n"
        "a.next, b.next = b, a",
        "a.next.next is a",
    ),
    "enums": Program(
        "from enum import Enum\nclass Color(Enum):\n    RED = 1\n    BLUE = 2\nc = [Color.RED]",
        "[c[0] is Color.RED, Color.BLUE.value]",
    ),
    "named tuples": Program(
        "from typing import NamedTuple\nclass Point(NamedTuple):\n    x: int\n    y: int = 0\n"
        "p = Point(1)",
        "[p.x, p.y, p == (1, 0)]",
    ),
    "modules": Program(
        "import json, os.path as path\nfrom math import sqrt",
        "[json.dumps([1]), path.basename('/a/b'), sqrt(4)]",
    ),
    "arrays": Program(
        "import numpy as np\na = np.arange(6).reshape(2, 3) / 2", "[a.tolist(), str(a.dtype)]"
    ),
    "scalars of numpy": Program(
        "import numpy as np\nm = np.float32(1.5)", "[float(m), type(m).__name__]"
    ),
    "dates of numpy": Program(
        "import numpy as np\nd = np.array(['2024-01-01'], 'M8[D]')", "str(d[0])"
    ),
    "data frames": Program(
        "import pandas as pd\ndf = pd.DataFrame({'a': [1, 2], 'b': ['x', None], 'c': [1.5, None]})",
        "[df.to_csv(), [str(t) for t in df.dtypes]]",
    ),
    "an index of dates": Program(
        "import pandas as pd\ndays = pd.to_datetime(['2024-01-01', '2024-01-02'])\n"
        "df = pd.DataFrame({'v': [1, 2]}, index=days)",
        "[df.to_csv(), str(df.index.dtype)]",
    ),
    "days with a frequency": Program(
        "import pandas as pd\ndays = pd.date_range('2024-01-01', periods=3)\n"
        "s = pd.Series([1, 2, 3], index=days)",
        "[s.index.freqstr, s.to_csv()]",
    ),
    "groups of a data frame": Program(
        "import pandas as pd\ndf = pd.DataFrame({'k': ['a', 'b', 'a'], 'v': [1, 2, 3]})\n"
        "by = df.groupby('k')['v'].sum()",
        "[by.to_dict(), by.index.name]",
    ),
    "nullable integers": Program(
        "import pandas as pd\ns = pd.Series([1, None], dtype='Int64')",
        "[str(s.dtype), int(s.sum())]",
    ),
    "an object column of decimals": Program(
        "import pandas as pd\nfrom decimal import Decimal\n"
        "df = pd.DataFrame({'m': [Decimal('1.1'), None]})",
        "str(df['m'][0])",
    ),
    "random numbers": Program("import random\nr = random.Random(3)\nr.random()", "r.random()"),
    "bytearrays": Program("b = bytearray(b'ab')\nc = b", "(b.append(99), bytes(c))[1]"),
    "closures": Program(
        "def make(n):\n    return lambda x: x + n\nf = make(1)\na = 1", "make(2)(a)", ("f",)
    ),
    "a generator": Program("g = (i for i in range(3))\nfirst = next(g)", "first", ("g",)),
    "a cache": Program(
        "from functools import lru_cache\n@lru_cache\ndef f(x):\n    return x\ny = f(2)",
        "y",
        ("f",),
    ),
    "text in memory": Program(
        "import io\ns = io.StringIO()\ns.write('x')\nt = s.getvalue()", "t", ("s",)
    ),
    "computed defaults": Program("n = [1]\ndef f(x=n):\n    return x", "n", ("f",)),
    "an iterator": Program("it = iter([1, 2])\na = next(it)", "a", ("it",)),
}
