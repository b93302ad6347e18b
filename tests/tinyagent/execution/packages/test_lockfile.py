from __future__ import annotations

from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.packages.lockfile import (
    MAX_LOCK_BYTES,
    load_lock,
    read_lock,
    read_requirements,
)

ONE, OTHER = "1" * 64, "a" * 64
LOCK = f"""
# made by a program
Polars.Runtime==2.1 \\
    --hash=sha256:{OTHER} \\
    --hash=sha256:{ONE}
    # via polars
six==1.17.0 --hash=sha256:{ONE}
colorama==0.4.6 ; sys_platform == "win32" --hash=sha256:{ONE}
"""


def test_a_lock_is_read() -> None:
    lock = read_lock(LOCK, "sandbox.lock")
    assert [(each.name, each.version) for each in lock.packages] == [
        ("polars-runtime", "2.1"),
        ("six", "1.17.0"),
    ]
    assert lock.packages[0].hashes == (ONE, OTHER)


def test_what_is_written_is_read_as_the_same_lock() -> None:
    lock = read_lock(LOCK, "sandbox.lock")
    assert read_lock(lock.text, "again") == lock
    assert read_lock(lock.text, "again").digest == lock.digest
    assert read_lock(LOCK.replace(ONE, "2" * 64), "other").digest != lock.digest


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("six==1.17.0\n", "line 1: 'six==1.17.0' has no hash"),
        (f"\nsix>=1.17 --hash=sha256:{ONE}", "line 2: 'six>=1.17"),
        (f"six --hash=sha256:{ONE}", "is not NAME==VERSION"),
        (f"six==1.17.* --hash=sha256:{ONE}", "is not NAME==VERSION"),
        ("six==1.17 --hash=md5:0123", "is not NAME==VERSION"),
        (f"six==1.17 --hash=sha256:{ONE[:-1]}", "is not NAME==VERSION"),
        (f"six==x.y --hash=sha256:{ONE}", "'x.y' is not a version"),
        (f"six==1 --hash=sha256:{ONE}\nSIX==2 --hash=sha256:{ONE}", "six occurs twice"),
        (f"a_b==1 --hash=sha256:{ONE}\na.b==1 --hash=sha256:{ONE}", "a-b occurs twice"),
        ("-r other.txt", "is an option"),
        ("--extra-index https://example.com\n", "is an option"),
        ("-e .", "is an option"),
        (f"six @ https://example.com/six.whl --hash=sha256:{ONE}", "is not NAME==VERSION"),
        (f"./six.whl --hash=sha256:{ONE}", "is not NAME==VERSION"),
        (f"six==1 --hash=sha256:{ONE} --global-option=x", "is not NAME==VERSION"),
        (f"six==1 ; nonsense --hash=sha256:{ONE}", "line 1"),
        ("", "holds 0 packages"),
        ("# nothing\n", "holds 0 packages"),
        ("".join(f"p{n}==1 --hash=sha256:{ONE}\n" for n in range(1001)), "holds 1001 packages"),
    ],
)
def test_what_is_not_a_lock_is_refused_with_the_line(text: str, words: str) -> None:
    with pytest.raises(ConfigurationError) as refused:
        read_lock(text, "sandbox.lock")
    assert "sandbox.lock" in str(refused.value)
    assert words in str(refused.value)


def test_files_are_bounded(tmp_path: Path) -> None:
    large = tmp_path / "large.lock"
    large.write_bytes(bytes(MAX_LOCK_BYTES + 1))
    with pytest.raises(ConfigurationError, match="more than"):
        load_lock(large)
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_lock(tmp_path)
    assert load_lock(tmp_path / "none") is None


@pytest.mark.parametrize(
    "name",
    [
        "-r /etc/passwd",
        "--extra-index=https://example.com",
        "-e .",
        "git+https://example.com/x",
        "https://example.com/x.whl",
        "./x.whl",
        "/srv/x.whl",
        "x @ https://example.com/x.whl",
        "x @ file:///etc/passwd",
        "x[extra] @ git+ssh://example.com/x",
        "six\n-r /etc/passwd",
        "six # a comment",
        "six --hash=sha256:1",
        "",
        "six==",
        "../six",
        "six;",
        "$(id)",
    ],
)
def test_only_names_with_versions_are_requirements(name: str) -> None:
    with pytest.raises(ConfigurationError, match="packages: "):
        read_requirements([name])


def test_one_text_is_not_a_list() -> None:
    with pytest.raises(
        ConfigurationError, match=r"packages is a list of names, such as \['polars'"
    ):
        read_requirements("polars")


def test_requirements_for_other_systems_are_left_out() -> None:
    names = ["polars>=2,<3", "six; sys_platform == 'win32'", "lxml[extra]~=6.0"]
    assert [each.name for each in read_requirements(names)] == ["polars", "lxml"]


@pytest.mark.parametrize(
    ("asked", "words"),
    [("polars", "does not hold polars"), ("six>=2", "holds six 1.17.0, but 'six>=2' is asked for")],
)
def test_a_lock_that_does_not_hold_what_is_asked_for_is_refused(asked: str, words: str) -> None:
    lock = read_lock(LOCK, "sandbox.lock")
    lock.check_covers([Requirement("Six"), Requirement("polars_runtime>2")], "sandbox.lock")
    with pytest.raises(ConfigurationError, match=words):
        lock.check_covers([Requirement(asked)], "sandbox.lock")
