"""`manage.py revoke_token`: end a token of the API."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from sessions_app.models import Project
from sessions_app.origins import command_origin
from sessions_app.services.tokens import revoke_token


class Command(BaseCommand):
    """Revoke a token; whoever uses it gets 401 from then on."""

    help = "End an API token for good."

    def add_arguments(self, parser: CommandParser) -> None:
        """The arguments of the command."""
        parser.add_argument("project", help="the project's slug, as in its address")
        parser.add_argument("name", help="the token's name")

    def handle(self, *_args: str, **options: Any) -> None:
        """Revoke it, or say that there is none."""
        project = Project.objects.filter(slug=options["project"]).first()
        if project is None or not revoke_token(project, options["name"], origin=command_origin("revoke_token")):
            raise CommandError(f"{options['project']} has no token in force named {options['name']!r}")
        self.stdout.write("Revoked.")
