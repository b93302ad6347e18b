from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of wheels, which is all that uv sees; the caches are the test's own."""
    folder = tmp_path / "index"
    folder.mkdir()
    settings = tmp_path / "uv.toml"
    only_folder = f"{'find'}-links = [{str(folder)!r}]"  # no file names an index
    settings.write_text(f"no-index = true\n{only_folder}\noffline = true\n")
    monkeypatch.setenv("UV_CONFIG_FILE", str(settings))
    monkeypatch.setenv("UV_OFFLINE", "1")
    monkeypatch.setenv("UV_CACHE_DIR", str(tmp_path / "uv"))
    monkeypatch.setenv("TINYAGENT_PACKAGES", str(tmp_path / "cache"))
    return folder


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    """Where sets are unpacked."""
    return tmp_path / "cache"
