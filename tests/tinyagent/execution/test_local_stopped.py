"""Code that the guards of trust level LOCAL stop while it runs."""
# ruff: noqa: E501 - attacks are kept as they are

from __future__ import annotations

import pytest

from tinyagent.execution.limits import ExecutionLimits
from tinyagent.execution.local import LocalExecutor

LIMITS = ExecutionLimits(timeout_seconds=20)

ATTACKS = r"""
b = getattr(getattr((), "__class__"), "__bas" + "es__"); print("WON", b)
####
print("WON", "{0.__class__.__init__.__globals__}".format(print))
####
print("WON", "{a.__self__}".format_map({"a": print}))
####
f = str.format; print("WON", f("{0.__self__}", print))
####
class S(str):
    def go(self, *a): return super().format(*a)
print("WON", S("{0.__self__}").go(print))
####
class S(str): pass
print("WON", S("{0.__self__}").format(print))
####
from dataclasses import dataclass
@dataclass(init=False)
class S(str):
    format: object
match S("{0.__self__}"):
    case S(f): print("WON", f(print))
####
def g(): yield
print("WON", getattr(g(), "gi_" + "frame"))
####
from operator import attrgetter
def g(): yield
print("WON", attrgetter("gi_frame.f_back")(g()))
####
from operator import methodcaller
print("WON", methodcaller("__subclasses__")(object))
####
from abc import ABC
from dataclasses import dataclass
@dataclass
class A(ABC):
    gi_frame: object
print("WON")
####
from collections import namedtuple
N = namedtuple("N", "gi_frame"); print("WON")
####
from typing import NamedTuple
class N(NamedTuple):
    f_back: int
print("WON")
####
class A:
    for __match_args__ in [("gi_frame",)]: pass
print("WON")
####
try:
    1/0
except Exception as e:
    t = getattr(e, "__traceback__"); print("WON", t)
####
class M(type): pass
print("WON")
####
class M(type(int)): pass
print("WON")
####
X = type("X", (), {"__getattribute__": lambda s, n: 1}); print("WON")
####
T = type(int); X = T("X", (), {}); print("WON", X)
####
X = type[int]("X", (), {}); print("WON", X)
####
from abc import ABCMeta
print("WON")
####
F = type(lambda: 0); print("WON", F(1, {}))
####
import statistics
print("WON", statistics.sys)
####
from statistics import sys
print("WON")
####
import random
print("WON", random._os)
####
from random import _os
print("WON")
####
import json
print("WON", json.codecs.open)
####
from collections import abc
print("WON", abc.sys)
####
import json
json.dumps = lambda *a: "patched"; print("WON")
####
import json
json.JSONEncoder.default = lambda *a: 1; print("WON")
####
import json
setattr(json.JSONEncoder, "default", 1); print("WON")
####
import json
class J(json.JSONEncoder): pass
super(J, J()).default = 3; print("WON")
####
int.x = 1; print("WON")
####
print.x = 1; print("WON")
####
import statistics
statistics.mean.x = 1; print("WON")
####
import functools, json
class P:
    def default(self, o): return "owned"
functools.update_wrapper(json.JSONEncoder, P(), assigned=("default",), updated=()); print("WON", json.dumps(json))
####
import functools, statistics
def f(): pass
functools.update_wrapper(f, statistics.mean, assigned=(), updated=("__globals__",)); print("WON", sys)
####
import functools, statistics
functools.wraps(print)(statistics.mean); print("WON")
####
from enum import Enum
import copy
E = Enum("E", {"__reduce_ex__": lambda s, p: (list, ()), "A": 1})
print("WON", copy.copy(E.A))
####
import dataclasses
dataclasses.make_dataclass("X", ["a"]); print("WON")
####
import dataclasses, json
dataclasses.dataclass(json.JSONEncoder); print("WON")
####
import typing
def f(x: "().__class__.__base__.__subclasses__()"): pass
typing.get_type_hints(f); print("WON")
####
import functools
@functools.singledispatch
def f(x): pass
def g(x: "().__class__"): pass
f.register(g); print("WON")
####
from collections import namedtuple
namedtuple("X", "a", module="os"); print("WON")
####
import re
print("WON", re.enum)
####
import pprint
pprint.pprint("x", stream=1); print("WON")
####
print("x", file=print); print("WON")
####
print("WON", vars()["__builtins__"])
####
open("/etc/passwd"); print("WON")
####
eval("1"); print("WON")
####
exec("1"); print("WON")
####
compile("1", "a", "exec"); print("WON")
####
globals()["x"]; print("WON")
####
breakpoint(); print("WON")
####
getattr(object, "__subclasses__")(); print("WON")
####
object.mro(); print("WON")
####
print("WON", type(3).mro())
####
print("WON", [].__class__.mro())
####
from typing import List
print("WON", List.mro())
####
import collections.abc as c
class A: pass
c.Hashable.register(A); print("WON")
####
import typing
class A: pass
typing.Hashable.register(A); print("WON")
####
try:
    import math
    math.nope
except AttributeError as e:
    print("WON", e.obj)
####
print("WON", atool._function)
####
print("WON", getattr(atool, "_function"))
####
print("WON", type(atool)(1, 2, 3))
####
atool.__init__(1, 2, 3); print("WON")
####
object.__setattr__(atool, "_function", print); print("WON")
####
atool.x = 1; print("WON")
####
import math
math.pi = 3; print("WON")
####
import math, copy
copy.copy(math).x = 1; print("WON")
####
del int.real; print("WON")
####
class A: pass
a = A()
a.__setattr__("__class__", A); print("WON")
####
class A: pass
a = A()
object.__setattr__(a, "__dict__", {}); print("WON")
####
class A: pass
a = A()
object.__setattr__("x", "y", {}); print("WON")
####
class A(BaseExceptionGroup):
    def split(self, *a): return 5
try: raise A("a", [ValueError()])
except* ValueError: pass
print("WON")
####
e = ExceptionGroup("a", [ValueError()])
e.split = lambda *a: 5
print("WON")
####
class B:
    def __getattr__(self, n):
        if n == "__mro_entries__": return lambda b: (ExceptionGroup,)
        raise AttributeError(n)
class X(B()):
    def split(self, *a): return 5
print("WON", X)
####
import string
string.Formatter().format("{0.__self__}", print); print("WON")
####
import io
io.open("/etc/passwd"); print("WON")
####
io = 3
from io import FileIO
print("WON")
####
import uuid
uuid.getnode(); print("WON")
####
import calendar
calendar.setfirstweekday(3); print("WON")
####
import calendar
calendar.TextCalendar().prmonth(2024, 1); print("WON")
####
import decimal
decimal.DefaultContext.prec = 3; print("WON")
####
import contextlib
with contextlib.redirect_stdout(None): print("WON")
####
import contextlib
print("WON", contextlib.sys)
####
raise SystemExit("WON?")
####
raise KeyboardInterrupt
####
raise GeneratorExit
####
exit()
####
x = 10 ** 10 ** 8; print("WON")
####
x = 1 << 10 ** 10; print("WON")
####
x = "a" * 10 ** 11; print("WON")
####
x = 7
x **= 10 ** 9; print("WON")
####
pow(7, 10 ** 9); print("WON")
####
import math
math.factorial(10 ** 8); print("WON")
####
import operator
operator.pow(7, 10 ** 9); print("WON")
####
def f(): return f()
f()
####
import unicodedata, types
print("WON", types.FunctionType)
####
from typing import Protocol, runtime_checkable
print("WON")
####
import numbers
class X: pass
numbers.Number.register(X); print("WON")
####
import zoneinfo
zoneinfo.reset_tzpath(["/"]); print("WON")
####
import zoneinfo
zoneinfo.ZoneInfo("../../../etc/passwd"); print("WON")
####
import hmac
hmac.new(b"a", b"b", "md5")._hmac; print("WON")
####
type.x = 1; print("WON")
####
type(print)._kind; print("WON")
####
from operator import attrgetter
attrgetter("_kind")(type(print)); print("WON")
####
class X(type(print)): pass
print("WON")
####
from abc import ABC
class A(ABC): pass
A.register(int); print("WON")
####
class I(int):
    def bit_length(self): return 0
I(7) ** 10 ** 9; print("WON")
"""
CASES = [part.strip("\n") for part in ATTACKS.split("####\n")]


async def double(number: int) -> int:
    return 2 * number


@pytest.mark.parametrize("code", CASES)
async def test_it_ends_with_an_error_and_nothing_gained(code: str) -> None:
    async with LocalExecutor(limits=LIMITS) as executor:
        executor.inject("atool", double)
        result = await executor.run(code)
    assert result.error
    assert "WON" not in result.output
    assert not result.timed_out
