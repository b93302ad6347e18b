"""What a match reads, and the library's methods called on what is no instance, at LOCAL."""

from __future__ import annotations

import pytest

from tinyagent.execution.limits import ExecutionLimits
from tinyagent.execution.local import LocalExecutor

LIMITS = ExecutionLimits(timeout_seconds=20)

ATTACKS = r"""
import json
json.JSONEncoder.__init__(json.JSONEncoder, default=print); print("WON")
####
from collections import UserList
class A: pass
T = UserList.copy(A); print("WON", T)
####
from collections import ChainMap
class A: maps = [(), {}]
print("WON", ChainMap.new_child(A, "X"))
####
from collections import ChainMap
class A: maps = ["x", "X", (), {}]
print("WON", ChainMap.parents.fget(A))
####
from collections import ChainMap
match ChainMap.parents:
    case property(fget=f): print("WON", f)
####
from collections import UserList
class A: pass
match UserList:
    case object(copy=f): print("WON", f(A))
####
from collections import UserList
class A: pass
match [UserList]:
    case [type(copy=f)]: print("WON", f(A))
####
from collections import UserList
from collections.abc import Hashable
class A: pass
match UserList:
    case Hashable(copy=f): print("WON", f(A))
####
from collections import UserList
class A: pass
class E:
    def __eq__(self, o): print("WON", o(A)); return True
match E():
    case UserList.copy: pass
####
from collections import UserList
class A: pass
class E:
    def __eq__(self, o): print("WON", o(A)); return True
class K: X = E()
match UserList:
    case object(copy=K.X): pass
####
from dataclasses import dataclass
import json
@dataclass
class P:
    default: object
P.__init__(json.JSONEncoder, print); print("WON")
####
from dataclasses import dataclass
import json
@dataclass
class P:
    default: object
class Q(P):
    @classmethod
    def go(cls): return super().__init__
Q.go()(json.JSONEncoder, print); print("WON")
####
import typing
class A: pass
f = typing.Counter.copy; print("WON", f(A))
####
from typing import Protocol
class P(Protocol):
    copy: object
P._is_runtime_protocol = True
from collections import UserList
match UserList:
    case P(copy=f): print("WON", f)
####
from collections import UserList
C = int
def swap():
    global C
    C = object
    return False
class A: pass
match UserList:
    case 5: pass
    case _ if swap(): pass
    case C(copy=f): print("WON", f(A))
raise ValueError
####
_match_1_ = 3; print("WON")
####
class A:
    def f(self): pass
import json
class J(json.JSONEncoder): pass
print(J.encode(J(), [1]), json.JSONEncoder.encode(J(), 2))
J.encode(A(), 1); print("WON")
####
from collections import UserList
class A: pass
list(map(UserList.copy, [A])); print("WON")
####
from operator import attrgetter
from collections import UserList
class A: pass
print("WON", attrgetter("copy")(UserList)(A))
####
from collections import UserDict
print("WON", UserDict.__init__(dict));
####
import contextlib
class A: pass
contextlib.ExitStack.pop_all(A); print("WON")
####
import string
string.Template.__init__(string.Template, "x"); print("WON")
####
s = "{0.__self__}"
class E:
    def __eq__(self, o): print("WON", o(print)); return True
match E():
    case s.format: pass
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
