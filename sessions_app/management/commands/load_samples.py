"""`manage.py load_samples`: the sample project with its sessions, made if it is not there."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compaction.telemetry import LOGGER_NAME
from sessions_app.sample_project import load_samples
from sessions_app.samples.checkout import Checkout
from sessions_app.services import ProjectShut
from sessions_app.token_counting import site_counter


class Command(BaseCommand):
    """Load the samples; running it again adds only what is missing."""

    help = "Load the sample sessions into the project Samples. Running it again adds only what is missing."

    def handle(self, *_args: str, **_options: Any) -> None:
        """Load, and say line by line what is done."""
        try:
            with silence(logging.getLogger(LOGGER_NAME)):
                for line in load_samples(Checkout(), site_counter()):
                    self.stdout.write(line)
                    self.stdout.flush()
        except ProjectShut as error:
            raise CommandError(str(error)) from error


@contextmanager
def silence(logger: logging.Logger) -> Iterator[None]:
    """Passes of the samples are no news of this site: its log, and the report on it, tell of real ones only."""
    level = logger.level
    logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        logger.setLevel(level)
