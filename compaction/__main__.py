"""`python -m compaction`: the engine on transcript files, without a site and without a database.

    replay   feed a session turn by turn through a policy and print every decision
    view     the messages a model would be sent now, and what had to be repaired
    prune    the tool results that a prune would shorten
    tokens   what the rows cost, by role
    policy   the settings in effect, with the threshold and where it comes from
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections.abc import Callable, Sequence
from pathlib import Path

from compaction.command_arguments import (
    FedSession,
    offline_summarizer,
    policy_named,
    read_settings,
    session_of_file,
)
from compaction.command_reports import policy_report, prune_report, token_report, view_lines, view_report
from compaction.errors import InvalidInput
from compaction.model_view import Profile
from compaction.pass_context import make_context
from compaction.replay import Replay
from compaction.replay_output import result_json, result_text, step_json, step_text, threshold_text
from compaction.threshold import Window, WindowSource
from compaction.tokens import TokenCounter, counter_named
from compaction.vocabulary import VocabularyMissing

BAD_INPUT_STATUS = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command. Returns the exit status: 0, or 2 with one line on stderr for bad input."""
    options = _parser().parse_args(arguments)
    run: Callable[[Namespace], None] = options.run
    try:
        run(options)
    except (InvalidInput, VocabularyMissing) as error:
        print(" ".join(str(error).split()), file=sys.stderr)
        return BAD_INPUT_STATUS
    except BrokenPipeError:
        sys.stderr.close()
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser("python -m compaction", description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for name, run, adders in (
        ("replay", _replay, (_add_file, _add_settings, _add_replay)),
        ("view", _view, (_add_file, _add_view)),
        ("prune", _prune, (_add_file, _add_settings)),
        ("tokens", _tokens, (_add_file,)),
        ("policy", _policy, (_add_settings, _add_model)),
    ):
        command = commands.add_parser(name, help=(run.__doc__ or "").splitlines()[0])
        command.set_defaults(run=run)
        for add in adders:
            add(command)
    return parser


def _add_file(parser: ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE", help="a transcript in any format that can be read")
    parser.add_argument("--session", type=int, metavar="N", help="which session of the file, counted from 1")
    parser.add_argument("--tokens", default="tiktoken", help="tiktoken or rough")


def _add_settings(parser: ArgumentParser) -> None:
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE", dest="assignments")
    parser.add_argument("--config", metavar="FILE.yaml", help="settings in the shape of a Hermes config.yaml")
    parser.add_argument("--window", type=int, metavar="N", help="context window in tokens")


def _add_replay(parser: ArgumentParser) -> None:
    parser.add_argument("--policy", default="micro", help="none, micro, batch, micro+batch, prune or window")
    parser.add_argument("--summarizer", default="extractive", help="extractive or scripted:FILE")
    parser.add_argument("--json", action="store_true", dest="as_json", help="one JSON object a line, nothing else")


def _add_view(parser: ArgumentParser) -> None:
    parser.add_argument("--profile", default="strict", choices=[profile.value for profile in Profile])
    parser.add_argument("--json", action="store_true", dest="as_json", help="one provider message a line")


def _add_model(parser: ArgumentParser) -> None:
    parser.add_argument("--model", default="", help="name of the main model, for ratios by model")


def _replay(options: Namespace) -> None:
    """Replay a session under a policy."""
    counter, session = _read(options)
    summarizer = offline_summarizer(options.summarizer, counter)
    reading = read_settings(options.config, options.assignments)
    for problem in reading.problems:
        print(f"{problem.key}: {problem.message}", file=sys.stderr)
    context = make_context(
        reading.policy,
        _window(options.window, session),
        counter,
        fixed_overhead_tokens=session.fixed_overhead_tokens,
        main_model=session.model or "",
        aux_model=summarizer.model,
    )
    if context.threshold_tokens is None:
        raise InvalidInput("the window is not known; give it", "--window N")
    replay = Replay(session.rows, policy_named(options.policy), context, summarizer)
    if not options.as_json:
        print(threshold_text(context))
    for step in replay.steps():
        print(step_json(step) if options.as_json else step_text(step))
    print(result_json(replay.result()) if options.as_json else result_text(replay.result()))


def _view(options: Namespace) -> None:
    """Show the model view of a session."""
    _counter, session = _read(options)
    profile = Profile(options.profile)
    for line in view_lines(session.rows, profile) if options.as_json else view_report(session.rows, profile):
        print(line)


def _prune(options: Namespace) -> None:
    """Show what a prune would shorten."""
    counter, session = _read(options)
    reading = read_settings(options.config, options.assignments)
    context = make_context(reading.policy, _window(options.window, session), counter)
    for line in prune_report(session.rows, context):
        print(line)


def _tokens(options: Namespace) -> None:
    """Show what the rows of a session cost."""
    counter, session = _read(options)
    for line in token_report(session.rows, session.fixed_overhead_tokens, counter.name):
        print(line)


def _policy(options: Namespace) -> None:
    """Show the settings in effect."""
    reading = read_settings(options.config, options.assignments)
    for line in policy_report(reading, _window(options.window), options.model):
        print(line)


def _read(options: Namespace) -> tuple[TokenCounter, FedSession]:
    counter = counter_named(options.tokens)
    session = session_of_file(Path(options.file), options.session, counter)
    if session.notice:
        print(session.notice, file=sys.stderr)
    return counter, session


def _window(tokens: int | None, session: FedSession | None = None) -> Window:
    """The window that was given, else what the session's source states, else unknown."""
    if tokens is not None and tokens < 1:
        raise InvalidInput("must be at least 1", "--window")
    tokens = tokens or (session.window_tokens if session else None)
    return Window() if tokens is None else Window(tokens, source=WindowSource.SETTING)


if __name__ == "__main__":
    sys.exit(main())
