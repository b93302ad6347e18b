"""Names and addresses of hosts: how they may be spelled, and which addresses are public."""

from __future__ import annotations

import ipaddress
import re

Address = ipaddress.IPv4Address | ipaddress.IPv6Address

_MAX_NAME = 253
_LABEL = re.compile(r"[a-z0-9_](?:[a-z0-9_-]{0,61}[a-z0-9_])?")
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")
# What `is_global` of some Python versions calls public; the last is a service of Azure's machines.
_SPECIAL = tuple(
    ipaddress.ip_network(text)
    for text in (
        "64:ff9b:1::/48", "fec0::/10", "5f00::/16", "3fff::/20", "100::/63", "2001::/23",
        "192.88.99.0/24", "192.0.0.0/24", "198.18.0.0/15",
        "168.63.129.16/32",
    )
)  # fmt: skip
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def host_name(text: str) -> str | None:
    """The name in lower case and without a last dot; None if it is not a plain name of a host.

    A name whose last label is a number would be read as an address by some programs.
    """
    name = text.lower().removesuffix(".")
    labels = name.split(".")
    if not name.isascii() or len(name) > _MAX_NAME or _NUMBER.fullmatch(labels[-1]):
        return None
    return name if all(_LABEL.fullmatch(label) for label in labels) else None


def ip_address(text: str) -> str | None:
    """The IPv4 address, if the text is one in its usual notation."""
    try:
        return str(ipaddress.IPv4Address(text))
    except ValueError:
        return None


def is_public(text: str) -> bool:
    """Whether an address is one of the public internet, and so are those that it carries."""
    try:
        address: Address = ipaddress.ip_address(text.partition("%")[0])
    except ValueError:
        return False
    return all(map(_is_public, _carried(address)))


def _carried(address: Address) -> list[Address]:
    """The address itself, or the IPv4 addresses that it stands for."""
    if isinstance(address, ipaddress.IPv4Address):
        return [address]
    if address.ipv4_mapped is not None:
        return [address.ipv4_mapped]
    if address.sixtofour is not None:
        return [address, address.sixtofour]
    if address.teredo is not None:
        return [address, *address.teredo]
    if address in _NAT64:
        return [ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)]
    return [address]


def _is_public(address: Address) -> bool:
    if any(address.version == net.version and address in net for net in _SPECIAL):
        return False
    return address.is_global and not address.is_multicast and not address.is_reserved
