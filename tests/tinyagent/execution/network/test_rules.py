"""Which host, port, method and path a rule allows: each refusal next to what is allowed."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.cost import cost_of

from tinyagent.core.errors import ConfigurationError
from tinyagent.execution.network.rules import Allow, HostPolicy, PathPattern, Target, read_rules
from tinyagent.execution.network.upstream import url_of

RULES = (
    "api.example.com",
    "*.example.org:443",
    "*.example.net",
    "tall.example:8443",
    Allow("GET", "https://some.example/open/*"),
)
POLICY = HostPolicy(read_rules(RULES))


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ("https://a.example.org/", "https://badexample.org/"),
        ("https://a.example.org/", "https://example.org/"),
        ("https://a.b.example.org/", "https://a.example.org.evil.example/"),
        ("https://a.example.org/", "http://a.example.org/"),
        ("http://a.example.net/", "http://badexample.net/"),
        ("http://a.example.net/", "http://example.net/"),
        ("https://api.example.com/", "https://xapi.example.com/"),
        ("https://api.example.com/", "https://x.api.example.com/"),
        ("http://api.example.com/", "http://example.com/"),
        ("http://api.example.com/", "http://api.example.com:8080/"),
        ("https://tall.example:8443/", "https://tall.example/"),
        ("https://some.example/open/a", "https://some.example/opened"),
        ("https://some.example/open/a", "https://some.example/open/../a"),
        ("https://some.example/open/a", "http://some.example/open/a"),
    ],
)
def test_a_request_is_allowed_or_not(allowed: str, refused: str) -> None:
    assert _refusal(allowed) == ""
    assert _refusal(refused) != ""


def test_methods_are_those_of_the_rule() -> None:
    target = Target("https", "some.example", 443)
    assert POLICY.refuse(target, "GET", "/open/a") == ""
    for method in ("POST", "HEAD", "CONNECT", "get"):
        assert f"the method {method} is not allowed" in POLICY.refuse(target, method, "/open/a")


@pytest.mark.parametrize(
    ("allowed", "refused"),
    [
        ("a.example.org", "badexample.org"),
        ("a.example.net", "example.net"),
        ("api.example.com", "example.com"),
    ],
)
def test_a_name_is_looked_up_only_if_a_rule_names_it(allowed: str, refused: str) -> None:
    assert POLICY.refuse_name(allowed) == ""
    assert refused in POLICY.refuse_name(refused)


def _refusal(url: str) -> str:
    scheme, _, rest = url.partition("://")
    place, _, path = rest.partition("/")
    host, _, port = place.partition(":")
    target = Target(scheme, host, int(port or {"http": 80, "https": 443}[scheme]))
    return POLICY.refuse(target, "GET", f"/{path}")


_PATH_TEXT = st.text("/a*b-", max_size=8).map(lambda text: f"/{text}")


@given(_PATH_TEXT, st.text("/ab-", max_size=12).map(lambda text: f"/{text}"))
def test_a_path_is_compared_as_its_pattern_says(pattern: str, path: str) -> None:
    parts = [re.escape(part) for part in pattern.removesuffix("*").split("*")]
    likeness = "[^/]*".join(parts) + (".*" if pattern.endswith("*") else "")
    assert PathPattern(pattern).matches(path) == (re.fullmatch(likeness, path) is not None)


@pytest.mark.parametrize("path", ["-" * 16_000, "/".join("-" * 8_000), "a-" * 8_000])
@pytest.mark.parametrize("pattern", ["/*-*-*-*x", "/*/*/*/*x", "/*-*a*-*a*x*"])
def test_a_hostile_path_costs_little(pattern: str, path: str) -> None:
    policy = HostPolicy(read_rules([Allow("GET", f"https://some.example{pattern}")]))
    target = Target("https", "some.example", 443)
    assert cost_of(lambda: policy.refuse(target, "GET", f"/{path}")) < 0.02


def test_a_name_in_another_alphabet_is_compared_as_protocols_write_it() -> None:
    [rule] = read_rules(["B\u00fccher.example"])
    assert rule.host == "xn--bcher-kva.example"
    target = Target("https", rule.host, 443)
    assert url_of(target, "/a").raw_host == rule.host
    with pytest.raises(ConfigurationError, match="is not the name of a host"):
        read_rules(["stra\u00dfe.example"])  # stands for two hosts, by two standards
