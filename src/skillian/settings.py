"""What whoever runs skillian sets, from the environment (`SKILLIAN_…`) and a `.env` file."""

from pathlib import Path

from pydantic_settings import BaseSettings, SettingsConfigDict


class Settings(BaseSettings):
    """Settings of one process.

    Attributes:
        model: Which model answers, such as `openai:…`; none means the offline planner.
        sources: The file that declares connections and sources.
    """

    model_config = SettingsConfigDict(env_prefix="SKILLIAN_", env_file=".env", extra="ignore")

    model: str | None = None
    sources: Path = Path("sources.yaml")
