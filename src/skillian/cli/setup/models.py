"""`skillian models`: the language models that can be used on this machine."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from skillian.cli.shell import AsJson, ExitCode, notes, out, read_settings, run, say, show_error
from skillian.display import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from skillian.local_models import LocalOffer

_VARIABLE = "SKILLIAN_MODEL"
_SETTINGS = Path(".env")


def models(
    *,
    use: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Write the model to .env: one that is listed, `local` for whichever server of this"
            " machine offers one, or `offline` for none.",
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List the models that servers on this machine offer, and say how to get one.

    Asks Ollama, LM Studio, llama.cpp and vLLM at their default ports on loopback. Other commands
    ask them only after you agree, once, with `--use local`.

    Exit codes: 0 a model is offered, 1 none, 2 the model cannot be used.
    """
    from skillian.local_models import find_offers, local_servers

    offers = run(find_offers(local_servers()))
    if as_json:
        report = {"model": read_settings().model, "servers": [each.to_dict() for each in offers]}
        typer.echo(json.dumps(report, ensure_ascii=False, indent=2))
    else:
        _show(offers)
    if use is not None:
        _use(use.strip(), offers)
    elif not as_json:
        _show_choice(offers)
    has_model = any(offer.models for offer in offers)
    raise typer.Exit(ExitCode.OK if has_model or use is not None else ExitCode.FINDINGS)


def _show(offers: Sequence[LocalOffer]) -> None:
    for offer in offers:
        server = f"{offer.server.title} at {offer.server.origin}"
        out.print(printable(server), style="bold", end="", markup=False, soft_wrap=True)
        out.print(f": {offer.problem}" if offer.problem else "", markup=False, soft_wrap=True)
        for name in offer.models:
            say(f"  {name}", console=out)
        if not offer.models:
            hint = f"  to get a model: {offer.server.start}"
            out.print(hint, style="dim", markup=False, soft_wrap=True)


def _show_choice(offers: Sequence[LocalOffer]) -> None:
    """Say which model answers, and how to choose another."""
    from skillian.local_models import LOCAL

    current = read_settings().model
    first = next((model for offer in offers for model in offer.models), None)
    text = current or "not set, so the offline planner answers"
    if current == LOCAL:
        text = f"{LOCAL}, which is now {first or 'the offline planner'}"
    say(f"\n{_VARIABLE}: {text}", console=out)
    if current is None and first is not None:
        text = (
            "To choose a model: skillian models --use MODEL\n"
            "To let skillian look for one each time: skillian models --use local"
        )
        out.print(text, markup=False, soft_wrap=True)


def _use(name: str, offers: Sequence[LocalOffer]) -> None:
    from skillian.local_models import LOCAL
    from skillian.models import OFFLINE
    from skillian.settings import write_setting

    known = [LOCAL, OFFLINE, *(model for offer in offers for model in offer.models)]
    if name not in known:
        show_error(f"no server on this machine offers {name!r}; write one of: {', '.join(known)}")
        raise typer.Exit(ExitCode.COULD_NOT)
    try:
        write_setting(_SETTINGS, _VARIABLE, name)
    except (OSError, ValueError) as error:
        show_error(f"{_SETTINGS} cannot be changed: {error}")
        raise typer.Exit(ExitCode.COULD_NOT) from None
    say(f"{_VARIABLE}={name} is in {_SETTINGS} of this folder.")
    if _VARIABLE in os.environ:
        text = f"{_VARIABLE} is also set in the environment, which takes precedence."
        notes.print(text, style="yellow", markup=False, soft_wrap=True)
