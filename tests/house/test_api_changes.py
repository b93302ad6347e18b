"""The gate of the public API: a change since the last tag must be in the changelog."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GATE = ROOT / "tests" / "support" / "api_changes.py"


def _git(folder: Path, *arguments: str) -> None:
    author = ("-c", "user.name=A", "-c", "user.email=a@example.org")
    subprocess.run(["git", *author, *arguments], cwd=folder, check=True, capture_output=True)


def _gate(clone: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, GATE, clone], capture_output=True, text=True, check=False
    )


def _edit(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A clone of this repository, with what is not committed yet, whose tag is a release."""
    folder = tmp_path / "clone"
    _git(ROOT, "clone", "--quiet", "--no-local", "--depth=1", f"file://{ROOT}", str(folder))
    for name in ("src", "docs", "CHANGELOG.md"):
        subprocess.run(["cp", "-a", ROOT / name, folder], check=True)
    _git(folder, "add", "--all")
    _git(folder, "commit", "--quiet", "--allow-empty", "--message", "Release")
    return folder


def test_without_a_release_there_is_nothing_to_compare(clone: Path) -> None:
    done = _gate(clone)
    assert done.returncode == 0, done.stderr
    assert "No release has a tag yet" in done.stdout


def test_a_changed_public_name_must_be_in_the_changelog(clone: Path) -> None:
    (clone / "CHANGELOG.md").write_text("# Changelog\n\n## 9.1.0\n")
    _git(clone, "commit", "--quiet", "--all", "--message", "Notes")
    _git(clone, "tag", "v9.1.0")
    assert "0 changes" in _gate(clone).stdout

    tools = clone / "src" / "tinyagent" / "tools" / "tool.py"
    _edit(tools, "async def run(", "async def run_now(")
    done = _gate(clone)
    assert done.returncode == 1
    assert "tinyagent.Tool: " in done.stderr

    _edit(clone / "CHANGELOG.md", "## 9.1.0", "## 9.2.0\n\n- `Tool.run` is `run_now`.\n\n## 9.1.0")
    done = _gate(clone)
    assert done.returncode == 0, done.stderr
