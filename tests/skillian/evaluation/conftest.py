"""Files of questions over the demo's sources, and the skills that they are checked against."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from skillian.demo.ledger import write_demo
from skillian.skills.discovery import load_registry
from skillian.skills.registry import SkillRegistry


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the demo."""
    return write_demo(tmp_path_factory.mktemp("demo")).parent


@pytest.fixture(scope="session")
def skills() -> SkillRegistry:
    """The bundled skills, whose tools are not called."""
    return load_registry(None)


@pytest.fixture
def written(demo: Path, tmp_path: Path) -> Callable[[str], Path]:
    """Write a file with these questions, and return its path."""

    def write(questions: str) -> Path:
        path = tmp_path / "questions.yaml"
        head = f"sources: {demo / 'sources.yaml'}\nquestions:\n"
        path.write_text(head + questions, encoding="utf-8")
        return path

    return write
