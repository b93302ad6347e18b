"""Each provider's quirks, in the bodies that are sent and the replies that are read."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tinyagent import (
    ConfigurationError,
    Document,
    Image,
    Message,
    OpenAIModel,
    ReactAgent,
    ScriptedModel,
    Text,
    ToolCall,
)
from tinyagent.core import (
    ModelContextTooLong,
    ModelRefused,
    ModelRequest,
    ModelResponse,
    Opaque,
    Reasoning,
    RequestFormat,
)
from tinyagent.core.types import remembered
from tinyagent.models import get_model, remote
from tinyagent.models.provider import Provider
from tinyagent.models.providers import PROVIDERS, find_provider
from tinyagent.models.wire.chat_reply import ChatReply
from tinyagent.models.wire.chat_request import encode_request

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
PDF = b"%PDF-1.7\n%%EOF"
TOOLS = ({"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}},)
CALL: dict[str, Any] = {"id": "call_123456789", "type": "function"}
CALL["function"] = {"name": "add", "arguments": "{}"}
SIGNATURE = {"extra_content": {"google": {"thought_signature": "c2ln"}}}
DETAILS = [
    {"type": "reasoning.text", "text": "Hm.", "signature": "s", "index": 0, "id": "r1"},
    {"type": "reasoning.encrypted", "data": "e", "index": 1, "id": "r2"},
]


def _provider(name: str, model: str) -> Provider:
    return PROVIDERS[name].for_model(model)


def _body(name: str, model: str, *messages: Message, **options: Any) -> dict[str, Any]:
    request = ModelRequest(messages, **options)
    return encode_request(model, request, stream=True, provider=_provider(name, model))


def _reply(name: str, model: str, message: dict[str, Any], *, streamed: bool) -> ModelResponse:
    provider = _provider(name, model)
    if not streamed:
        whole = {"choices": [{"message": message, "finish_reason": "stop"}]}
        return ChatReply(provider, model).read(whole)
    assembler = ChatReply(provider, model)
    for key, value in message.items():
        assembler.add({"choices": [{"delta": {key: value}}]})
    assembler.add({"choices": [{"delta": {}, "finish_reason": "stop"}]})
    return assembler.response()


def _kept(response: ModelResponse) -> Message:
    calls = [
        ToolCall(call.id, call.name, json.loads(call.arguments), opaque=call.opaque)
        for call in response.tool_calls
    ]
    content = remembered(response, response.content or "", calls)
    return Message("assistant", content, tuple(calls))


def _echo(name: str, model: str, message: dict[str, Any], *, streamed: bool) -> dict[str, Any]:
    """What goes back of a reply in the next request to the same model."""
    kept = _kept(_reply(name, model, message, streamed=streamed))
    again = Message.from_dict(json.loads(json.dumps(kept.to_dict())))
    body = _body(name, model, Message("user", "go"), again)
    return {key: value for key, value in body["messages"][1].items() if key != "role"}


ECHOES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "deepseek": (
        "deepseek",
        "deepseek-v4",
        {"reasoning_content": "Hm.", "content": "", "tool_calls": [CALL]},
    ),
    "deepseek without a thought": (
        "deepseek",
        "deepseek-v4",
        {"reasoning_content": "", "content": "", "tool_calls": [CALL]},
    ),
    "deepseek without calls": (
        "deepseek",
        "deepseek-v4",
        {"reasoning_content": "Hm.", "content": "so"},
    ),
    "kimi": (
        "kimi",
        "kimi-k2.6",
        {"reasoning_content": "Hm.", "content": None, "tool_calls": [CALL]},
    ),
    "vllm": ("vllm", "qwen3", {"reasoning": "Hm.", "content": "so", "tool_calls": [CALL]}),
    "ollama": ("ollama", "gpt-oss", {"reasoning": "Hm.", "content": "so"}),
    "openrouter": (
        "openrouter",
        "anthropic/claude",
        {"reasoning_details": DETAILS, "content": "so", "tool_calls": [CALL]},
    ),
    "gemini": (
        "gemini",
        "gemini-3-pro",
        {"content": "", "tool_calls": [{**CALL, **SIGNATURE}, {**CALL, "id": "call_2"}]},
    ),
    "gemini, a text": ("gemini", "gemini-3-pro", {"content": "so", **SIGNATURE}),
    "mistral": (
        "mistral",
        "magistral",
        {
            "content": [
                {"type": "thinking", "thinking": [{"type": "text", "text": "Hm."}]},
                {"type": "text", "text": "so"},
            ],
            "tool_calls": [{**CALL, "id": "abcDEF123"}],
        },
    ),
    "minimax": (
        "minimax",
        "MiniMax-M2",
        {"content": "<think>\nHm.\n</think>\n\nso", "tool_calls": [CALL]},
    ),
    "minimax without text": (
        "minimax",
        "MiniMax-M2",
        {"content": "<think>\nHm.\n</think>\n\n", "tool_calls": [CALL]},
    ),
}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("case", ECHOES)
def test_opaque_data_goes_back_unchanged(case: str, *, streamed: bool) -> None:
    name, model, message = ECHOES[case]
    assert _echo(name, model, message, streamed=streamed) == message


@pytest.mark.parametrize("case", ECHOES)
def test_another_model_and_another_provider_are_not_sent_it(case: str) -> None:
    name, model, message = ECHOES[case]
    kept = _kept(_reply(name, model, message, streamed=False))
    for other, its in [(name, f"{model}-other"), ("openai", model), ("mistral", "m")]:
        if other == name and model == its:
            continue
        sent = json.dumps(_body(other, its, Message("user", "go"), kept)["messages"])
        for secret in ("Hm.", "c2ln", '"e"', "reasoning_details"):
            assert secret not in sent, (other, its)
        assert ('so"' in sent) == ('so"' in json.dumps(message))


def test_pieces_of_openrouters_details_are_joined() -> None:
    provider = _provider("openrouter", "m")
    assembler = ChatReply(provider, "m")
    pieces: list[dict[str, Any]] = [
        {"reasoning": "Hm", "reasoning_details": [{**DETAILS[0], "text": "Hm"}]},
        {
            "reasoning": ".",
            "reasoning_details": [{"type": "reasoning.text", "index": 0, "text": "."}],
        },
        {"reasoning_details": [DETAILS[1]]},
        {"content": "so"},
    ]
    deltas = [delta for piece in pieces for delta in assembler.add({"choices": [{"delta": piece}]})]
    assert [delta.kind for delta in deltas] == ["reasoning", "reasoning", "text"]
    thought = assembler.response().parts[0]
    assert isinstance(thought, Reasoning)
    assert thought == Reasoning("Hm.", Opaque("openrouter", "m", {"reasoning_details": DETAILS}))


def test_gemini_gets_a_placeholder_for_calls_of_other_models() -> None:
    calls = (ToolCall("1", "add"), ToolCall("2", "add"))
    asked = (Message("user", "go"), Message("assistant", "", calls))
    first, second = _body("gemini", "gemini-3-pro", *asked)["messages"][1]["tool_calls"]
    signature = first["extra_content"]["google"]["thought_signature"]
    assert signature == "skip_thought_signature_validator"
    assert "extra_content" not in second
    old = _body("gemini", "gemini-2.5-flash", *asked)["messages"][1]["tool_calls"]
    assert "extra_content" not in old[0]


def test_deepseek_and_kimi_get_reasoning_for_messages_of_other_models() -> None:
    called = Message("assistant", "", (ToolCall("1", "add"),))
    said = Message("assistant", "so")
    deepseek = _body("deepseek", "deepseek-v4", called, said)["messages"]
    assert [each["reasoning_content"] for each in deepseek] == ["", ""]
    kimi = _body("kimi", "kimi-k2.6", called, said)["messages"]
    assert kimi[0]["reasoning_content"].strip()
    assert "reasoning_content" not in kimi[1]


def test_mistral_takes_ids_of_nine_letters_and_digits_only() -> None:
    call = ToolCall("call_0123456789ab", "add")
    result = Message("tool", "3", tool_call_id=call.id)
    sent = _body("mistral", "m", Message("assistant", "", (call,)), result)["messages"]
    made = sent[0]["tool_calls"][0]["id"]
    assert (len(made), made.isalnum(), sent[1]["tool_call_id"]) == (9, True, made)


def test_mistral_hears_no_user_right_after_a_tool_and_no_unknown_keys() -> None:
    call = ToolCall("abcDEF123", "add")
    body = _body(
        "mistral",
        "m",
        Message("user", "go"),
        Message("assistant", "", (call,)),
        Message("tool", (Text("3"), Image(PNG)), tool_call_id=call.id),
        Message("user", "Your reply was empty."),
        format=RequestFormat(tools=TOOLS, tool_choice="none"),
        max_tokens=5,
    )
    roles = [message["role"] for message in body["messages"]]
    assert roles == ["user", "assistant", "tool", "assistant", "user", "user"]
    assert set(body) == {"model", "messages", "max_tokens", "stream", "prompt_cache_key"}


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://api.deepseek.com/v1", "deepseek"),
        ("https://mine.openai.azure.com/openai/v1", "openai"),
        ("https://openrouter.ai/api/v1", "openrouter"),
        ("http://user:secret@localhost:9000/v1", "localhost:9000"),
        ("https://notdeepseek.com/v1", "notdeepseek.com"),
    ],
)
def test_a_server_is_known_by_its_host(url: str, name: str) -> None:
    assert find_provider(url).name == name


def test_a_model_is_named_by_its_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("DEEPSEEK_API_KEY", raising=False)
    with pytest.raises(ConfigurationError, match="set DEEPSEEK_API_KEY"):
        get_model("deepseek:deepseek-chat")
    monkeypatch.setenv("OPENAI_API_KEY", "not-for-them")
    with pytest.raises(ConfigurationError, match="set DEEPSEEK_API_KEY"):
        get_model("deepseek:deepseek-chat")
    monkeypatch.setenv("DEEPSEEK_API_KEY", "key-of-deepseek")
    model = get_model("deepseek:deepseek-chat")
    assert (
        repr(model)
        == "OpenAIModel('deepseek-chat', 'https://api.deepseek.com/v1/chat/completions')"
    )
    monkeypatch.setenv("OPENAI_BASE_URL", "http://localhost:1/v1")
    assert get_model("llama3.2:1b").name == "llama3.2:1b"
    assert get_model("ollama:llama3.2:1b").name == "llama3.2:1b"
    with pytest.raises(ConfigurationError, match="unknown provider 'nobody'; use one of: openai"):
        OpenAIModel("m", provider="nobody")


@pytest.mark.parametrize("wish", ["much", -1, True, 1.5])
def test_a_wish_for_reasoning_is_checked_at_once(wish: Any) -> None:
    with pytest.raises(ConfigurationError, match="neither a number of tokens nor one of: off, low"):
        ReactAgent(ScriptedModel(["hi"]), reasoning=wish)
    with pytest.raises(ConfigurationError, match="neither"):
        OpenAIModel("m", base_url="http://localhost:1/v1", reasoning=wish)


def test_images_and_documents_are_sent_as_the_provider_takes_them() -> None:
    asked = Message("user", (Text("What?"), Image(PNG), Document(PDF, "a.pdf")))
    text, image, file = _body("openai", "gpt-4.1", asked)["messages"][0]["content"]
    assert text == {"type": "text", "text": "What?"}
    assert image["image_url"]["url"].startswith("data:image/png;base64,iVBOR")
    assert file["file"]["filename"] == "a.pdf"
    assert file["file"]["file_data"].startswith("data:application/pdf;base64,")
    assert _body("mistral", "m", asked)["messages"][0]["content"][2]["type"] == "document_url"
    with pytest.raises(ModelRefused, match=r"does not take PDFs .* \[document a\.pdf, 14 bytes"):
        _body("deepseek", "m", asked)


def test_images_of_results_come_behind_all_results() -> None:
    calls = (ToolCall("1", "look"), ToolCall("2", "look"))
    sent = _body(
        "openai",
        "gpt-4.1",
        Message("assistant", "", calls),
        Message("tool", (Text("a"), Image(PNG)), tool_call_id="1"),
        Message("tool", "b", tool_call_id="2"),
    )["messages"]
    assert [message["role"] for message in sent] == ["assistant", "tool", "tool", "user"]
    assert isinstance(sent[1]["content"], str)
    assert [part["type"] for part in sent[3]["content"]] == ["image_url"]


async def test_too_many_attachments_are_for_the_run_to_prune(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(remote, "MAX_ATTACHED_BYTES", 40)
    model = OpenAIModel("gpt-4.1", base_url="http://127.0.0.1:9/v1", api_key="x")
    with pytest.raises(ModelContextTooLong, match="have 56 bytes, and at most 40"):
        await model.complete(ModelRequest([Message("user", (Image(PNG), Image(PNG)))]))
