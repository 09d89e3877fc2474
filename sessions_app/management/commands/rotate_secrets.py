"""`manage.py rotate_secrets`: encrypt all stored keys anew under the first site key."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError

from sessions_app.secret_box import SecretsUnavailable
from sessions_app.services.secrets import rotate_secrets


class Command(BaseCommand):
    """Replace the site key: put the new one in front, run this, then take the old one away."""

    help = "Encrypt all stored keys anew under the first key of HERMES_SITE_SECRETS_KEY."

    def handle(self, *_args: str, **_options: Any) -> None:
        """Do it, and say which keys no site key can read."""
        try:
            done = rotate_secrets()
        except SecretsUnavailable as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{done.renewed} stored keys are under the first key now.")
        if done.unreadable:
            raise CommandError(f"no key reads these, so store them again: {', '.join(done.unreadable)}")
