"""Pictures of the documentation: each is shown, is small, and can be made by `make pictures`."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.e2e.browser.pictures import IMAGES, RECORDINGS, documented, picture_of
from tests.support.terminal import record, shown

FILES = sorted(path.relative_to(IMAGES).as_posix() for path in IMAGES.rglob("*.*"))
MOST_BYTES = 100_000


def test_each_picture_is_shown_and_each_that_is_shown_exists() -> None:
    assert set(FILES) == documented()


@pytest.mark.parametrize("name", FILES)
def test_a_picture_is_made_by_the_script_and_small(name: str) -> None:
    path = IMAGES / name
    match path.relative_to(IMAGES).parts:
        case ("page", file):
            assert picture_of(file).name == file
        case ("terminal", _):
            assert path.stem in RECORDINGS
            assert "://" not in path.read_text(encoding="utf-8").replace(
                "http://www.w3.org/2000/svg", ""
            ).replace("http://127.0.0.1", "")
        case rest:
            assert rest == ("report.png",)
    assert path.stat().st_size < MOST_BYTES


def test_the_picture_of_a_view_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing-wide-light"):
        picture_of("nothing-wide-light.png")


def test_what_was_erased_is_not_shown() -> None:
    waiting = "\x1b[?25l⠋ waiting\r\x1b[2K⠙ waiting\r\n\x1b[?25h"
    assert shown(f"{waiting}\r\x1b[1A\x1b[2K\x1b[1mOslo\x1b[0m\r\n\r\n") == ["\x1b[1mOslo\x1b[0m"]


def test_a_recording_shows_what_a_command_wrote(tmp_path: Path) -> None:
    command = f"{sys.executable} -c \"print('<6 * 7 = ' + str(6 * 7) + '>')\""
    record(command, tmp_path, tmp_path / "sum.svg", {})
    drawn = (tmp_path / "sum.svg").read_text(encoding="utf-8").replace("&#160;", " ")
    assert "&lt;6 * 7 = 42&gt;" in drawn
