"""Extras: the name of each one that code or a page mentions exists, and one function says how."""

from __future__ import annotations

import ast
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tinyagent.core import missing_extra

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = frozenset(PROJECT["optional-dependencies"])
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
INSTALL = re.compile(r"pip install (?:-e )?'?[\w./-]*\[(?P<extras>[\w, -]*)\]")
# Which of its arguments is the extra, and the modules that say how to install what an extra cannot.
NAMING = {"how_to_install": 0, "missing_extra": 1, "require": 1}
ELSEWHERE = {"core/errors.py", "execution/sandbox/engines/bubblewrap.py"}


def _named(text: str) -> Iterator[str]:
    """The extras that are named by literals in the calls of a module."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            place = NAMING.get(node.func.id)
            if place is not None and len(node.args) > place:
                argument = node.args[place]
                if isinstance(argument, ast.Constant):
                    yield from str(argument.value).split(",")


def test_each_extra_that_the_code_names_exists() -> None:
    modules = {path: path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py")}
    named = {
        name
        for text in modules.values()
        if any(f"{function}(" in text for function in NAMING)
        for name in _named(text)
    }
    assert len(named) > 10
    assert named <= EXTRAS


def test_no_other_code_says_how_to_install_an_extra() -> None:
    saying = {
        path.relative_to(ROOT / "src" / "tinyagent").as_posix()
        for path in (ROOT / "src" / "tinyagent").rglob("*.py")
        if "pip install" in path.read_text(encoding="utf-8")
    }
    assert saying <= ELSEWHERE
    assert [
        path.name
        for path in (ROOT / "src" / "skillian").rglob("*.py")
        if "pip install" in path.read_text(encoding="utf-8")
    ] == ["errors.py"]


@pytest.mark.parametrize("extra", sorted(EXTRAS))
def test_the_command_of_an_extra_is_that_of_a_clone(extra: str) -> None:
    found = INSTALL.search(missing_extra("this", extra))
    assert found is not None
    assert found["extras"] == extra


def test_pages_install_extras_that_exist_from_a_clone() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in PAGES)
    named = {name for found in INSTALL.finditer(text) for name in found["extras"].split(",")}
    assert named <= EXTRAS
    assert f"pip install '{PROJECT['name']}" not in text  # it is on no package index


def test_durable_runs_without_their_extra_say_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [name for name in sys.modules if name.startswith("tinyagent.durable")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dbos", None)
    with pytest.raises(ModuleNotFoundError, match="needs the extra 'durable'"):
        import tinyagent.durable  # noqa: F401
