"""Writes the words of rows that can't be found by search yet, and says how many there were.

The site does this by itself, for new rows as they are stored and for older ones in a migration. The command is for what
came in another way, such as rows that were restored without their words.
"""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from sessions_app.services.row_words import BATCH_ROWS, index_missing_rows


class Command(BaseCommand):
    help = "Index stored rows that the search does not know yet. Can be interrupted and run again."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--after", type=int, default=0, metavar="ID", help="begin behind the row with this id (default: all rows)"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        rows, last_id = 0, options["after"]
        for batch in index_missing_rows(options["after"]):
            rows, last_id = rows + batch.rows, batch.last_id
            if rows % (20 * BATCH_ROWS) == 0:
                self.stdout.write(f"{rows:,} rows indexed, up to row id {last_id}")
        self.stdout.write(f"{rows:,} rows indexed." if rows else "Every row is indexed already.")
