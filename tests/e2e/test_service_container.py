"""Dockerfile and compose.yaml, as far as they can be checked without an engine."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import yaml

from skillian.settings import Settings

ROOT = Path(__file__).parents[2]


def instructions() -> list[tuple[str, str]]:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines]


def compose() -> dict[str, Any]:
    content: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    return content


def final_stage() -> list[tuple[str, str]]:
    text = instructions()
    last = max(place for place, (name, _) in enumerate(text) if name == "FROM")
    return text[last:]


def test_it_runs_as_nobody_special_on_a_slim_pinned_image() -> None:
    stage = final_stage()
    assert stage[0] == ("FROM", "python:3.11-slim")
    assert [value for name, value in stage if name == "USER"] == ["10001:10001"]
    after = [name for name, _ in stage[[name for name, _ in stage].index("USER") :]]
    assert "RUN" not in after
    assert "ADD" not in dict(instructions())


def test_what_it_starts_gets_the_signals_and_is_watched() -> None:
    stage = dict(final_stage())
    assert json.loads(stage["ENTRYPOINT"]) == ["skillian"]
    assert json.loads(stage["CMD"]) == ["serve"]
    code = json.loads(stage["HEALTHCHECK"].partition("CMD ")[2])[2]
    compile(code, "healthcheck", "exec")
    assert f"127.0.0.1:{stage['EXPOSE']}/health" in code


def test_its_extras_and_settings_are_there() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [extras] = re.findall(r"'\.\[(.*?)\]'", (ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert set(extras.split(",")) <= set(project["optional-dependencies"])
    named = set(re.findall(r"SKILLIAN_(\w+)(?==|:)", (ROOT / "Dockerfile").read_text()))
    assert {name.lower() for name in named} <= set(Settings.model_fields)


def test_all_that_is_copied_is_let_in() -> None:
    let_in = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[0] == "!"
    }
    for name, value in instructions():
        if name == "COPY" and not value.startswith("--from"):
            for source in value.split()[:-1]:
                assert source in let_in
                assert (ROOT / source).exists()


def test_the_compose_file_holds_no_secret() -> None:
    for service in compose()["services"].values():
        for name, value in service["environment"].items():
            if "PASSWORD" in name or "KEY" in name:
                assert re.fullmatch(r"\$\{\w+(:\?.*|:-)\}", value)
    url = compose()["services"]["skillian"]["environment"]["DATABASE_URL"]
    assert "${POSTGRES_PASSWORD:?" in url


def test_the_service_is_locked_down_and_starts_after_its_database() -> None:
    service = compose()["services"]["skillian"]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["depends_on"]["postgres"]["condition"] == "service_healthy"
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert "healthcheck" in compose()["services"]["postgres"]
