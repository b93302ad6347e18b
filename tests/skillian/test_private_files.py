"""Files of databases: private, and never opened once they exist."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path

import pytest

from skillian.private_files import create_private

LOCK = "import fcntl, sys; fcntl.lockf(open(sys.argv[1], 'r+b'), fcntl.LOCK_EX | fcntl.LOCK_NB)"


def test_a_file_is_created_for_this_user_only(tmp_path: Path) -> None:
    path, link = tmp_path / "s.db", tmp_path / "link.db"
    link.symlink_to(path)
    create_private(link)
    assert path.stat().st_mode & 0o777 == 0o600


def test_the_locks_of_this_process_on_an_existing_file_stay(tmp_path: Path) -> None:
    path = tmp_path / "s.db"
    with path.open("wb") as file:
        fcntl.lockf(file, fcntl.LOCK_EX)
        create_private(path)
        other = [sys.executable, "-c", LOCK, str(path)]
        assert subprocess.run(other, stderr=subprocess.DEVNULL, check=False).returncode == 1
    assert subprocess.run(other, check=False).returncode == 0


def test_a_file_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        create_private(tmp_path)
    with pytest.raises(FileNotFoundError):
        create_private(tmp_path / "missing" / "s.db")
