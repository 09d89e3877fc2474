#!/usr/bin/env python
"""The site's command line: `manage.py COMMAND`, each command documented by `manage.py help COMMAND`."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
