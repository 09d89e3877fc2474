"""`manage.py login_link`: another one-time link, for the local owner or for somebody named."""

from argparse import ArgumentTypeError
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser

from hermes_site.login.links import make_link, make_owner_link
from hermes_site.serve.address import running_address

USUAL_ADDRESS = "http://127.0.0.1:8000"


class Command(BaseCommand):
    help = "Print a link that logs somebody in, once: the local owner, or whoever is named."

    def add_arguments(self, parser: CommandParser) -> None:
        where = f"where the site is (default: where `serve` runs, else {USUAL_ADDRESS})"
        parser.add_argument("--user", metavar="NAME", help="whom it lets in (default: the local owner)")
        parser.add_argument("--url", type=site_address, help=where)

    def handle(self, *, url: str | None, user: str | None, **options: Any) -> None:
        where = url or running_address(settings.VAR_DIR) or USUAL_ADDRESS
        self.stdout.write(make_owner_link(where).url if user is None else make_link(person_named(user), where).url)


def person_named(name: str) -> User:
    """The active account of that name. Raises CommandError."""
    found = User.objects.filter(username=name, is_active=True).first()
    if found is None:
        raise CommandError(f"there is nobody named {name!r} who may log in")
    return found


def site_address(text: str) -> str:
    """An address as `serve` prints it, without the slash at its end."""
    if not is_site_address(text):
        raise ArgumentTypeError(f"{text!r} is not the address of a site, such as {USUAL_ADDRESS}")
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
