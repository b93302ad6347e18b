"""Links in answers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.tinyagent.provenance.conftest import READ, Office, policy

from tinyagent import ConfigurationError, ReactAgent, Sandbox, ScriptedModel, TinyCodeAgent
from tinyagent.provenance import Provenance
from tinyagent.provenance.links import without_links


def cleaned(text: Any, *hosts: str, said: str = "") -> Any:
    return without_links(text, hosts, lambda link: bool(said) and link in said)


@pytest.mark.parametrize(
    "link",
    [
        "https://evil.example/?q=4711",
        "HTTPS://EVIL.example/4711",
        "http://user@evil.example/4711",
        "https://docs.example.com@evil.example/4711",
        "https://docs.example.com:pass@evil.example/4711",
        "//evil.example/4711",
        "\\\\evil.example\\4711",
        "https:\\\\evil.example\\4711",
        "ftp://evil.example/4711",
        "www.evil.example/4711",
        "https://docs.example.com.evil.example/4711",
        "https://evil.example#docs.example.com",
        "https://evil.example?docs.example.com",
        "https://[::1]/4711",
        "https://docs.example.com%2eevil.example/4711",
        "https://docs.example.com\\.evil.example/4711",
        "https://dоcs.example.com/4711",  # noqa: RUF001 - a Cyrillic o
        "https://4711.evil.example",
        "custom://evil.example/4711",
    ],
)
@pytest.mark.parametrize("around", ["{}", "![pixel]({})", "[click]({})", '<img src="{}">', "<{}>"])
def test_a_link_to_another_host_is_removed(link: str, around: str) -> None:
    text = cleaned(around.format(link), "docs.example.com")
    assert "4711" not in text
    assert "removed" in text


@pytest.mark.parametrize(
    ("link", "host"),
    [
        ("https://docs.example.com/a?b=c", "docs.example.com"),
        ("https://docs.example.com:8443/a", "docs.example.com"),
        ("https://a.b.example.com/", "*.example.com"),
        ("www.example.com/a", "www.example.com"),
    ],
)
def test_a_link_to_a_listed_host_stays(link: str, host: str) -> None:
    assert cleaned(f"See [this]({link}).", host) == f"See [this]({link})."


def test_the_host_itself_is_not_below_it() -> None:
    assert "removed" in cleaned("https://example.com", "*.example.com")
    assert "removed" in cleaned("https://badexample.com", "*.example.com")


def test_links_inside_data_are_removed_too() -> None:
    data = {"https://evil.example": ["a https://evil.example/x", 5, None, ("//evil.example",)]}
    assert "evil.example/" not in str(cleaned(data))
    assert cleaned(data)["(link removed)"][1:3] == [5, None]


@given(st.text())
def test_a_text_without_links_stays(text: str) -> None:
    plain = text.replace("/", "").replace("\\", "").replace("www.", "").replace("WWW.", "")
    if "www." not in plain.lower():
        assert cleaned(plain) == plain


ANSWER = "Look: ![x](https://evil.example/?q=4711) and https://docs.example.com/a"


def test_the_answer_of_an_agent_that_read_others_words_is_cleaned(office: Office) -> None:
    guard = policy(links=["docs.example.com"])
    agent = ReactAgent(ScriptedModel([READ, ANSWER]), office.tools(), middleware=[guard])
    answer = agent.run_sync("What is new?").output
    assert answer == "Look: ![x]((link removed)) and https://docs.example.com/a"


def test_the_answer_of_an_agent_that_read_nothing_stays(office: Office) -> None:
    agent = ReactAgent(ScriptedModel([ANSWER]), office.tools(), middleware=[policy(links=[])])
    assert agent.run_sync("What is new?").output == ANSWER


def test_links_of_the_request_stay(office: Office) -> None:
    model = ScriptedModel([READ, "I opened https://a.example/b for you"])
    agent = ReactAgent(model, office.tools(), middleware=[policy(links=[])])
    assert "https://a.example/b" in agent.run_sync("Open https://a.example/b please").output


@pytest.mark.parametrize("sealed", [False, True])
def test_the_answer_of_code_is_cleaned(office: Office, *, sealed: bool) -> None:
    office.mails = [{"sender": "a", "body": "https://evil.example/4711"}]
    block = "```python\nfinal_answer(f'It says {read_mail()}')\n```"
    agent = TinyCodeAgent(
        ScriptedModel([block]),
        office.tools(),
        middleware=[policy(links=[])],
        sealed=sealed,
        sandbox=Sandbox(level="local"),
    )
    result = agent.run_sync("What is new?", return_result=True)
    assert "4711" not in result.output
    assert result.final_answer is not None
    assert "4711" not in str(result.final_answer.value)


def test_a_policy_file_lists_hosts() -> None:
    assert Provenance.from_dict({"links": ["a.example"]}).policy.links == frozenset(["a.example"])
    assert Provenance.from_dict({}).policy.links is None
    with pytest.raises(ConfigurationError, match="links"):
        Provenance.from_dict({"links": "a.example"})
