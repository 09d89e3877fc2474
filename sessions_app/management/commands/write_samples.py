"""`manage.py write_samples`: write the sample sessions as files, as their programs would have written them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from compaction.tokens import RoughCounter, TiktokenCounter
from compaction.vocabulary import VocabularyMissing
from sessions_app.samples.catalogue import LONG, SampleFile, sample_files, story_named
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.hermes_export import export_line
from sessions_app.samples.many_rows import session_of_rows


class Command(BaseCommand):
    """Write the samples, or one session of any number of rows. Needs no database."""

    help = "Write the sample sessions, made from this checkout's own files, into a folder."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of the command."""
        parser.add_argument("folder", type=Path, metavar="DIR", help="where to write; made if it is not there")
        parser.add_argument("--rows", type=int, metavar="N", help="instead: one session of N rows, for measuring")

    def handle(self, *_args: str, folder: Path, rows: int | None, **_options: Any) -> None:
        """Write the files and say what was written."""
        checkout = Checkout()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for file in files_to_write(checkout, rows):
                (folder / file.name).write_text(file.text, encoding="utf-8")
                self.stdout.write(f"{folder / file.name}: {len(file.text.encode()):,} bytes")
        except (OSError, ValueError, VocabularyMissing) as error:
            raise CommandError(str(error), returncode=2) from error
        for place in sorted(checkout.missing):
            self.stderr.write(f"the stories name {place}, which is not in this checkout; the nearest stands in")


def files_to_write(checkout: Checkout, rows: int | None) -> Iterator[SampleFile]:
    if rows is None:
        yield from sample_files(checkout, TiktokenCounter())
        return
    session = session_of_rows(story_named(LONG), rows, checkout, RoughCounter())
    yield SampleFile(f"{rows}_rows.jsonl", export_line(session) + "\n")
