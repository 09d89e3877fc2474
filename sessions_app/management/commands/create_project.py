"""`manage.py create_project`: a project, with its owner."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError

from sessions_app.origins import command_origin
from sessions_app.people_forms import ProjectForm
from sessions_app.services import create_project
from sessions_app.services.owner import ensure_local_owner


class Command(BaseCommand):
    """Make a project."""

    help = "Make a project. It belongs to the local owner unless somebody else is named."

    def add_arguments(self, parser: CommandParser) -> None:
        """The arguments of the command."""
        parser.add_argument("slug", help="the last part of its address: small letters, digits, dashes")
        parser.add_argument("--name", help="what it is called (default: its slug)")
        parser.add_argument("--owner", metavar="USER", help="the name of its first owner")

    def handle(self, *_args: str, **options: Any) -> None:
        """Make it, or say what is wrong."""
        form = ProjectForm({"slug": options["slug"], "name": options["name"] or options["slug"]})
        if not form.is_valid():
            raise CommandError("; ".join(f"{name}: {' '.join(map(str, words))}" for name, words in form.errors.items()))
        owner = User.objects.filter(username=options["owner"]).first() if options["owner"] else ensure_local_owner()
        if owner is None:
            raise CommandError(f"there is nobody named {options['owner']!r}")
        slug, name = form.cleaned_data["slug"], form.cleaned_data["name"]
        try:
            create_project(slug, name, owner, origin=command_origin("create_project"))
        except IntegrityError as error:
            raise CommandError(f"there is a project {slug!r} already") from error
        self.stdout.write(f"{slug} belongs to {owner.get_username()}.")
