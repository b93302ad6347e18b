from __future__ import annotations

import importlib

import pytest
from tests.support.execution import isolated, value_of

from tinyagent.execution.imports import ISOLATED_IMPORTS
from tinyagent.execution.sandbox.preload import ALWAYS, modules_for
from tinyagent.execution.sandbox.worker.session.imports import allowed


def test_what_is_always_loaded_exists_and_may_be_imported() -> None:
    for name in ALWAYS:
        importlib.import_module(name)
        assert allowed(name, ISOLATED_IMPORTS)


@pytest.mark.parametrize(
    "code",
    [
        "import numpy as np",
        "x = 1\nfrom pandas import DataFrame",
        "def f():\n    import matplotlib.pyplot as plt",
    ],
)
def test_numpy_and_pandas_are_loaded_where_the_code_begins_with_them(code: str) -> None:
    assert modules_for((), code) == (*ALWAYS, "numpy", "pandas")


@pytest.mark.parametrize("code", ["", "print('import numpy')", "import numpyro", "# import pandas"])
def test_they_are_not_loaded_for_other_code(code: str) -> None:
    assert modules_for((), code) == ALWAYS


def test_extra_imports_are_loaded_in_one_order() -> None:
    assert modules_for(["socket", "ctypes"], "") == (*ALWAYS, "ctypes", "socket")
    assert modules_for(iter(["ctypes", "socket"]), "") == (*ALWAYS, "ctypes", "socket")
    assert modules_for(["*"], "") == ALWAYS
    assert modules_for(["pandas", "*"], "") == (*ALWAYS, "numpy", "pandas")


async def test_what_is_not_loaded_before_is_loaded_when_it_is_imported() -> None:
    async with isolated() as executor:
        assert await value_of(executor, "1") == 1
        code = "import numpy, pandas, sqlite3\nint(pandas.Series(numpy.arange(4)).sum())"
        assert await value_of(executor, code) == 6
