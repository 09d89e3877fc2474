"""The project of the samples: made once, filled with sessions that show what the site can do.

Two sessions are imported from files, as a newcomer would import their own; two are played turn by turn, so that their
passes are the engine's. Loading is repeatable: what is there already stays as it is, and a load that was broken off
goes on. The local owner becomes a member last, when everything is there to be seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from django.db import connection

from compaction.extractive import ExtractiveSummarizer
from compaction.scripted import ScriptedSummarizer, reply_from_script
from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter
from compaction.wording import worded
from sessions_app import clock, services
from sessions_app.importing import import_paths
from sessions_app.models import MemberRole, Project, Session, SessionStatus
from sessions_app.playing import moment_of, play_session
from sessions_app.samples.catalogue import (
    FAILING,
    FAILING_WINDOW_TOKENS,
    LONG,
    LONG_WINDOW_TOKENS,
    NAMES,
    failing_replies,
    sample_session,
    sample_text,
    story_named,
)
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.transcript import SampleSession
from sessions_app.services.owner import ensure_local_owner

SLUG: Final = "samples"
SETTINGS: Final[dict[str, Any]] = {"compression": {"threshold": 0.80, "micro_compact": True}}
# The samples that are played, and the windows of their models; the others are imported.
PLAYED_WINDOWS_TOKENS: Final = {LONG: LONG_WINDOW_TOKENS, FAILING: FAILING_WINDOW_TOKENS}
# What an endpoint would say of the calls that fail.
FAILURES: Final = {
    "timeout": worded("no complete answer within {:g} s", 30),
    "http_500": worded("{}: {}", worded("HTTP {}", 500), "out of memory"),
}
# Between two lines of progress.
TURNS_TOLD: Final = 30


def load_samples(checkout: Checkout, counter: TokenCounter) -> Iterator[str]:
    """Make sure that the samples are there; yields lines that say what is done. Takes some seconds the first time."""
    project = samples_project()
    with hurried_commits():
        for name in NAMES:
            yield from load_sample(name, project, checkout, counter)
    services.add_member(project, ensure_local_owner(), MemberRole.OWNER)
    yield f"The samples are in the project {project.name}."


def samples_project() -> Project:
    """The project, made with its settings if it is not there. Settings that somebody has changed stay.

    Raises ProjectShut while it is being deleted.
    """
    found = services.find_open_project(SLUG)
    if found is not None:
        return found
    project = services.create_project(SLUG, "Samples")
    services.save_policy(project.pk, SETTINGS, None, worded("Settings of the samples"))
    project.refresh_from_db()
    return project


@contextmanager
def hurried_commits() -> Iterator[None]:
    """Commits within the block don't wait for the disk: after a power cut the last samples would be loaded again."""
    with connection.cursor() as cursor:
        cursor.execute("SET synchronous_commit TO off")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("RESET synchronous_commit")


def load_sample(name: str, project: Project, checkout: Checkout, counter: TokenCounter) -> Iterator[str]:
    """One sample, unless it is there to its end."""
    story = story_named(name)
    found = project.sessions.filter(foreign_id=story.session_id).first()
    if found is not None and found.status == SessionStatus.ENDED:
        yield f"{story.title}: is there"
        return
    told = sample_session(name, checkout, counter)
    if name in PLAYED_WINDOWS_TOKENS:
        yield from play_sample(name, project, told, counter)
    else:
        yield from import_sample(name, project, told, counter)


def import_sample(name: str, project: Project, told: SampleSession, counter: TokenCounter) -> Iterator[str]:
    """The sample as a file, imported."""
    with TemporaryDirectory(prefix="hermes-samples-") as folder:
        path = Path(folder) / f"{name}.jsonl"
        path.write_text(sample_text(name, told, counter), encoding="utf-8")
        for file in import_paths([path], project, counter):
            if file.error:
                yield f"{told.story.title}: could not be imported: {file.error}"
            for session in file.sessions:
                yield f"{session.title}: {session.rows_added:,} rows imported"


def play_sample(name: str, project: Project, told: SampleSession, counter: TokenCounter) -> Iterator[str]:
    """The sample, played turn by turn."""
    session = played_session(project, told, PLAYED_WINDOWS_TOKENS[name])
    summarizer = failing_summarizer(session.passes_total) if name == FAILING else ExtractiveSummarizer(counter)
    for number in play_session(session.pk, told, summarizer, counter):
        if number % TURNS_TOLD == 0 or number == len(told.turns):
            yield f"{told.story.title}: {number} of {len(told.turns)} turns played"


def played_session(project: Project, told: SampleSession, window_tokens: int) -> Session:
    """The hosted session that the sample is played into, made if it is not there."""
    story = told.story
    found = project.sessions.filter(source=Session.HOSTED, foreign_id=story.session_id).first()
    if found is not None:
        return found
    with clock.played(moment_of(told.rows[0])):
        return services.create_session(
            project, story.title, model=story.model, window_tokens=window_tokens, foreign_id=story.session_id
        )


def failing_summarizer(passes: int) -> Summarizer:
    """The summarizer that often fails, as it goes on after so many passes of a play that was broken off."""
    replies = [reply_from_script(entry, f"reply {number}") for number, entry in enumerate(failing_replies(), 1)]
    told = [replace(reply, error_detail=FAILURES.get(reply.error, "")) for reply in replies]
    return ScriptedSummarizer(told[min(passes, len(told) - 1) :], "qwen3-4b")
