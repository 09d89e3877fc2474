"""From where something is done, for the audit log and for the limits on logging in."""

from __future__ import annotations

from ipaddress import ip_address

from django.http import HttpRequest

from sessions_app.models import ApiToken, AuditSource
from sessions_app.services.audit import AuditOrigin


def client_address(request: HttpRequest) -> str | None:
    """The address the request came from, as the server tells it; None when it tells none, as over a Unix socket.

    Behind a proxy the server puts the client's address in its place, for the proxies it was told to trust.
    """
    try:
        address = ip_address(str(request.META.get("REMOTE_ADDR", "")).partition("%")[0])
    except ValueError:
        return None
    # A socket for both families tells IPv4 addresses inside of IPv6 ones.
    return str(getattr(address, "ipv4_mapped", None) or address)


def page_origin(request: HttpRequest) -> AuditOrigin:
    """A deed on a page, by whoever is logged in."""
    user = request.user if request.user.is_authenticated else None
    return AuditOrigin(AuditSource.PAGE, user, address=client_address(request))


def token_origin(request: HttpRequest, token: ApiToken) -> AuditOrigin:
    """A deed of a program, by the token it sent."""
    return AuditOrigin(AuditSource.TOKEN, name=token.name, address=client_address(request))


def command_origin(name: str) -> AuditOrigin:
    """A deed of whoever may run commands on the machine."""
    return AuditOrigin(AuditSource.COMMAND, name=name)
