from __future__ import annotations

import pytest

from skillian.api.server import listen
from skillian.errors import SkillianError


def test_an_address_in_use_is_reported() -> None:
    with listen("127.0.0.1", 0) as taken:
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SkillianError, match=f"cannot serve on 127.0.0.1:{port}: "):
            listen("127.0.0.1", port)


def test_an_address_of_another_machine_is_reported() -> None:
    with pytest.raises(SkillianError, match="cannot serve on"):
        listen("192.0.2.1", 0)
    with pytest.raises(SkillianError, match="cannot serve on"):
        listen("no.such.host.invalid", 0)
