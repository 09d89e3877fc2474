"""Where a request may go, and which key may go with it.

An endpoint's address is something people type in, so it could name a machine that only this server can reach. Every
address is checked when the connection is made, on the numbers that the name resolved to, and the connection goes to
exactly these numbers: a name that resolves differently a second later changes nothing.

    public        allowed, unless there is an allow-list and the host is not on it
    private       only when listed, or when private networks are allowed
    loopback      only when allowed
    all others    never: link-local, metadata services, multicast, reserved and unspecified addresses
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fnmatch import fnmatchcase
from ipaddress import IPv4Address, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Final

from compaction.errors import InvalidInput
from compaction.wording import worded

Address = IPv4Address | IPv6Address

# Addresses at which clouds hand out credentials to whoever asks from inside.
METADATA_ADDRESSES: Final = frozenset(
    ip_address(text)
    for text in ("169.254.169.254", "169.254.170.2", "100.100.100.200", "168.63.129.16", "192.0.0.192", "fd00:ec2::254")
)
METADATA_HOSTS: Final = frozenset(
    {"metadata", "metadata.google.internal", "instance-data", "instance-data.ec2.internal"}
)
# Keys of well-known providers go to these hosts, unless a rule names another host for them.
HOME_OF_KEY: Final = (
    ("OPENAI_API_KEY", "api.openai.com"),
    ("ANTHROPIC_API_KEY", "api.anthropic.com"),
    ("OPENROUTER_API_KEY", "openrouter.ai"),
)
_HOST_RULE: Final = re.compile(r"[\w*-]+(\.[\w*-]+)*\.?", re.ASCII)
_KEY_RULE: Final = re.compile(r"[\w*?]+(@[\w*.:-]+)?", re.ASCII)
_NAT64: Final = IPv6Network("64:ff9b::/96")
_THIS_NETWORK: Final = ip_network("0.0.0.0/8")


class Reach(StrEnum):
    """What kind of place an address is."""

    PUBLIC = "public"
    PRIVATE = "private"
    LOOPBACK = "loopback"
    FORBIDDEN = "forbidden"


@dataclass(frozen=True, slots=True)
class OutboundRules:
    """What an operator allows.

    allowed: hosts (`api.example.com`, `*.example.com`), addresses and networks (`10.1.0.0/16`); empty allows every
    public host. keys: names of environment variables that may be sent as keys, as patterns, with `@HOST` for one host.
    """

    allowed: tuple[str, ...] = ()
    allow_loopback: bool = False
    allow_private: bool = False
    keys: tuple[str, ...] = ("*_API_KEY", "*_API_TOKEN")

    def __post_init__(self) -> None:
        """Refuse entries that could never match. Raises InvalidInput naming the entry."""
        for entry in self.allowed:
            if not _is_host_or_network(entry):
                raise InvalidInput("not a host, an address or a network; write no scheme, port or path", entry)
        for rule in self.keys:
            if not _KEY_RULE.fullmatch(rule):
                raise InvalidInput("not the name of an environment variable, or NAME@HOST", rule)

    def refusal(self, host: str, addresses: Sequence[str]) -> str:
        """Why `host`, which resolved to `addresses`, can't be contacted; empty when it can. One bad address is enough:
        a name that mixes good and bad ones is a trick."""
        name = _plain_host(host)
        if name in METADATA_HOSTS:
            return worded("{} is a metadata service, which is never contacted", name)
        for text in addresses:
            if refusal := self._refusal_of(name, ip_address(text)):
                return refusal
        return "" if addresses else worded("{} has no address", name)

    def _refusal_of(self, name: str, address: Address) -> str:
        shown = f"{name} ({address})" if name != str(address) else name
        match reach_of(address):
            case Reach.FORBIDDEN:
                return worded("{} is a link-local, metadata or reserved address, which is never contacted", shown)
            case Reach.LOOPBACK:
                return "" if self.allow_loopback else worded("{} is this machine, and loopback is not allowed", shown)
            case Reach.PRIVATE if not self.allow_private and not self._lists(name, address):
                return worded("{} is in a private network, and neither listed nor allowed", shown)
            case Reach.PUBLIC if self.allowed and not self._lists(name, address):
                return worded("{} is not on the list of allowed hosts", shown)
        return ""

    def _lists(self, name: str, address: Address) -> bool:
        return any(_matches(entry, name, address) for entry in self.allowed)

    def key_refusal(self, variable: str, host: str) -> str:
        """Why the key in the environment variable `variable` can't be sent to `host`; empty when it can."""
        name = _plain_host(host)
        home = dict(HOME_OF_KEY).get(variable)
        for rule in self.keys:
            pattern, at, wanted = rule.partition("@")
            is_right_host = fnmatchcase(name, wanted.lower()) if at else home is None or name == home
            if fnmatchcase(variable, pattern) and is_right_host:
                return ""
        return worded("the key in {} may not be sent to {}", variable, name)


def reach_of(address: Address) -> Reach:
    """What kind of place `address` is; an IPv4 address inside an IPv6 one counts as what it is."""
    if isinstance(address, IPv6Address):
        if address.ipv4_mapped is not None:
            return reach_of(address.ipv4_mapped)
        if address == IPv6Address("::1"):
            return Reach.LOOPBACK
        if (inside := _embedded(address)) is not None:
            return Reach.PUBLIC if reach_of(inside) is Reach.PUBLIC else Reach.FORBIDDEN
    if address in METADATA_ADDRESSES or (isinstance(address, IPv4Address) and address in _THIS_NETWORK):
        return Reach.FORBIDDEN
    if address.is_loopback:
        return Reach.LOOPBACK
    if address.is_link_local or address.is_multicast or address.is_unspecified or address.is_reserved:
        return Reach.FORBIDDEN
    is_site_local = isinstance(address, IPv6Address) and address.is_site_local
    return Reach.PUBLIC if address.is_global and not is_site_local else Reach.PRIVATE


def _embedded(address: IPv6Address) -> IPv4Address | None:
    """The IPv4 address that a translating or tunnelling network would contact in the end."""
    if address in _NAT64:
        return IPv4Address(int(address) & 0xFFFFFFFF)
    if address.sixtofour is not None:
        return address.sixtofour
    return address.teredo[1] if address.teredo is not None else None


def _is_host_or_network(entry: str) -> bool:
    try:
        ip_network(_plain_host(entry), strict=False)
    except ValueError:
        return _HOST_RULE.fullmatch(entry) is not None
    return True


def _plain_host(host: str) -> str:
    return host.strip("[]").rstrip(".").lower()


def _matches(entry: str, name: str, address: Address) -> bool:
    wanted = _plain_host(entry)
    try:
        network = ip_network(wanted, strict=False)
    except ValueError:
        return fnmatchcase(name, wanted)
    return address.version == network.version and address in network
