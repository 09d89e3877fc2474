"""`manage.py login_link`: another one-time link, for the local owner or for somebody named."""

from argparse import ArgumentTypeError
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hermes_site.login.links import make_link, make_owner_link
from hermes_site.serve.address import running_address

EXAMPLE_ADDRESS = "http://127.0.0.1:8000"
NOT_KNOWN = f"no site is known to run here: start one (make run), or say where it is, such as --url {EXAMPLE_ADDRESS}"


class Command(BaseCommand):
    help = "Print a link that logs somebody in, once: the local owner, or whoever is named."

    def add_arguments(self, parser: CommandParser) -> None:
        where = "where the site is (default: where `serve` runs in this checkout)"
        parser.add_argument("--user", metavar="NAME", help="whom it lets in (default: the local owner)")
        parser.add_argument("--url", type=site_address, help=where)

    def handle(self, *, url: str | None, user: str | None, **options: Any) -> None:
        person = None if user is None else person_named(user)
        where = url or running_address(settings.VAR_DIR)
        if where is None:
            # Whatever listens at a guessed address would be told the secret.
            raise CommandError(NOT_KNOWN)
        self.stdout.write(make_owner_link(where).url if person is None else make_link(person, where).url)


def person_named(name: str) -> User:
    """The active account of that name. Raises CommandError."""
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise CommandError(f"there is nobody named {name!r} who may log in")
    return found


def site_address(text: str) -> str:
    """An address as `serve` prints it, without the slash at its end."""
    if not is_site_address(text):
        raise ArgumentTypeError(f"{text!r} is not the address of a site, such as {EXAMPLE_ADDRESS}")
    return text.rstrip("/")


def is_site_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        # Asking for the port is what checks it.
        has_host = bool(parts.hostname) and (parts.port is None or parts.port > 0)
    except ValueError:
        return False
    is_plain = text.isprintable() and " " not in text and not (parts.query or parts.fragment or parts.username)
    return parts.scheme in ("http", "https") and has_host and is_plain
