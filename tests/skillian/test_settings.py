from pathlib import Path

import pytest

from skillian.settings import Settings


def test_without_anything_set_the_offline_planner_reads_sources_yaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert (settings.model, settings.sources) == (None, Path("sources.yaml"))


def test_the_environment_goes_before_the_env_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("SKILLIAN_MODEL=openai:a\nSKILLIAN_SOURCES=x.yaml\nOTHER=1\n")
    monkeypatch.setenv("SKILLIAN_MODEL", "ollama:b")
    settings = Settings()
    assert (settings.model, settings.sources) == ("ollama:b", Path("x.yaml"))
