import os
from pathlib import Path

import pytest

from skillian.cli import shell
from skillian.settings import Settings, key_digest


def test_without_anything_set_the_offline_planner_reads_sources_yaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = Settings()
    assert (settings.model, settings.sources) == (None, Path("sources.yaml"))
    assert shell.sources_file(None) == settings.sources


@pytest.mark.parametrize("place", ["SKILLIAN_SOURCES", "skillian_sources", ".env"])
def test_the_sources_file_is_that_of_the_settings(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, place: str
) -> None:
    monkeypatch.chdir(tmp_path)
    if place == ".env":
        Path(".env").write_text("SKILLIAN_SOURCES=x.yaml\n")
    else:
        monkeypatch.setenv(place, "x.yaml")
    assert shell.sources_file(None) == Settings().sources == Path("x.yaml")
    assert shell.sources_file(Path("y.yaml")) == Path("y.yaml")


def test_the_environment_goes_before_the_env_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(".env").write_text("SKILLIAN_MODEL=openai:a\nSKILLIAN_SOURCES=x.yaml\nOTHER=1\n")
    monkeypatch.setenv("SKILLIAN_MODEL", "ollama:b")
    settings = Settings()
    assert (settings.model, settings.sources) == ("ollama:b", Path("x.yaml"))


def test_skills_are_a_list_of_paths_as_the_system_writes_them(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert Settings().skills == ()
    monkeypatch.setenv("SKILLIAN_SKILLS", f"a b{os.pathsep}{os.pathsep}/c")
    assert Settings().skills == (Path("a b"), Path("/c"))


def test_lists_are_written_as_the_environment_has_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLIAN_SKILLS", os.pathsep.join(["a", "b/c"]))
    monkeypatch.setenv("SKILLIAN_API_KEYS", "one-key-0123456789, another-key-0123456789,")
    settings = Settings()
    assert settings.skills == (Path("a"), Path("b/c"))
    assert settings.api_keys == tuple(
        key_digest(key) for key in ("one-key-0123456789", "another-key-0123456789")
    )


def test_the_database_is_named_with_or_without_the_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", "sqlite:///a.db")
    assert Settings().database_url.get_secret_value() == "sqlite:///a.db"
    monkeypatch.setenv("SKILLIAN_DATABASE_URL", "sqlite:///b.db")
    assert Settings().database_url.get_secret_value() == "sqlite:///b.db"


def test_what_is_set_to_nothing_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SKILLIAN_MODEL", "")
    monkeypatch.setenv("SKILLIAN_API_KEYS", "")
    assert (Settings().model, Settings().api_keys) == (None, ())
