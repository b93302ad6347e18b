from __future__ import annotations

import hypothesis
from hypothesis import strategies as st

from tinyagent.execution.sandbox.worker.session.door import OutputSink, open_output


def test_lines_are_sent_as_they_end() -> None:
    sent: list[str] = []
    stream = open_output(OutputSink(sent.append, 100))
    stream.write("a")
    assert sent == []
    stream.write("b\nc")
    assert sent == ["ab\nc"]
    stream.write("d")
    stream.flush()
    assert sent == ["ab\nc", "d"]


def test_what_is_beyond_the_limit_is_kept_by_its_end() -> None:
    sent: list[str] = []
    sink = OutputSink(sent.append, 10)
    for text in ("01234", "56789abc", "defghijk"):
        assert sink.write(text.encode()) == len(text)
    assert "".join(sent) == "0123456789"
    assert sink.ending() == ("ghijk", 6)
    sink.begin()
    assert sink.ending() == ("", 0)
    sink.write(b"again")
    assert sent[-1] == "again"


def test_characters_are_never_torn() -> None:
    sent: list[str] = []
    sink = OutputSink(sent.append, 100)
    for byte in "ä€😀".encode():
        sink.write(bytes([byte]))
    assert sent == ["ä", "€", "😀"]


def test_what_is_not_utf_8_is_replaced() -> None:
    sent: list[str] = []
    sink = OutputSink(sent.append, 100)
    stream = open_output(sink)
    stream.buffer.write(b"\xff\xfe")
    stream.write("\udc80\n")
    stream.flush()
    assert "".join(sent) == "\ufffd\ufffd\\udc80\n"


def test_the_smallest_limit_holds() -> None:
    sent: list[str] = []
    sink = OutputSink(sent.append, 1)
    sink.write(b"abc" * 1000)
    assert sent == ["a"]
    assert sink.ending() == ("", 2999)


@hypothesis.given(st.lists(st.binary(max_size=40)), st.integers(1, 60))
def test_no_byte_is_lost_uncounted(pieces: list[bytes], limit: int) -> None:
    sent: list[str] = []
    sink = OutputSink(sent.append, limit)
    ascii_only = [bytes(byte & 0x7F for byte in piece) for piece in pieces]
    for piece in ascii_only:
        sink.write(piece)
    whole = b"".join(ascii_only).decode()
    tail, skipped = sink.ending()
    assert "".join(sent) == whole[:limit]
    assert len("".join(sent)) + skipped + len(tail) == len(whole)
    assert whole.endswith(tail)
    assert len(tail) <= limit // 2
