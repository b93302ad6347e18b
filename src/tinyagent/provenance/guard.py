"""Provenance: labels on all that a run reads, and a policy at each call that could do harm."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, cast

from tinyagent.core.context import RunControl
from tinyagent.core.provenance import Sink
from tinyagent.core.types import ToolSpec
from tinyagent.middleware.base import Middleware, SteeringMiddleware
from tinyagent.options import checks_options
from tinyagent.provenance.policies.checks import check_names, check_rules
from tinyagent.provenance.policies.file import names_of, policy_from_dict, writers_of
from tinyagent.provenance.policies.policy import Policy
from tinyagent.provenance.run_guard import Guard
from tinyagent.provenance.sealed_guard import SealedGuard


@checks_options()
class Provenance(SteeringMiddleware):
    """Labels all that a run reads, and checks each call against a policy.

    Once the model has read something untrusted, all that it writes is influenced by it. From then
    on each argument of a call that changes something or carries data out must be vouched for, or a
    person must approve the call; see `Sink`.

    Args:
        trusted: Tools whose results are trusted, for a sealed agent also fields of them
            (`"contacts.email"`); `agent/tool` for what an agent that is a tool reads; `file:NAME`,
            `host`, `network` and `executor` for what code reads; `mcp:SERVER` for how a server
            describes its tools.
        private: Who may read the results of a tool, by its name; others are for everybody.
        free: Tools that may always be called: they change nothing, and no argument leaves the
            machine.
        sinks: The rules of the other tools, by name. What is declared nowhere may only be called
            while the model has read nothing untrusted, or with a person's approval. Rules for a
            tool of an agent that is a tool are those of `agent/tool`; without any, they are those
            of the same tool of this agent.
        reveal_bits: How much a sealed code agent may learn of narrow untrusted values (bool, int,
            float, dates, `Literal`) in one run without being influenced by them, in bits.
        links: Hosts to which links in a tainted answer may go; others are removed from it. A
            sealed agent shows others that contain untrusted values as text, also without `links`.
        own: Tools, or fields of their results (`"list_orders.id"`), that list what belongs to the
            user's account; the source `"own"` of a rule.
        from_: Whose items are trusted where a tool says who wrote each item of its results (see
            `Items`): a list of `"user"` (whom the request names), `"@corp.example"` (addresses of
            this host), `"anna@corp.example"`, `"@ben"` (this name), `"contacts.email"` (a value of
            a trusted tool); or such a list by tool, or by the field that says so
            (`"read_mail.sender"`).

    A call that breaks a rule is put to the agent's `Approval`, if it has one, and refused
    otherwise. Agents without a `Provenance` of their own that run in a tool are held to this one.

    Raises:
        ConfigurationError: A rule is none; when a run starts, also if it names an unknown tool or
            argument.
    """

    def __init__(  # noqa: PLR0913 - the parts of a policy
        self,
        *,
        trusted: Iterable[str] = (),
        private: Mapping[str, Iterable[str]] = MappingProxyType({}),
        free: Iterable[str] = (),
        sinks: Mapping[str, Sink] = MappingProxyType({}),
        reveal_bits: int = 0,
        links: Iterable[str] | None = None,
        own: Iterable[str] = (),
        from_: Iterable[str] | Mapping[str, Iterable[str]] = (),
    ) -> None:
        self._checked: Mapping[str, ToolSpec] | None = None
        self.policy = Policy(
            names_of(trusted, "trusted"),
            {name: names_of(given, f"private.{name}") for name, given in private.items()},
            names_of(free, "free"),
            dict(sinks),
            reveal_bits,
            None if links is None else names_of(links, "links"),
            names_of(own, "own"),
            writers_of(_as_data(from_)),
        )
        check_rules(self.policy)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Provenance:
        """Read a policy from the contents of a YAML or JSON file.

        Raises:
            ConfigurationError: A policy does not have this key or value.
        """
        provenance = cls()
        provenance.policy = policy_from_dict(data)
        check_rules(provenance.policy)
        return provenance

    def steer(self, run: RunControl) -> Middleware:
        """Guard one run.

        Raises:
            ConfigurationError: The policy names a tool or an argument that the agent does not have.
        """
        if self._checked is not run.tools:  # those of the agent, in each of its runs
            check_names(self.policy, run.tools, sealed=run.sealed)
            self._checked = run.tools
        caller = run.delegation.caller if run.delegation is not None else None
        outer = caller.policy_for(run) if isinstance(caller, Inheritance) else Policy()
        return _steer(run, self.policy, outer)


@dataclass(frozen=True, slots=True)
class Inheritance:
    """The policy of a run, for the runs that start in a call of one of its tools."""

    agent: str
    policy: Policy
    tools: Mapping[str, ToolSpec]
    trusts_source: Callable[[str], bool]

    def trusts(self, source: str) -> bool:
        """Whether the caller trusts one of its own sources."""
        return self.trusts_source(source)

    def policy_for(self, run: RunControl) -> Policy:
        """The rules of the policy for the tools of the run."""
        shared = {name for name, tool in run.tools.items() if self.tools.get(name) is tool}
        return self.policy.within(self.agent, shared)

    def guard(self, run: RunControl) -> Middleware:
        """The middleware that holds a run without a policy of its own to the caller's.

        Raises:
            ConfigurationError: The policy names a tool that the agent does not have.
        """
        policy = self.policy_for(run)
        check_names(policy, run.tools, sealed=run.sealed)
        return _steer(run, policy, Policy())


def _as_data(writers: Iterable[str] | Mapping[str, Iterable[str]]) -> object:
    if isinstance(writers, Mapping):
        given = cast("Mapping[str, Iterable[str]]", writers)
        return {name: list(names_of(who, f"from.{name}")) for name, who in given.items()}
    return sorted(names_of(writers, "from")) or {}


def _steer(run: RunControl, policy: Policy, outer: Policy) -> Middleware:
    guard = (SealedGuard if run.sealed else Guard)(policy, run, outer, Inheritance)
    run.label, run.mark = guard.label, guard.marks
    if policy.links is not None and not run.sealed:
        run.clean_answer = guard.clean_answer
    return guard
