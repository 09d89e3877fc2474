"""`manage.py login_link`: another one-time link for the local owner."""

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from hermes_site.login.links import make_owner_link


class Command(BaseCommand):
    help = "Print a link that logs the local owner in, once."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--url", default="http://127.0.0.1:8000", help="where the site is (default: %(default)s)")

    def handle(self, *, url: str, **options: Any) -> None:
        self.stdout.write(make_owner_link(url.rstrip("/")).url)
