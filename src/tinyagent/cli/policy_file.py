"""The file of a policy, as `--provenance` and `tinyagent policy` read it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tinyagent.core.errors import ConfigurationError, missing_extra
from tinyagent.core.untrusted import as_object

if TYPE_CHECKING:
    from tinyagent.provenance import Provenance


def read_policy(file: Path, option: str) -> Provenance:
    """The policy in a YAML or JSON file.

    Args:
        file: The file.
        option: What it was passed as, for the error message.

    Raises:
        ConfigurationError: The file cannot be read, or is not a policy.
    """
    from tinyagent.provenance import Provenance

    try:
        text = file.read_text(encoding="utf-8")
        data = as_object(json.loads(text) if file.suffix == ".json" else _from_yaml(text))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigurationError(f"{option} {str(file)!r}: {error}") from None
    if data is None:
        raise ConfigurationError(f"{option} {str(file)!r}: it does not hold a table of rules")
    return Provenance.from_dict(data)


def _from_yaml(text: str) -> object:
    try:
        import yaml
    except ImportError:
        raise ConfigurationError(missing_extra("a policy in YAML", "skillian")) from None
    try:
        return yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ValueError(" ".join(str(error).split())) from None
