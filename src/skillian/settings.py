"""The settings of skillian, from the environment (`SKILLIAN_…`) and a `.env` file."""

import hashlib
import os
import re
import tempfile
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIN_KEY = 16
_PLAIN_VALUE = re.compile(r"[\w.:/@+-]+")


def key_digest(key: str) -> str:
    """The digest of an API key, which is stored in place of the key and owns its sessions."""
    return hashlib.sha256(key.encode()).hexdigest()


def _digests(value: object) -> object:
    """The digests of keys that are separated by commas; any other value is digests already."""
    if not isinstance(value, str):
        return value
    keys = [key.strip() for key in value.split(",") if key.strip()]
    if any(len(key) < MIN_KEY for key in keys):
        raise ValueError(f"an API key has fewer than {MIN_KEY} characters; use a longer one")
    return [key_digest(key) for key in keys]


def _paths(value: object) -> object:
    """Paths that are separated as in PATH; any other value is a list of paths already."""
    return [path for path in value.split(os.pathsep) if path] if isinstance(value, str) else value


class Settings(BaseSettings):
    """Settings of one process.

    Attributes:
        model: The model that answers, such as `openai:…`; without one the offline planner answers.
        sources: The file that declares connections and sources.
        questions: The file of verified questions, which are marked in a chat.
        context_tokens: What the model can read and write at once, for results to fit into it;
            4,096 by default for models of servers on this machine.
        skills: Folders of skills, or folders of such folders; separated as in PATH.
        host: The address to serve on; without API keys it must be a loopback address.
        port: The port to serve on; 0 takes a free one.
        database_url: Where sessions are stored; also read from `DATABASE_URL`.
        api_keys: The digests of the keys in `SKILLIAN_API_KEYS`, which are separated by commas.
        page_secret: Signs the cookie of the page; default random at each start.
        retention_days: The number of days without use after which a session or an uploaded file is
            deleted; by default they are kept.
        uploads: The folder of uploaded files.
        max_upload_bytes: The maximum size of an uploaded file.
        max_body_bytes: The maximum size of the body of any other request.
        requests_per_minute: The maximum number of requests of a key; 0 means no maximum.
        max_turns: The maximum number of turns and comparisons at the same time.
        turn_seconds: How long a message waits for earlier ones in its session.
        resume_seconds: How long a streamed turn continues after its client disconnects.
        durable: Whether turns survive their process (extra `durable`).
    """

    model_config = SettingsConfigDict(
        env_prefix="SKILLIAN_",
        env_file=".env",
        env_ignore_empty=True,
        extra="ignore",
        validate_by_name=True,
        hide_input_in_errors=True,  # it may be a secret
    )

    model: str | None = None
    sources: Path = Path("sources.yaml")
    questions: Path | None = None
    context_tokens: Annotated[int, Field(ge=1024)] | None = None
    skills: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_paths)] = ()
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    database_url: Annotated[
        SecretStr, Field(validation_alias=AliasChoices("SKILLIAN_DATABASE_URL", "DATABASE_URL"))
    ] = SecretStr("sqlite:///skillian.db")
    api_keys: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_digests)] = ()
    page_secret: Annotated[SecretStr, Field(min_length=MIN_KEY)] | None = None
    retention_days: Annotated[int, Field(ge=1)] | None = None
    uploads: Path = Path("uploads")
    max_upload_bytes: Annotated[int, Field(ge=1024)] = 2_000_000_000
    max_body_bytes: Annotated[int, Field(ge=1024)] = 1024 * 1024
    requests_per_minute: Annotated[int, Field(ge=0)] = 600
    max_turns: Annotated[int, Field(ge=1)] = 64
    turn_seconds: Annotated[float, Field(gt=0)] = 120
    resume_seconds: Annotated[float, Field(ge=0)] = 10
    durable: bool = False

    @property
    def has_sources(self) -> bool:
        """Whether there is a file of sources, or one was named that should be there."""
        return "sources" in self.model_fields_set or self.sources.exists()


def write_setting(path: Path, variable: str, value: str) -> None:
    """Set a variable in a `.env` file; its other lines and its permissions stay as they are.

    Args:
        path: The file; if it is missing, it is created, readable for this user only.
        variable: The name of the variable.
        value: Its value.

    Raises:
        ValueError: The value cannot be written without quotes, or the file is not UTF-8.
        OSError: The file cannot be read or written.
    """
    if not _PLAIN_VALUE.fullmatch(value):
        raise ValueError(f"the value {value!r} would have to be quoted")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    own = re.compile(rf"[ \t]*(export[ \t]+)?{variable}[ \t]*=", re.IGNORECASE)
    lines = [line for line in text.splitlines() if not own.match(line)]
    mode = path.stat().st_mode & 0o777 if path.exists() else 0o600
    # A reader sees the old file or the new one, never half of it.
    with tempfile.NamedTemporaryFile(
        "w", encoding="utf-8", dir=path.resolve().parent, delete=False
    ) as file:
        file.write("\n".join([*lines, f"{variable}={value}", ""]))
    Path(file.name).chmod(mode)
    Path(file.name).replace(path.resolve())
