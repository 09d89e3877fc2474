"""`manage.py new_secrets_key`: a site key for HERMES_SITE_SECRETS_KEY."""

from __future__ import annotations

from typing import Any

from cryptography.fernet import Fernet
from django.core.management.base import BaseCommand


class Command(BaseCommand):
    """Print a new key and keep nothing of it."""

    help = "Print a new key for HERMES_SITE_SECRETS_KEY. To replace one, put the new key in front: NEW,OLD."
    requires_system_checks: list[str] = []

    def handle(self, *_args: str, **_options: Any) -> None:
        """Print it."""
        self.stdout.write(Fernet.generate_key().decode())
