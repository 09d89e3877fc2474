"""`manage.py create_user`: an account, without an invitation.

The password is asked for or read from standard input, never taken from the command line, where every process of the
machine could read it. Without one, a one-time link lets the person in.
"""

from __future__ import annotations

import sys
from getpass import getpass
from typing import Any

from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import IntegrityError, transaction

from sessions_app.models import MemberRole, Project
from sessions_app.origins import command_origin
from sessions_app.people_forms import AccountNameForm
from sessions_app.services import ProjectShut, add_member, find_open_project
from sessions_app.services.accounts import create_account


class Command(BaseCommand):
    """Make an account."""

    help = "Make an account, and make its person a member of a project if one is named."

    def add_arguments(self, parser: CommandParser) -> None:
        """The arguments of the command."""
        parser.add_argument("name", help="the name to log in with")
        parser.add_argument("--project", metavar="SLUG", help="a project to make them a member of")
        parser.add_argument("--role", choices=MemberRole.values, default=MemberRole.VIEWER, help="their role in it")
        parser.add_argument("--administrator", action="store_true", help="they look after the site and its accounts")
        parser.add_argument("--password-stdin", action="store_true", help="read the password from standard input")

    def handle(self, *_args: str, **options: Any) -> None:
        """Make it, or say what is wrong; then nothing was made."""
        form = AccountNameForm({"username": options["name"]})
        if not form.is_valid():
            raise CommandError(" ".join(map(str, form.errors["username"])))
        name, project = form.cleaned_data["username"], self._project(options["project"])
        password = self._password(name, from_stdin=options["password_stdin"])
        origin = command_origin("create_user")
        try:
            with transaction.atomic():
                user = create_account(origin, name, password, is_administrator=options["administrator"])
                if project is not None:
                    add_member(project, user, MemberRole(options["role"]), origin=origin)
        except IntegrityError as error:
            raise CommandError(f"there is somebody named {name!r} already") from error
        except ProjectShut as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{name} can log in." if password else f"{name} has no password yet: see login_link --user.")

    def _project(self, slug: str | None) -> Project | None:
        if slug is None:
            return None
        try:
            found = find_open_project(slug)
        except ProjectShut as error:
            raise CommandError(str(error)) from error
        if found is None:
            raise CommandError(f"there is no project {slug!r}")
        return found

    def _password(self, name: str, *, from_stdin: bool) -> str | None:
        """The password, held against the site's rules; None when none was given."""
        if from_stdin:
            password = sys.stdin.readline().rstrip("\n")
        elif sys.stdin.isatty():
            password = getpass("Password (empty for none): ")
        else:
            password = ""
        if not password:
            return None
        try:
            validate_password(password, User(username=name))
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        return password
