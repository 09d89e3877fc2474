#!/usr/bin/env python
"""The site's command line: `manage.py COMMAND`, each command documented by `manage.py help COMMAND`."""

import os
import signal
import sys
from types import FrameType


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    signal.signal(signal.SIGTERM, end_orderly)
    from django.core.management import execute_from_command_line

    from hermes_site.postgres.errors import ServerUnavailable

    try:
        execute_from_command_line(sys.argv)
    except ServerUnavailable as error:
        sys.exit(f"error: {error}")
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)


def end_orderly(number: int, frame: FrameType | None) -> None:
    """Python dies of SIGTERM without a word; leaving like this lets go of the database first."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
