"""Code that is refused at trust level LOCAL before anything of it runs."""

from __future__ import annotations

import pytest

from tinyagent.execution.imports import LOCAL_IMPORTS
from tinyagent.execution.local.compile import CodeRefused, compile_local

ATTACKS = r"""
().__class__.__bases__[0].__subclasses__(); print("WON")
####
getattr((), "__cla" + "ss__").__base__; print("WON")
####
match "{0.__self__}":
    case str(format=f): print("WON", f(print))
####
match print:
    case object(__self__=x): print("WON", x)
####
def g(): yield
x = g()
match x:
    case object(gi_frame=f): print("WON", f)
####
def g(): yield
print("WON", g().gi_frame)
####
from abc import ABC
class A(ABC):
    __match_args__ = ("gi_frame",)
def g(): yield
A.register(type(g()))
match g():
    case A(f): print("WON", f)
####
try:
    1/0
except Exception as e:
    print("WON", e.__traceback__)
####
class C:
    def __enter__(self): return self
    def __exit__(self, k, e, t):
        print("WON", t.tb_frame)
        return True
with C(): 1/0
####
class C:
    def __enter__(self): return self
    def __exit__(self, k, e, t):
        match t:
            case object(tb_frame=f): print("WON", f)
        return True
with C(): 1/0
####
class A(metaclass=print): pass
print("WON")
####
kw = {"metaclass": print}
class A(**kw): pass
print("WON")
####
F = type(lambda: 0); print("WON", F((lambda: 1).__code__, {}))
####
from json import *
print("WON")
####
import functools
class P: __globals__ = 1
print("WON")
####
import functools
def f(): pass
g = functools.wraps(print)(f)
print("WON", g.__wrapped__)
####
import copy, json
class R:
    def __reduce__(self): return (json.JSONEncoder, (), {"default": 1})
copy.copy(R()); print("WON")
####
__builtins__; print("WON")
####
_getattr_ = lambda o, n: 1; print("WON")
####
def f(_getattr_): pass
print("WON")
####
global _check_
_check_ = 1; print("WON")
####
import math as _write_
print("WON")
####
try: 1/0
except Exception as _check_: pass
print("WON")
####
match 3:
    case _check_: print("WON")
####
match [3]:
    case [*_check_]: print("WON")
####
match {1: 2}:
    case {1: _, **_check_}: print("WON")
####
[_check_ for _check_ in [1]]; print("WON")
####
(lambda _check_: 1)(2); print("WON")
####
class _check_: pass
print("WON")
####
def _last_(): pass
print("WON")
####
(_check_ := 3); print("WON")
####
with open("x") as _check_: print("WON")
####
__import__("os"); print("WON")
####
def f(): pass
print("WON", f.__globals__)
####
def f(): pass
print("WON", f.__code__)
####
class A:
    def m(self): pass
print("WON", A().m.__func__)
####
print("WON", print.__self__)
####
object.__getattribute__(atool, "_function"); print("WON")
####
class A: pass
A().__class__ = int; print("WON")
####
class B:
    def __mro_entries__(self, b): return (ExceptionGroup,)
print("WON")
####
class A:
    def __del__(self): pass
print("WON")
####
class A:
    def __getattribute__(self, n): return 1
print("WON")
####
class A:
    @property
    def __class__(self): return int
print("WON")
####
class A:
    __class__ = int
print("WON")
####
async def f(): pass
print("WON")
####
import functools
print("WON", functools.partial(print).func.__self__)
####
from contextlib import contextmanager
@contextmanager
def f(): yield
print("WON", f().gen.gi_frame)
####
from contextlib import contextmanager
@contextmanager
def f(): yield
print("WON", f.__wrapped__)
####
print("WON", A) if 0 else None
x = [].__reduce_ex__(2)
print("WON", x)
####
import os.path
print("WON")
####
import urllib.request
print("WON")
####
from urllib import request
print("WON")
####
from . import x
print("WON")
####
import importlib
print("WON")
####
import asyncio
print("WON")
####
class A:
    def __init_subclass__(cls, **kw): pass
class B(A, metaclass=int): pass
print("WON")
####
x = super(int, 5); print("WON", x.__thisclass__)
####
class A:
    def f(self): return super().__self__
print("WON", A().f())
####
class A:
    def f(self): return super().__getattribute__("__class__")
print("WON", A().f())
####
def dec(c): return 3
@dec
class A: pass
@print.__self__
class B: pass
print("WON")
####
lambda: (yield)
x = (lambda: (yield))()
print("WON", x.gi_code)
####
from typing import Generator
print("WON", Generator.gi_frame)
####
print("WON", isinstance.__module__)
####
import secrets
print("WON", secrets.SystemRandom()._randbelow.__globals__)
####
try:
    raise ImportError("x")
except ImportError as e:
    e.__cause__ = None
    print("WON")
"""
CASES = [part.strip("\n") for part in ATTACKS.split("####\n")]


@pytest.mark.parametrize("code", CASES)
def test_it_is_refused_with_its_line(code: str) -> None:
    with pytest.raises((CodeRefused, SyntaxError), match=r"line [1-9]|outside"):
        compile_local(code, "<step 1>", LOCAL_IMPORTS)
