"""`manage.py create_token`: a token for a program that uses the API."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from sessions_app import clock
from sessions_app.models import Project
from sessions_app.origins import command_origin
from sessions_app.services import ProjectShut, find_open_project
from sessions_app.services.tokens import issue_token

MOST_DAYS = 3_650


class Command(BaseCommand):
    """Make a token and print its secret, which is shown this once."""

    help = "Make an API token for a project and print its secret. It is shown this once and can't be looked up again."

    def add_arguments(self, parser: CommandParser) -> None:
        """The arguments of the command."""
        parser.add_argument("project", help="the project's slug, as in its address")
        parser.add_argument("--name", required=True, help="what the token is for; once per project")
        parser.add_argument("--days", type=int, help="for how many days it works (default: until it is revoked)")
        parser.add_argument("--write", action="store_true", help="the token may also change things")

    def handle(self, *_args: str, **options: Any) -> None:
        """Make it; the secret alone goes to stdout, so that a script can take it."""
        project = _project(options["project"])
        name = options["name"].strip()
        if not 0 < len(name) <= 100:
            raise CommandError("--name: expected 1 to 100 characters")
        days = options["days"]
        if days is not None and not 1 <= days <= MOST_DAYS:
            raise CommandError(f"--days: expected a number from 1 to {MOST_DAYS}")
        expires_at = None if days is None else clock.now() + timedelta(days=days)
        origin = command_origin("create_token")
        try:
            issued = issue_token(project, name, may_write=options["write"], expires_at=expires_at, origin=origin)
        except IntegrityError as error:
            raise CommandError(f"the project has a token named {name!r} already") from error
        except ProjectShut as error:
            raise CommandError(str(error)) from error
        self.stderr.write(f"A {issued.token.scope} token for {project.slug}. Keep it: it is shown this once.")
        self.stdout.write(issued.secret)


def _project(slug: str) -> Project:
    try:
        found = find_open_project(slug)
    except ProjectShut as error:
        raise CommandError(str(error)) from error
    if found is None:
        raise CommandError(f"there is no project {slug!r}; this makes one: manage.py create_project {slug}")
    return found
