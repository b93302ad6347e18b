"""What of the standard library runs at trust level LOCAL."""
# ruff: noqa: E501 - programs and what they come to are kept as they are

from __future__ import annotations

import pytest

from tinyagent.execution.local import LocalExecutor

PROGRAMS = r"""
#### dataclasses
from __future__ import annotations
from dataclasses import dataclass, field, asdict, replace
@dataclass(frozen=True, order=True)
class Item:
    name: str
    price: float = 1.0
    tags: list[str] = field(default_factory=list)
    parent: Item | None = None
    def __post_init__(self): object.__setattr__(self, 'name', self.name.upper())
i = Item('a')
(asdict(i), replace(i, price=2.0).price, i < Item('b'))
>>>>
({'name': 'A', 'price': 1.0, 'tags': [], 'parent': None}, 2.0, True)
#### enums
from enum import Enum, auto, IntFlag
class C(Enum):
    RED = auto()
    BLUE = 'b'
K = Enum('K', 'X Y')
class F(IntFlag):
    A = 1
    B = 2
(C.RED.value, C('b'), [m.name for m in C], K.X.name, F.A | F.B, list(C.__members__))
>>>>
(1, <C.BLUE: 'b'>, ['RED', 'BLUE'], 'X', <F.A|B: 3>, ['RED', 'BLUE'])
#### named tuples
from collections import namedtuple
from typing import NamedTuple
A = namedtuple('A', 'x y')
class B(NamedTuple):
    n: int
    s: str = 'd'
(A(1, 2)._replace(x=3)._asdict(), B(1), B._fields, A(*[1, 2]).x)
>>>>
({'x': 3, 'y': 2}, B(n=1, s='d'), ('n', 's'), 1)
#### abstract classes
from abc import ABC, abstractmethod
class S(ABC):
    @abstractmethod
    def area(self): ...
class Q(S):
    def area(self): return 4
try: S()
except TypeError as e: print('abstract' in str(e))
Q().area()
>>>>
True
#### protocols
from typing import Protocol, TypeVar, Generic
T = TypeVar('T')
class P(Protocol):
    def f(self) -> int: ...
class Box(Generic[T]):
    def __init__(self, v: T): self.v = v
Box[int](3).v
>>>>
3
#### math
import math
from statistics import mean, median, stdev
(math.factorial(20), math.gcd(12, 18), mean([1, 2, 6]), median([3, 1]), round(stdev([1, 2, 3]), 3), math.pi)
>>>>
(2432902008176640000, 6, 3, 2.0, 1.0, 3.141592653589793)
#### decimals
from decimal import Decimal, getcontext, ROUND_HALF_UP
getcontext().prec = 6
from fractions import Fraction
(Decimal(1) / Decimal(7), Fraction(1, 3) + 1, Decimal('2.675').quantize(Decimal('0.01'), ROUND_HALF_UP))
>>>>
(Decimal('0.142857'), Fraction(4, 3), Decimal('2.68'))
#### dates
from datetime import datetime, timedelta, date
import calendar
d = datetime(2024, 2, 28) + timedelta(days=2)
(d.strftime('%Y-%m-%d'), date(2024, 3, 1).isoformat(), calendar.monthrange(2024, 2)[1], (date(2024, 3, 1) - date(2024, 1, 1)).days)
>>>>
('2024-03-01', '2024-03-01', 29, 60)
#### json
import json
d = json.loads('{"a": [1, 2.5, null]}')
json.dumps(d, indent=None, sort_keys=True), json.dumps({1, 2}, default=list)
>>>>
('{"a": [1, 2.5, null]}', '[1, 2]')
#### regular expressions
import re
m = re.search(r'(?P<y>\d{4})-(\d\d)', 'on 2024-05')
(m.group('y'), m.groups(), re.sub(r'o', lambda m: m[0].upper(), 'foo'), re.findall('a+', 'aab a', re.I))
>>>>
('2024', ('2024', '05'), 'fOO', ['aa', 'a'])
#### collections
from collections import Counter, defaultdict, deque, OrderedDict
d = defaultdict(list)
d['a'].append(1)
d['b'] += [2]
q = deque([1, 2], maxlen=2); q.append(3)
(Counter('aab').most_common(1), dict(d), list(q))
>>>>
([('a', 2)], {'a': [1], 'b': [2]}, [2, 3])
#### itertools
from itertools import accumulate, chain, combinations, count, groupby, islice, product
(list(islice(count(5, 2), 3)), list(accumulate([1, 2, 3])), len(list(combinations(range(5), 2))), [(k, len(list(g))) for k, g in groupby('aab')])
>>>>
([5, 7, 9], [1, 3, 6], 10, [('a', 2), ('b', 1)])
#### functools
from functools import lru_cache, reduce, partial, cached_property
@lru_cache(maxsize=None)
def fib(n): return n if n < 2 else fib(n - 1) + fib(n - 2)
class A:
    @cached_property
    def x(self): return 5
(fib(50), reduce(lambda a, b: a * b, [1, 2, 3]), partial(int, base=2)('101'), A().x)
>>>>
(12586269025, 6, 5, 5)
#### sorting
from operator import itemgetter, attrgetter
rows = [{'n': 2, 's': 'b'}, {'n': 1, 's': 'a'}]
rows.sort(key=itemgetter('n'))
(rows[0]['s'], sorted('bca', reverse=True), max(rows, key=lambda r: r['n'])['s'], min(3, 1), sorted([1j, 2j], key=attrgetter('imag')))
>>>>
('a', ['c', 'b', 'a'], 'b', 1, [1j, 2j])
#### csv in memory
import csv, io
rows = list(csv.DictReader(io.StringIO('a,b\n1,2\n')))
out = io.StringIO()
w = csv.writer(out); w.writerow([1, 'x,y'])
print('z', file=out)
(rows, out.getvalue())
>>>>
([{'a': '1', 'b': '2'}], '1,"x,y"\r\nz\n')
#### hashes
import hashlib, base64, uuid
(hashlib.sha256(b'a').hexdigest()[:8], base64.b64encode(b'hi').decode(), uuid.UUID(int=5).hex[-1], len(str(uuid.uuid4())))
>>>>
('ca978112', 'aGk=', '5', 36)
#### text
import textwrap, string, unicodedata, html, difflib
(textwrap.shorten('a b c d e', 7, placeholder='.'), string.ascii_lowercase[:3], string.Template('$a!').substitute(a=1), unicodedata.name('ä'), html.escape('<'), difflib.get_close_matches('appl', ['apple']))
>>>>
('a b c.', 'abc', '1!', 'LATIN SMALL LETTER A WITH DIAERESIS', '&lt;', ['apple'])
#### random
import random
random.seed(1)
a = random.random()
random.seed(1)
r = random.Random(3)
(a == random.random(), r.randint(1, 1), len(random.sample(range(9), 3)), random.choice([7]))
>>>>
(True, 1, 3, 7)
#### copies
import copy
class N:
    def __init__(self): self.c = [1]
a = N(); b = copy.deepcopy(a); b.c.append(2)
(a.c, b.c, copy.copy([1]))
>>>>
([1], [1, 2], [1])
#### heaps
import heapq, bisect
h = [3, 1, 2]
heapq.heapify(h)
(heapq.heappop(h), heapq.nsmallest(1, h), bisect.bisect([1, 3], 2))
>>>>
(1, [2], 1)
#### pretty printing
from pprint import pprint, pformat
pprint({'b': 1, 'a': 2})
pformat([1])
>>>>
{'a': 2, 'b': 1}
#### url parsing
from urllib.parse import urlparse, urlencode
import urllib.parse
(urlparse('http://a/b?c=1').netloc, urlencode({'q': 'x y'}), urllib.parse.quote('ä'))
>>>>
('a', 'q=x+y', '%C3%A4')
#### time
import time
t = time.perf_counter()
time.sleep(0.001)
time.perf_counter() - t > 0
>>>>
True
#### type aliases
from typing import Optional, Union, Dict, List, Callable, Literal, TypedDict
class M(TypedDict):
    a: int
V = Union[int, str]
def f(x: Optional[List[V]], g: Callable[[int], int]) -> Dict[str, Literal['a']]: ...
M(a=1)
>>>>
{'a': 1}
"""
CASES = [part.strip("\n").split("\n", 1) for part in PROGRAMS.split("#### ")[1:]]


@pytest.mark.parametrize(("title", "text"), CASES, ids=[title for title, _ in CASES])
async def test_a_program_runs(title: str, text: str) -> None:
    code, _, wanted = text.partition("\n>>>>\n")
    async with LocalExecutor() as executor:
        result = await executor.run(code)
    assert result.error is None
    assert (result.output.rstrip("\n") or result.value_text) == wanted
