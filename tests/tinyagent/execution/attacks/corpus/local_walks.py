"""At LOCAL: ways from harmless objects and modules to files, `os`, `sys` and the built-ins."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, attack, gets, group

_MODULES = "abc calendar collections copy dataclasses datetime decimal enum functools io json re"
_MODULES += " random statistics string typing uuid zoneinfo"
_IMPORTS = f"import {', '.join(_MODULES.split())}\n"


def _gives(**ways: str) -> Iterator[Attack]:
    """One attack an expression that gives the function `open`."""
    for name, way in ways.items():
        code = f"{_IMPORTS}opener = {way}\nprint(WON, opener(FILE).read())"
        yield attack(name.replace("_", " "), code, imports=())


def reads(setup: str = "", **ways: str) -> Iterator[Attack]:
    """One attack an expression that gives the secret, or anything in its place."""
    for name, way in ways.items():
        yield gets(name.replace("_", " "), way, f"{_IMPORTS}{setup}", imports=())


def code_of(name: str, code: str) -> Attack:
    return attack(name, code, imports=())


ATTRIBUTES = group(
    "local attributes",
    _gives(
        subclasses=(
            "[k for c in ().__class__.__base__.__subclasses__() if c.__name__ == '_IOBase'"
            " for b in c.__subclasses__() for k in b.__subclasses__() if k.__name__ == 'FileIO'][0]"
        ),
        globals_of_a_function="(lambda: 0).__globals__['__builtins__']['open']"
        " if type((lambda: 0).__globals__['__builtins__']) is dict"
        " else (lambda: 0).__globals__['__builtins__'].open",
        builtins_of_a_function="(lambda: 0).__builtins__['open']",
        self_of_a_builtin="print.__self__.open",
        self_of_len="len.__self__.open",
        globals_of_a_method="string.Formatter.format.__globals__['__builtins__']['open']",
        globals_of_json="json.dumps.__globals__['__builtins__']['open']",
        frame_of_a_generator="(n for n in ()).gi_frame.f_builtins['open']",
        code_of_a_generator="(lambda g: g.gi_frame.f_globals['__builtins__'])((n for n in ()))"
        ".__dict__['open']",
        getattr_built="getattr(print, '__se' + 'lf__').open",
        getattr_of_a_list="[getattr][0](print, '__self__').open",
        getattr_by_map="list(map(getattr, [print], ['__self__']))[0].open",
        getattr_reduced="functools.reduce(getattr, ['__self__', 'open'], print)",
        getattr_partial="functools.partial(getattr, print)('__self__').open",
        getattr_of_text_that_lies=(
            "getattr(print, type('T', (str,), {'startswith': lambda *a: False})('__self__')).open"
        ),
        attrgetter="__import__('operator').attrgetter('__self__.open')(print)",
        methodcaller="__import__('operator').methodcaller('__getattribute__', "
        "'__self__')(print).open",
        vars_of_a_module="vars(io)['open']",
        dictionary_of_a_module="io.__dict__['open']",
        object_getattribute="object.__getattribute__(print, '__self__').open",
        partial_function="functools.partial(io.open).func",
        builtins_by_import="__import__('builtins').open",
        builtins_of_a_module="json.__builtins__['open']",
        evaluated="eval('open')",
        executed="(lambda names: exec('found = open', names) or names['found'])({})",
        compiled="eval(compile('open', '', 'eval'))",
        globals_called="globals()['__builtins__'].open if hasattr(globals()['__builtins__'], "
        "'open')"
        " else globals()['__builtins__']['open']",
        wrapped="functools.wraps(io.open)(lambda: 0).__wrapped__",
        lru_cached="functools.lru_cache(io.open).__wrapped__",
    ),
    code_of(
        "an error's frame",
        """
try: 1 / 0
except Exception as error: opener = error.__traceback__.tb_frame.f_builtins["open"]
print(WON, opener(FILE).read())
""",
    ),
    code_of(
        "a context's traceback",
        """
class Context:
    def __enter__(self): return self
    def __exit__(self, kind, error, trace):
        self.found = trace.tb_frame.f_builtins["open"]
        return True
context = Context()
with context: 1 / 0
print(WON, context.found(FILE).read())
""",
    ),
    code_of(
        "what an error is about",
        """
try: print.__self__.nothing
except AttributeError as error: print(WON, error.obj.open(FILE).read())
""",
    ),
    code_of(
        "a coroutine's frame",
        """
async def nothing(): pass
waiting = nothing()
opener = waiting.cr_frame.f_builtins["open"]
waiting.close()
print(WON, opener(FILE).read())
""",
    ),
    code_of(
        "a class pattern",
        """
match print:
    case object(__self__=found): print(WON, found.open(FILE).read())
""",
    ),
    code_of(
        "a mapping of a class",
        """
class Mine:
    __slots__ = ("x",)
found = Mine.__init_subclass__.__self__.__base__.__subclasses__()
print(WON, len(found))
""",
    ),
    code_of(
        "the target of an addition",
        """
class Mine: total = 0
def grow(): pass
grow.__dict__ |= {"x": 1}
print(WON, grow.x)
""",
    ),
    code_of(
        "the target of a loop",
        """
class Mine: pass
for Mine.__doc__ in ["forged"]: pass
if Mine.__doc__ == "forged": print(WON)
""",
    ),
    code_of(
        "the target of a context",
        """
import contextlib
class Mine: pass
with contextlib.nullcontext("forged") as Mine.__doc__: pass
if Mine.__doc__ == "forged": print(WON)
""",
    ),
    code_of(
        "a deleted attribute",
        """
def keep(a=1): return a
del keep.__defaults__
try: keep()
except TypeError: print(WON)
""",
    ),
    code_of(
        "a name given by an import",
        """
import math as __builtins__
print(WON, __builtins__)
""",
    ),
    code_of(
        "a guard's name given by a parameter",
        """
def use(_getattr_): return _getattr_
print(WON, use(1))
""",
    ),
    code_of(
        "a guard's name given by a walrus",
        """
(_getattr_ := getattr)
print(WON, _getattr_(print, "__self__").open(FILE).read())
""",
    ),
    code_of(
        "a guard's name given by an error",
        """
try: 1 / 0
except ZeroDivisionError as _getiter_: print(WON, _getiter_)
""",
    ),
    code_of(
        "a guard's name given by a pattern",
        """
match 1:
    case _write_: print(WON, _write_)
""",
    ),
    code_of(
        "a name of the class body",
        """
class Mine:
    module = __module__
print(WON, Mine.module)
""",
    ),
    code_of(
        "a mangled name",
        """
class Mine:
    def find(self): return self.__class__.__base__
print(WON, Mine().find().__subclasses__()[0])
""",
    ),
    code_of(
        "the cell of a class",
        """
class Mine:
    def find(self): return __class__
print(WON, Mine().find())
""",
    ),
    code_of(
        "super of a type",
        """
class Mine:
    def find(self): return super().__getattribute__("__class__")
print(WON, Mine().find().__base__)
""",
    ),
    code_of(
        "a metaclass",
        """
class Meta(type):
    def __call__(cls, *args): return cls.__mro__[-1].__subclasses__()
class Mine(metaclass=Meta): pass
print(WON, len(Mine()))
""",
    ),
    code_of(
        "a descriptor's owner",
        """
class Watch:
    def __set_name__(self, owner, name): self.owner = owner
    def __get__(self, thing, owner): return owner.__base__
class Mine: found = Watch()
print(WON, Mine.found.__subclasses__()[0])
""",
    ),
)

FORMATS = group(
    "local formats",
    reads(
        method="'{0.__closure__[0].cell_contents}'.format(lookup)",
        method_of_the_type="str.format('{0.__closure__[0].cell_contents}', lookup)",
        method_of_the_type_of_text="type('').format('{0.__closure__[0].cell_contents}', lookup)",
        method_taken_away="(lambda f: f(lookup))('{0.__closure__[0].cell_contents}'.format)",
        method_mapped="list(map('{0.__closure__[0].cell_contents}'.format, [lookup]))",
        method_by_getattr="getattr('{0.__closure__[0].cell_contents}', 'format')(lookup)",
        method_by_map="'{f.__closure__[0].cell_contents}'.format_map({'f': lookup})",
        formatter="string.Formatter().format('{0.__closure__[0].cell_contents}', lookup)",
        formatter_by_values=(
            "string.Formatter().vformat('{0.__closure__[0].cell_contents}', [lookup], {})"
        ),
        formatter_field="string.Formatter().get_field('0.__closure__', [lookup], {})",
        format_string="f'{lookup.__closure__[0].cell_contents}'",
        subclass_of_text="type('T', (str,), {})('{0.__closure__[0].cell_contents}').format(lookup)",
        method_of_a_subclass=(
            "type('T', (str,), {'f': str.format})('{0.__closure__[0].cell_contents}').f(lookup)"
        ),
        partial="functools.partial(str.format, '{0.__closure__[0].cell_contents}')(lookup)",
        joined="''.join('{0.__closure__[0].cell_contents}'.format(f) for f in [lookup])",
        dictionary="{'f': str.format}['f']('{0.__closure__[0].cell_contents}', lookup)",
    ),
    code_of(
        "a class of the code's own that formats",
        """
class Spec:
    def __format__(self, spec): return spec.format(lookup)
print(WON, format(Spec(), "{0.__closure__[0].cell_contents}"))
""",
    ),
    code_of(
        "an error's text",
        """
try: raise ValueError("{0.__closure__[0].cell_contents}")
except ValueError as error: print(WON, error.args[0].format(lookup))
""",
    ),
)
