"""What of the language runs at trust level LOCAL."""
# ruff: noqa: E501 - programs and what they come to are kept as they are

from __future__ import annotations

import pytest

from tinyagent.execution.local import LocalExecutor

PROGRAMS = r"""
#### arithmetic
(17 * 3 - 4) / 7 + 2 ** 10
>>>>
1030.7142857142858
#### f-strings
x = 3.14159
print(f'{x:.2f} {x=} {"a":>4} {x!r:>{10}}')
>>>>
3.14 x=3.14159    a    3.14159
#### string methods
' '.join(w.title() for w in 'a bc d'.split())
>>>>
'A Bc D'
#### str.format
'{0} {name:>5} {1[k]} {p.real}'.format(1, {'k': 2}, name='x', p=3)
>>>>
'1     x 2 3'
#### percent
'%s %d %.1f %(a)s' % {'a': 1} if 0 else '%s-%03d' % ('a', 7)
>>>>
'a-007'
#### underscore variables
_total = 0
for _ in range(4):
    _total += 2
_total
>>>>
8
#### unpacking
a, (b, *c), d = 1, (2, 3, 4), 5
[a, b, c, d]
>>>>
[1, 2, [3, 4], 5]
#### star args
def f(a, *args, k=1, **kw): return a, args, k, kw
f(*[1, 2], **{'k': 3, 'z': 4})
>>>>
(1, (2,), 3, {'z': 4})
#### walrus
if (n := len('abcd')) > 3: print(n)
>>>>
4
#### comprehensions
[{k: v for k, v in d.items()} for d in [{'a': 1}]], {x % 3 for x in range(9)}
>>>>
([{'a': 1}], {0, 1, 2})
#### generators
def g():
    got = yield 1
    yield from [got, 3]
i = g()
[next(i), i.send(2), next(i)]
>>>>
[1, 2, 3]
#### closures
def counter():
    n = 0
    def up():
        nonlocal n
        n += 1
        return n
    return up
c = counter(); c(); c()
>>>>
2
#### globals
n = 1
def f():
    global n
    n += 1
f(); n
>>>>
2
#### decorators
import functools
def log(f):
    @functools.wraps(f)
    def inner(*a, **k):
        inner.calls += 1
        return f(*a, **k)
    inner.calls = 0
    return inner
@log
def add(a: int, b: int = 2) -> int:
    'adds'
    return a + b
add(1); add(2)
(add.__name__, add.__doc__, add.calls)
>>>>
('add', 'adds', 2)
#### classes
class Account:
    rate = 0.1
    __slots__ = ('owner', '_sum', 'pin')
    def __init__(self, owner):
        self.owner, self._sum, self.pin = owner, 0, 1
    def pay(self, x):
        self._sum += x
        return self
    @property
    def total(self): return self._sum
    @classmethod
    def of(cls, n): return cls(n)
    @staticmethod
    def help(): return 'h'
    def __repr__(self): return f'Account({self.owner!r}, {self._sum})'
    def __eq__(self, o): return self._sum == o._sum
a = Account.of('x').pay(3); (a, a.total, Account.help(), a == Account('y'))
>>>>
(Account('x', 3), 3, 'h', False)
#### private attributes
class A:
    def __init__(self): self.__x = 1
    def __bump(self): self.__x += 1
    def get(self):
        self.__bump()
        return self.__x
A().get()
>>>>
2
#### inheritance
class A:
    def hi(self): return 'a'
class B(A):
    def __init__(self): super().__init__()
    def hi(self): return super().hi() + 'b'
(B().hi(), isinstance(B(), A), type(B()).__name__, B().__class__.__name__)
>>>>
('ab', True, 'B', 'B')
#### operators
class V:
    def __init__(self, x): self.x = x
    def __add__(self, o): return V(self.x + o.x)
    def __getitem__(self, i): return self.x * i
    def __len__(self): return 3
    def __iter__(self): return iter([1])
    def __call__(self): return 'c'
v = V(1) + V(2)
(v.x, v[2], len(v), list(v), v())
>>>>
(3, 6, 3, [1], 'c')
#### context managers
class M:
    def __enter__(self): return self
    def __exit__(self, *a): print('bye'); return True
with M() as m: 1 / 0
from contextlib import contextmanager
@contextmanager
def cm():
    yield 5
with cm() as v, M(): print(v)
>>>>
bye
5
bye
#### exceptions
class E(ValueError):
    def __init__(self, m, code):
        super().__init__(m)
        self.code = code
try:
    try:
        raise E('x', 3)
    except KeyError: pass
    else: pass
    finally: print('f')
except E as e: print(e, e.code, type(e).__name__)
>>>>
f
x 3 E
#### except star
try:
    raise ExceptionGroup('g', [ValueError('v'), TypeError('t')])
except* ValueError as e: print(e.exceptions)
except* TypeError: print('t')
>>>>
(ValueError('v'),)
t
#### match
from dataclasses import dataclass
@dataclass
class P:
    x: int
    y: int
def f(v):
    match v:
        case 0 | 1: return 'small'
        case int(n) if n > 9: return 'big'
        case [a, *rest]: return a, rest
        case {'k': k, **more}: return k, more
        case P(x, y=2): return x
        case str() as s: return s
        case _: return None
[f(1), f(10), f([1, 2]), f({'k': 3, 'z': 1}), f(P(7, 2)), f('s'), f(None)]
>>>>
['small', 'big', (1, [2]), (3, {'z': 1}), 7, 's', None]
#### annotations
x: int = 3
y: list[dict[str, int]] = []
def f(a: 'int | None' = None, *, b: float = 1) -> tuple[int, ...]: return (a or x,)
f()
>>>>
(3,)
#### item writes
d = {'a': [1, 2, 3]}
d['a'][1:] = [9]
d['b'] = 1
d['b'] += 4
del d['a'][0]
d
>>>>
{'a': [9], 'b': 5}
#### main guard
def main():
    print('ran')
if __name__ == '__main__':
    main()
>>>>
ran
#### attributes by name
class A: pass
a = A()
setattr(a, 'x', 1)
(getattr(a, 'x'), getattr(a, 'y', 2), hasattr(a, 'z'), vars(a), dir(a), callable(a), isinstance(A, type), type(3) is int)
>>>>
(1, 2, False, {'x': 1}, ['x'], False, True, True)
#### prime sieve
def sieve(n):
    is_p = [True] * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if is_p[i]:
            for j in range(i * i, n + 1, i): is_p[j] = False
    return [i for i in range(2, n + 1) if is_p[i]]
sum(sieve(1000))
>>>>
76127
#### while with else
n = 3
while n:
    n -= 1
    if n == 5: break
else: print('done')
for i in []: pass
else: print('none')
>>>>
done
none
#### lambda and map
list(map(lambda p: p[0] * p[1], zip([1, 2], [3, 4]))), any(x > 1 for x in [1, 2]), dict(enumerate('ab'))
>>>>
([3, 8], True, {0: 'a', 1: 'b'})
#### immutable class
class P:
    def __init__(self, x): super().__setattr__('x', x)
    def __setattr__(self, n, v): raise AttributeError(n)
p = P(4)
try: p.x = 5
except AttributeError as e: print('no', e)
p.x
>>>>
no x
#### singleton
class S:
    _one = None
    def __new__(cls):
        if cls._one is None: cls._one = super().__new__(cls)
        return cls._one
S() is S()
>>>>
True
#### descriptors
class D:
    def __set_name__(self, owner, name): self.name = '_' + name
    def __get__(self, o, t=None): return getattr(o, self.name, 0)
    def __set__(self, o, v): setattr(o, self.name, v + 1)
class A:
    x = D()
a = A(); a.x = 4
a.x
>>>>
5
"""
CASES = [part.strip("\n").split("\n", 1) for part in PROGRAMS.split("#### ")[1:]]


@pytest.mark.parametrize(("title", "text"), CASES, ids=[title for title, _ in CASES])
async def test_a_program_runs(title: str, text: str) -> None:
    code, _, wanted = text.partition("\n>>>>\n")
    async with LocalExecutor() as executor:
        result = await executor.run(code)
    assert result.error is None
    assert (result.output.rstrip("\n") or result.value_text) == wanted
