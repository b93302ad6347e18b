from __future__ import annotations

import ast

import pytest

from tinyagent.execution.sandbox.worker.session.imports import (
    RefusedImport,
    allowed,
    check_imports,
    refusal,
)
from tinyagent.execution.trust import ISOLATED_IMPORTS, LOCAL_IMPORTS

ALLOW = frozenset({"math", "urllib.parse", "collections"})


@pytest.mark.parametrize(
    ("module", "expected"),
    [
        ("math", True),
        ("collections.abc", True),
        ("urllib.parse", True),
        ("urllib", False),
        ("urllib.request", False),
        ("mathematics", False),
        ("os", False),
        ("", False),
    ],
)
def test_a_module_is_allowed_by_its_name_or_its_package(module: str, *, expected: bool) -> None:
    assert allowed(module, ALLOW) is expected


def test_a_star_allows_all() -> None:
    assert allowed("ctypes.util", frozenset({"*"}))


def test_the_refusal_says_what_is_near_in_one_line() -> None:
    text = refusal("maths.core", ALLOW | {"maths_core", "_hidden"})
    assert "'maths.core' is not allowed" in text
    assert "Did you mean maths_core?" in text
    assert "urllib" not in text
    assert "Did you mean" not in refusal("socket", ALLOW)


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("import math, collections.abc", []),
        ("from __future__ import annotations", []),
        ("from urllib import parse", []),
        ("from urllib import parse, request", [RefusedImport(1, "urllib")]),
        ("import math\ndef f():\n    import os.path as p", [RefusedImport(3, "os.path")]),
        ("from . import math", [RefusedImport(1, ".")]),
        ("from .math import sqrt", [RefusedImport(1, ".math")]),
        ("try: from os import path\nexcept ImportError: import sys", [RefusedImport(2, "sys")]),
        ("try: import os\nexcept (KeyError, ModuleNotFoundError): pass\nelse: x = 1", []),
        ("try: import os\nexcept: pass", []),
        ("try: import os\nexcept ValueError: pass", [RefusedImport(1, "os")]),
        ("try: import os\nfinally: pass", [RefusedImport(1, "os")]),
        ("if typing.TYPE_CHECKING: import os\nelse: import sys", [RefusedImport(2, "sys")]),
    ],
)
def test_imports_are_found_anywhere_but_where_their_refusal_is_caught(
    code: str, expected: list[RefusedImport]
) -> None:
    assert check_imports(ast.parse(code), ALLOW) == expected


def test_the_isolated_list_holds_the_local_one() -> None:
    assert LOCAL_IMPORTS < ISOLATED_IMPORTS
    assert not {"ctypes", "socket", "subprocess", "importlib"} & ISOLATED_IMPORTS
    assert {"numpy", "pandas", "pathlib", "sqlite3"} <= ISOLATED_IMPORTS
