"""What one executor's code may reach, and what its sessions have to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tinyagent.execution.network.authority import Authority
from tinyagent.execution.network.lookups import Lookups
from tinyagent.execution.network.names import host_name, ip_address
from tinyagent.execution.network.rules import Allow, HostPolicy, read_rules
from tinyagent.execution.network.secrets import PLACEHOLDER, ApiKey, Bearer, read_secrets

NAME_DOOR = "127.1.0.1"
"""Where the code asks for the addresses of names that its hosts file lacks."""

_FIRST_NAME = 2
_WILDCARD_NETWORK = "127.2"
_MAX_WILDCARD_NAMES = 500


class NetworkAccess:
    """The hosts that an executor's code may reach, and the means to serve it.

    Args:
        items: The list: hosts, or `Allow`.
        secrets: For hosts of the list.
        max_bytes: That a step may send and receive.

    Raises:
        ConfigurationError: An item or a secret cannot be used, or the extra is not installed.
    """

    def __init__(
        self,
        items: Iterable[str | Allow],
        secrets: Mapping[str, Bearer | ApiKey],
        max_bytes: int,
    ) -> None:
        rules = read_rules(items)
        self.policy = HostPolicy(rules)
        self.secrets = read_secrets(secrets, rules)
        self.authority = Authority()
        self.max_bytes = max_bytes
        self.ports = sorted({port for rule in rules for _, port in rule.ports})
        self.lookups = Lookups()
        exact = list(dict.fromkeys(rule.host for rule in rules if not rule.is_wildcard))
        self._addresses = {host: host for host in exact if ip_address(host) is not None}
        names = [host for host in exact if host not in self._addresses]
        self._addresses |= {
            name: f"127.1.{number >> 8}.{number & 0xFF}"
            for number, name in enumerate(names, _FIRST_NAME)
        }

    def names(self) -> SessionNames:
        """The names of a new session: those of the list."""
        return SessionNames(self.policy, self._addresses)

    def order(self) -> dict[str, Any]:
        """The facts that a session is given."""
        names = {host: place for host, place in self._addresses.items() if host != place}
        listed = [host for host, place in self._addresses.items() if host == place]
        return {
            "ports": self.ports,
            "hosts": names,
            "addresses": [place for place in listed if not place.startswith("127.")],
            "certificate": self.authority.certificate,
            "variables": {secret.env: PLACEHOLDER for secret in self.secrets.values()},
            "names": NAME_DOOR,
        }


class SessionNames:
    """The names that a session knows, each with the address that stands for it there.

    Args:
        policy: Decides which others it may come to know.
        addresses: Of the names that it knows from the start.
    """

    def __init__(self, policy: HostPolicy, addresses: Mapping[str, str]) -> None:
        self._policy = policy
        self._addresses = dict(addresses)
        self._hosts = {address: host for host, address in addresses.items()}
        self._granted = 0

    def host_at(self, address: str) -> str | None:
        """The listed host that an address of the session stands for."""
        return self._hosts.get(address)

    def find(self, text: str) -> tuple[str, str]:
        """The address in the session that stands for a name, or why it has none."""
        name = host_name(text) or ip_address(text)
        if name is None:
            return "", f"{text[:100]!r} is not the plain name of a host"
        if name in self._addresses:
            return self._addresses[name], ""
        reason = self._policy.refuse_name(name)
        if reason:
            return "", reason
        if self._granted >= _MAX_WILDCARD_NAMES:
            return "", f"this session has asked for {self._granted} names: no more are answered"
        self._granted += 1
        address = f"{_WILDCARD_NETWORK}.{self._granted >> 8}.{self._granted & 0xFF}"
        self._addresses[name], self._hosts[address] = address, name
        return address, ""
