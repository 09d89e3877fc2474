"""What a command line was asked for, read and checked before anything runs.

Serves `manage.py replay` and `python -m compaction`. Every mistake is an `InvalidInput` with one clear line; the
command turns it into exit status 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Final

from compaction.config_yaml import read_config_yaml, read_policy_yaml
from compaction.errors import InvalidInput
from compaction.extractive import ExtractiveSummarizer
from compaction.feed import rows_to_feed
from compaction.formats import open_source
from compaction.formats.events import ImportReport, SourceSession
from compaction.messages import Row
from compaction.policy import CompactionPolicy
from compaction.policy_reading import PolicyReading, read_layers
from compaction.replay import ReplayPolicy
from compaction.scripted import read_script
from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter

DEFAULT_POLICY: Final = CompactionPolicy()


@dataclass(frozen=True, slots=True)
class FedSession:
    """A session as a replay takes it. window_tokens, model: as its source states them, None when it doesn't.

    policy: what it is replayed under unless something else is asked for. notice: a line for people.
    """

    rows: tuple[Row, ...]
    model: str | None
    window_tokens: int | None
    fixed_overhead_tokens: int
    notice: str = ""
    policy: CompactionPolicy = DEFAULT_POLICY


def policy_named(name: str) -> ReplayPolicy:
    """The replay policy called `name`. Raises InvalidInput for unknown ones."""
    try:
        return ReplayPolicy(name)
    except ValueError:
        names = ", ".join(ReplayPolicy)
        raise InvalidInput(f"unknown policy {name!r}, expected one of {names}", "--policy") from None


def offline_summarizer(spec: str, counter: TokenCounter, others: tuple[str, ...] = ()) -> Summarizer:
    """The summarizer for `extractive` or `scripted:FILE`. Raises InvalidInput for anything else; `others` are names
    that the caller knows besides."""
    kind, _, argument = spec.partition(":")
    if spec == "extractive":
        return ExtractiveSummarizer(counter)
    if kind == "scripted" and argument:
        return read_script(Path(argument))
    known = ", ".join(("extractive", "scripted:FILE", *others))
    raise InvalidInput(f"unknown summarizer {spec!r}, expected one of {known}", "--summarizer")


def read_settings(
    config: str | None, assignments: Sequence[str], base: CompactionPolicy = DEFAULT_POLICY
) -> PolicyReading:
    """The policy `base` with the settings of a config file on top, and `key=value` assignments on top of those.

    Raises InvalidInput for values that can't be used; what was clamped or is not used is in the problems.
    """
    reading = PolicyReading(base) if config is None else _read_over(base, _read_bytes(Path(config)))
    if reading.errors:
        raise InvalidInput(reading.errors[0].refusal, config or "")
    changed = reading.policy.with_settings(assignments)
    return replace(changed, problems=(*reading.problems, *changed.problems))


def _read_over(base: CompactionPolicy, text: bytes) -> PolicyReading:
    """What a config file says, and the policy that it and `base` make: keys it doesn't name are as in `base`."""
    layers = (("base", base.to_mapping()), ("file", read_config_yaml(text)))
    return replace(read_policy_yaml(text), policy=read_layers(layers).policy)


def _read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"can't be read: {error.strerror}", str(path)) from error


def session_of_file(path: Path, number: int | None, counter: TokenCounter) -> FedSession:
    """Session `number`, from 1, of a transcript file; without a number the first, with a notice if there are more."""
    if not path.is_file():
        raise InvalidInput("no such file", str(path))
    if number is not None and number < 1:
        raise InvalidInput("sessions are counted from 1", "--session")
    sessions = open_source(path, report=ImportReport(str(path)))
    wanted = list(islice(sessions, (number or 1) - 1, (number or 1) + 1))
    if not wanted:
        raise InvalidInput(f"holds no session number {number or 1}", str(path))
    has_more = number is None and len(wanted) > 1
    notice = "the file holds more than one session; this is the first, choose with --session N" if has_more else ""
    return _fed(wanted[0], counter, notice)


def _fed(session: SourceSession, counter: TokenCounter, notice: str) -> FedSession:
    rows = rows_to_feed(session.events(), counter)
    if not rows:
        raise InvalidInput("the session holds no rows", session.foreign_id)
    return FedSession(rows, session.model, session.window_tokens, session.fixed_overhead_tokens or 0, notice)
