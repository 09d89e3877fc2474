"""`manage.py replay`: feed a session turn by turn through the engine and print every decision."""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from pathlib import Path
from typing import Any, NoReturn

from django.core.management.base import BaseCommand, CommandError

from compaction.command_arguments import FedSession, policy_named, read_settings, session_of_file
from compaction.errors import InvalidInput
from compaction.pass_context import make_context
from compaction.passes import PassContext
from compaction.policy_reading import PolicyReading
from compaction.replay import Replay
from compaction.replay_output import result_json, result_text, step_json, step_text, threshold_text
from compaction.tokens import TokenCounter, counter_named
from compaction.vocabulary import VocabularyMissing
from sessions_app.summarizers import summarizer_for_command
from sessions_app.windows import resolve_window

BAD_INPUT_STATUS = 2


class Command(BaseCommand):
    """Replay a stored session, or a transcript file without any database, under a policy."""

    help = "Replay a session through the compaction engine, turn by turn, and print every decision."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        """The arguments of the command; the names are an interface that scripts rely on."""
        parser.add_argument("source", nargs="?", metavar="SESSION", help="id of a stored session")
        parser.add_argument("--file", metavar="PATH", help="a transcript file instead; needs no database")
        parser.add_argument("--session", type=int, metavar="N", help="which session of the file, counted from 1")
        parser.add_argument("--policy", default="micro", help="none, micro, batch, micro+batch, prune or window")
        parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments")
        parser.add_argument("--config", metavar="FILE.yaml", help="settings in the shape of a Hermes config.yaml")
        parser.add_argument(
            "--summarizer", default="extractive", help="extractive, scripted:FILE or http (asks auxiliary.compression)"
        )
        parser.add_argument("--window", type=int, metavar="N", help="context window in tokens")
        parser.add_argument("--tokens", default="tiktoken", help="tiktoken or rough")
        parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object a line, nothing else")

    def handle(self, *_args: str, **options: Any) -> None:
        """Run the replay; bad input ends with status 2 and one line on stderr."""
        try:
            self._run(options)
        except (InvalidInput, VocabularyMissing) as error:
            fail(str(error))
        except BrokenPipeError:
            sys.stderr.close()

    def _run(self, options: dict[str, Any]) -> None:
        policy = policy_named(options["policy"])
        counter = counter_named(options["tokens"])
        session = self._session(options, counter)
        reading = read_settings(options["config"], options["assignments"], session.policy)
        summarizer = summarizer_for_command(options["summarizer"], counter, reading.policy)
        self._say(reading, session)
        context = _context(reading, session, options["window"], counter, summarizer.model)
        if not options["as_json"]:
            self.stdout.write(threshold_text(context))
        self._print(Replay(session.rows, policy, context, summarizer), options["as_json"])

    def _session(self, options: dict[str, Any], counter: TokenCounter) -> FedSession:
        if bool(options["source"]) == bool(options["file"]):
            raise InvalidInput("give either the id of a stored session or --file PATH")
        if options["file"]:
            return session_of_file(Path(options["file"]), options["session"], counter)
        from sessions_app.replay_sources import session_of_store

        return session_of_store(options["source"], counter)

    def _say(self, reading: PolicyReading, session: FedSession) -> None:
        for problem in reading.problems:
            self.stderr.write(f"{problem.key}: {problem.message}")
        if session.notice:
            self.stderr.write(session.notice)

    def _print(self, replay: Replay, as_json: bool) -> None:
        for step in replay.steps():
            self.stdout.write(step_json(step) if as_json else step_text(step))
        result = replay.result()
        self.stdout.write(result_json(result) if as_json else result_text(result))


def _context(
    reading: PolicyReading, session: FedSession, window_tokens: int | None, counter: TokenCounter, aux_model: str
) -> PassContext:
    if window_tokens is not None and window_tokens < 1:
        raise InvalidInput("must be at least 1", "--window")
    window = resolve_window(window_tokens or session.window_tokens, session.model)
    if window.context_tokens is None:
        raise InvalidInput(f"the window of model {session.model or 'unknown'} is not known; give it", "--window N")
    return make_context(
        reading.policy,
        window,
        counter,
        fixed_overhead_tokens=session.fixed_overhead_tokens,
        main_model=session.model or "",
        aux_model=aux_model,
    )


def fail(message: str) -> NoReturn:
    """End the command with one line on stderr and the status for bad input."""
    raise CommandError(" ".join(message.split()), returncode=BAD_INPUT_STATUS)
