"""`manage.py load_samples`: the sample project with its sessions, made if it is not there."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from sessions_app.sample_project import load_samples
from sessions_app.samples.checkout import Checkout
from sessions_app.token_counting import site_counter


class Command(BaseCommand):
    """Load the samples; running it again adds only what is missing."""

    help = "Load the sample sessions into the project Samples. Running it again adds only what is missing."

    def handle(self, *_args: str, **_options: Any) -> None:
        """Load, and say line by line what is done."""
        for line in load_samples(Checkout(), site_counter()):
            self.stdout.write(line)
            self.stdout.flush()
