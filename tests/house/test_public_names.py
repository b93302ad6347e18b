"""The names that programs may rely on, where they are, and how stable they are."""

from __future__ import annotations

import ast
import inspect
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest

import tinyagent

STABILITY = Path(__file__).parents[2] / "docs" / "stability.md"
ROOMS = ["adapters", "agents", "core", "execution", "memory", "middleware", "models", "tools"]
MODULES = ["tinyagent", *(f"tinyagent.{room}" for room in ROOMS)]
PUBLIC = [
    *MODULES,
    *(f"tinyagent.{room}" for room in ("prompts", "provenance", "durable", "mcp", "testing")),
    "skillian",
]
_ROW = re.compile(r"\| `((?:tinyagent|skillian)[.\w]*)` \| (stable|provisional) \| (.+) \|")


def _table() -> dict[str, dict[str, str]]:
    """The stage of each name, by module, as docs/stability.md says."""
    table: dict[str, dict[str, str]] = {}
    for module, stage, names in _ROW.findall(STABILITY.read_text(encoding="utf-8")):
        for name in re.findall(r"`(\w+)`", names):
            assert name not in table.setdefault(module, {}), f"{module}.{name} is listed twice"
            table[module][name] = stage
    return table


def _imports(module: ModuleType) -> dict[str, str]:
    """Where type checkers find the names of a package: its imports for them."""
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    checked = next(node for node in tree.body if isinstance(node, ast.If))
    return {
        alias.name: str(node.module)
        for node in checked.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }


def test_the_table_lists_exactly_the_public_names() -> None:
    table = _table()
    assert sorted(table) == sorted(PUBLIC)
    for module in PUBLIC:
        assert sorted(table[module]) == sorted(import_module(module).__all__), module


def test_the_reference_describes_each_public_name_once() -> None:
    table = _table()
    described = [
        name
        for page in sorted((STABILITY.parent / "reference").glob("*.md"))
        for name in re.findall(r"^::: (\S+)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    ]
    first = set(table["tinyagent"])
    others = [
        f"{module}.{name}" for module in PUBLIC[1:] for name in table[module] if name not in first
    ]
    public = {*(f"tinyagent.{name}" for name in first), *others}
    assert public - set(described) == set(), "add `::: NAME` to the page in docs/reference"
    assert set(described) - public == set()
    assert len(described) == len(public)


def test_a_name_has_the_same_stage_wherever_it_is() -> None:
    stages: dict[str, set[str]] = {}
    for names in _table().values():
        for name, stage in names.items():
            stages.setdefault(name, set()).add(stage)
    assert {name for name, several in stages.items() if len(several) > 1} == set()


def test_the_names_of_the_first_week_are_few() -> None:
    assert len(tinyagent.__all__) <= 60


@pytest.mark.parametrize("name", MODULES)
def test_type_checkers_read_the_names_that_python_loads(name: str) -> None:
    module = import_module(name)
    imports = _imports(module)
    assert sorted(imports) == module.__all__
    for public, place in imports.items():
        assert getattr(module, public) is getattr(import_module(place), public)
    assert set(module.__all__) <= set(dir(module))


@pytest.mark.parametrize("name", MODULES)
def test_a_name_that_does_not_exist_is_an_attribute_error(name: str) -> None:
    with pytest.raises(AttributeError, match=f"module '{name}' has no attribute 'Nothing'"):
        _ = import_module(name).Nothing


def test_the_version_is_that_of_the_distribution() -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", tinyagent.__version__)


PLACES = [(module, name) for module, names in _table().items() for name in names]


@pytest.mark.parametrize(
    ("module", "name"),
    [place for place in PLACES if place[0] not in {"tinyagent", "tinyagent.prompts"}],
)
def test_each_name_has_a_docstring(module: str, name: str) -> None:
    item = getattr(import_module(module), name)
    if not (inspect.isclass(item) or inspect.isroutine(item)):
        return  # a type alias or a table
    doc = inspect.getdoc(item)
    assert doc, f"{name} has no docstring"
    assert doc != inspect.getdoc(type(item))
    assert not doc.startswith(f"{name}("), f"{name} has only the docstring that dataclass makes up"


@pytest.mark.parametrize("name", PUBLIC)
def test_each_module_says_what_it_is(name: str) -> None:
    assert import_module(name).__doc__


@pytest.mark.parametrize(
    "page", sorted((STABILITY.parent / "reference").glob("*.md")), ids=lambda page: page.stem
)
def test_each_entry_of_the_reference_is_used_in_an_example_of_its_page(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    examples = "".join(re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL))
    used = {node.id for node in ast.walk(ast.parse(examples)) if isinstance(node, ast.Name)}
    entries = re.findall(r"^::: (\S+)$", text, re.MULTILINE)
    assert {name.rpartition(".")[2] for name in entries} - used == set()
