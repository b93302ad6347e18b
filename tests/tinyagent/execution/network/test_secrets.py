"""Secrets are read from the host's environment, shown nowhere, and masked in every piece."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.cost import cost_of

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.network.rules import read_rules
from tinyagent.execution.network.secrets import ApiKey, Bearer, Secret, read_secrets

KEY = "sk-Very/Secret+Key=0123"


@settings(max_examples=200, deadline=None)
@given(
    before=st.binary(max_size=40),
    cuts=st.lists(st.integers(0, 120), max_size=12),
    times=st.integers(1, 3),
)
def test_an_echo_is_masked_however_it_is_cut(before: bytes, cuts: list[int], times: int) -> None:
    secret = Secret("authorization", "Bearer ", "KEY", KEY)
    text = before + KEY.encode() * times + b" end"
    places = [0, *sorted(cuts), len(text)]
    passed, tail = b"", b""
    for start, end in itertools.pairwise(places):
        ready, tail = secret.mask_stream(tail, text[start:end])
        passed += ready
    passed += secret.mask(tail)
    assert passed == before + b"*" * len(KEY) * times + b" end"


def test_only_what_may_become_an_echo_is_held_back() -> None:
    secret = Secret("authorization", "Bearer ", "KEY", KEY)
    assert secret.mask_stream(b"", b"data: hello\n\n") == (b"data: hello\n\n", b"")
    assert secret.mask_stream(b"", b"data: SK-very/") == (b"data: ", b"SK-very/")
    assert secret.mask_stream(b"sk-", b"other") == (b"sk-other", b"")


def test_looking_for_echoes_costs_little() -> None:
    """Each piece of an answer is looked at; a server that is listed may send what it likes."""
    secret = Secret("authorization", "Bearer ", "KEY", "a" * 2_000)
    for data in (b"a" * 65_000, b"6" * 65_000, b"\\u0061" * 10_000):
        assert cost_of(lambda data=data: secret.mask_stream(b"", data)) < 0.05  # type: ignore[misc]


def test_a_key_is_not_shown() -> None:
    assert KEY not in repr(Secret("authorization", "Bearer ", "KEY", KEY))


@pytest.mark.parametrize(
    ("host", "how", "reason"),
    [
        ("other.com", Bearer("KEY"), "not a host of `network`"),
        ("plain.com", Bearer("KEY"), "not a host of `network` that is reached by HTTPS"),
        ("api.com", Bearer("UNSET"), "UNSET holds no key"),
        ("api.com", Bearer("SHORT"), "SHORT holds no key"),
        ("api.com", Bearer("BROKEN"), "BROKEN holds no key"),
        ("api.com", ApiKey("Host", "KEY"), "'Host' is not a header for a key"),
        ("api.com", ApiKey("X: y", "KEY"), "not a header for a key"),
    ],
)
def test_what_cannot_be_used_is_refused(
    host: str, how: Bearer | ApiKey, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("KEY", KEY), ("SHORT", "abc"), ("BROKEN", "long enough\r\nX: y")):
        monkeypatch.setenv(name, value)
    monkeypatch.delenv("UNSET", raising=False)
    with pytest.raises(ConfigurationError, match=reason) as raised:
        read_secrets({host: how}, read_rules(["api.com", "plain.com:80"]))
    assert KEY not in str(raised.value)
