"""The listening socket, opened before anything else so that a taken port is known at once."""

import errno
import ipaddress
import os
import socket
from dataclasses import dataclass

BACKLOG = 2048


class PortUnavailable(Exception):
    """Its text is one sentence for the operator."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Where the site listens, and the address by which a browser on this machine reaches it."""

    host: str
    port: int

    @property
    def url(self) -> str:
        host = self.host
        if is_unspecified(host):
            host = "localhost"
        return f"http://{f'[{host}]' if ':' in host else host}:{self.port}"


def is_unspecified(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_unspecified
    except ValueError:
        return False


def listen(host: str, port: int) -> tuple[socket.socket, Endpoint]:
    """Open the port; port 0 takes any free one. Raises PortUnavailable."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except socket.gaierror as error:
        raise PortUnavailable(f"The host {host!r} is unknown on this machine ({error.strerror}).") from error
    listener = socket.socket(family, kind, protocol)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind(address)
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise PortUnavailable(refusal(host, port, error)) from error
    listener.set_inheritable(True)
    return listener, Endpoint(host, listener.getsockname()[1])


def refusal(host: str, port: int, error: OSError) -> str:
    if error.errno == errno.EADDRINUSE:
        remedy = "stop that, or choose another with --port N (make run PORT=N)"
        return f"Port {port} on {host} is taken by another program: {remedy}."
    if error.errno == errno.EACCES:
        return f"Port {port} needs more rights than this user has: choose one above 1023 with --port."
    return f"Can't listen on {host} port {port}: {os.strerror(error.errno or 0)}."
