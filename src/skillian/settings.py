"""What whoever runs skillian sets, from the environment (`SKILLIAN_…`) and a `.env` file."""

import hashlib
import os
from pathlib import Path
from typing import Annotated

from pydantic import AliasChoices, BeforeValidator, Field, SecretStr
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

MIN_KEY = 16


def key_digest(key: str) -> str:
    """Return what is kept of an API key, and what its sessions are owned by."""
    return hashlib.sha256(key.encode()).hexdigest()


def _digests(given: object) -> object:
    """Keys as they are written, separated by commas; anything else is digests already."""
    if not isinstance(given, str):
        return given
    keys = [key.strip() for key in given.split(",") if key.strip()]
    if any(len(key) < MIN_KEY for key in keys):
        raise ValueError(f"an API key has fewer than {MIN_KEY} characters; make longer ones")
    return [key_digest(key) for key in keys]


def _paths(given: object) -> object:
    """Paths as the system writes a list of them; anything else is paths already."""
    return [path for path in given.split(os.pathsep) if path] if isinstance(given, str) else given


class Settings(BaseSettings):
    """Settings of one process.

    Attributes:
        model: Which model answers, such as `openai:…`; none means the offline planner.
        sources: The file that declares connections and sources.
        skills: Folders of skills, or folders of such; in the environment a list as in PATH.
        host: The address to serve on; without API keys only a loopback address.
        port: The port to serve on; 0 takes a free one.
        database_url: Where sessions are kept, also read from `DATABASE_URL`.
        api_keys: The digests of the keys (`SKILLIAN_API_KEYS` is a comma list of the keys).
        page_secret: Signs the page's cookie; none: made up at each start.
        retention_days: After how many days without use a session is deleted; none: never.
        max_body_bytes: How large the body of a request may be.
        requests_per_minute: How many requests a key may make; 0 means any number.
        max_turns: How many turns and comparisons of requests may be under way at once.
        turn_seconds: How long a message waits for those in front of it in its session.
        resume_seconds: How long a streamed turn goes on after its reader has gone.
        durable: Whether turns and comparisons survive their process (extra `durable`).
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
    skills: Annotated[tuple[Path, ...], NoDecode, BeforeValidator(_paths)] = ()
    host: str = "127.0.0.1"
    port: Annotated[int, Field(ge=0, le=65535)] = 8000
    database_url: Annotated[
        SecretStr, Field(validation_alias=AliasChoices("SKILLIAN_DATABASE_URL", "DATABASE_URL"))
    ] = SecretStr("sqlite:///skillian.db")
    api_keys: Annotated[tuple[str, ...], NoDecode, BeforeValidator(_digests)] = ()
    page_secret: Annotated[SecretStr, Field(min_length=MIN_KEY)] | None = None
    retention_days: Annotated[int, Field(ge=1)] | None = None
    max_body_bytes: Annotated[int, Field(ge=1024)] = 1024 * 1024
    requests_per_minute: Annotated[int, Field(ge=0)] = 600
    max_turns: Annotated[int, Field(ge=1)] = 64
    turn_seconds: Annotated[float, Field(gt=0)] = 120
    resume_seconds: Annotated[float, Field(ge=0)] = 10
    durable: bool = False
