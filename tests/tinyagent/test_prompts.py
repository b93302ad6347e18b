from __future__ import annotations

from pathlib import Path

import pytest

from tinyagent.prompts import get_prompt_fallback


@pytest.mark.parametrize("suffix", [".txt", ".md", ".prompt"])
def test_a_prompt_is_read_from_its_file(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"system{suffix}"
    path.write_text("\n Be brief. Grüße. \n", encoding="utf-8")
    assert get_prompt_fallback(path, "default") == "Be brief. Grüße."
    assert get_prompt_fallback(str(path), "default") == "Be brief. Grüße."


def test_a_byte_order_mark_is_not_part_of_a_prompt(tmp_path: Path) -> None:
    path = tmp_path / "system.txt"
    path.write_text("Be brief.", encoding="utf-8-sig")
    assert get_prompt_fallback(path, "default") == "Be brief."


def test_no_file_is_the_default_without_a_word(caplog: pytest.LogCaptureFixture) -> None:
    assert get_prompt_fallback(None, "default") == "default"
    assert not caplog.records


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("missing.txt", None, "No such file"),
        ("empty.txt", b" \n", "is empty"),
        ("latin.txt", b"\xff\xfe\xff", "codec can't decode"),
        ("system.yaml", b"Be brief.", "not one of .txt, .md, .prompt"),
    ],
)
def test_an_unusable_file_is_logged_and_the_default_used(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, name: str, content: bytes | None, message: str
) -> None:
    if content is not None:
        (tmp_path / name).write_bytes(content)
    assert get_prompt_fallback(tmp_path / name, "default") == "default"
    (record,) = caplog.records
    assert record.name == "tinyagent"
    assert name in record.getMessage()
    assert message in record.getMessage()


def test_a_folder_is_not_a_prompt(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "folder.md").mkdir()
    assert get_prompt_fallback(tmp_path / "folder.md", "default") == "default"
    assert "directory" in caplog.text
