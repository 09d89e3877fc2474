#!/usr/bin/env python
"""The site's command line: `manage.py COMMAND`, each command documented by `manage.py help COMMAND`."""

import os
import signal
import sys
from types import FrameType

BAD_CONFIGURATION_STATUS = 2


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    signal.signal(signal.SIGTERM, end_orderly)
    try:
        run_command()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def run_command() -> None:
    # Loading Django takes long enough for a Ctrl-C, so it happens here, where that is caught.
    from django.core.management import execute_from_command_line

    from hermes_site.postgres.errors import ServerUnavailable

    load_settings()
    try:
        execute_from_command_line(sys.argv)
    except ServerUnavailable as error:
        sys.exit(f"error: {error}")


def load_settings() -> None:
    """Refuse a configuration that means nothing, in one line. The same error of later code is a fault of ours."""
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured

    try:
        settings.INSTALLED_APPS  # noqa: B018 - reading any setting loads them all
    except ImproperlyConfigured as error:
        print("error:", " ".join(str(error).split()), file=sys.stderr)
        sys.exit(BAD_CONFIGURATION_STATUS)


def end_orderly(number: int, frame: FrameType | None) -> None:
    """Python dies of SIGTERM without a word; leaving like this lets go of the database first."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
