from __future__ import annotations

import pytest

from skillian.chat import durable_work
from skillian.chat.durable_work import DurableWork, runs_url
from skillian.errors import UnavailableError


@pytest.mark.parametrize(
    ("store_url", "expected"),
    [
        ("sqlite:///skillian.db", "sqlite:///skillian-runs.db"),
        ("sqlite:////a.b/sessions", "sqlite:////a.b/sessions-runs"),
        ("postgresql+psycopg://me:p%40ss@host/db", "postgresql://me:p%40ss@host/db"),
        ("postgres://host/db", "postgresql://host/db"),
    ],
)
def test_the_runs_are_beside_the_sessions(store_url: str, expected: str) -> None:
    assert runs_url(store_url) == expected


def test_without_the_extra_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(durable_work, "find_spec", lambda _: None)
    with pytest.raises(UnavailableError, match=r"tinyagent-skillian\[durable\]"):
        DurableWork("sqlite:///a.db")
