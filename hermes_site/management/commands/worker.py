"""`manage.py worker`: one worker on its own, for a site whose parts run under a supervisor of the operator's."""

import sys
from typing import Any

from django.core.management.base import BaseCommand

from hermes_site.serve.worker import run_worker


class Command(BaseCommand):
    help = "Take jobs from the queue until stopped. Ends with code 1 when the database is lost, to be started again."

    def handle(self, **options: Any) -> None:
        sys.exit(run_worker())
