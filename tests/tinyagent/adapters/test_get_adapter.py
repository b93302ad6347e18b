from __future__ import annotations

from typing import cast

import pytest

from tinyagent import ConfigurationError, NativeToolAdapter, get_adapter
from tinyagent.adapters import ToolCallingMode


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_native_calling_is_where_to_start(mode: ToolCallingMode) -> None:
    assert isinstance(get_adapter("gpt-4.1", (), mode), NativeToolAdapter)


def test_an_unknown_mode_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="'magic' is none of: auto, native"):
        get_adapter("gpt-4.1", (), cast("ToolCallingMode", "magic"))
