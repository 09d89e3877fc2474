"""The project of the samples: made once, filled with sessions that show what the site can do.

Two sessions are imported from files, as a newcomer would import their own; two are played turn by turn, so that their
passes are the engine's. Loading is repeatable: what is there already stays as it is. The local owner becomes a member
last, because a site without any person is a site that is not set up yet.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from compaction.extractive import ExtractiveSummarizer
from compaction.scripted import ScriptedSummarizer, reply_from_script
from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter
from sessions_app import clock, services
from sessions_app.importing import import_paths
from sessions_app.models import MemberRole, Project, Session, SessionStatus
from sessions_app.playing import moment_of, play_session
from sessions_app.samples.catalogue import (
    CHINESE,
    COMPACTED,
    FAILING,
    FAILING_WINDOW_TOKENS,
    LONG,
    LONG_WINDOW_TOKENS,
    failing_replies,
    sample_session,
    sample_text,
)
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.transcript import SampleSession
from sessions_app.services.owner import ensure_local_owner

SLUG: Final = "samples"
SETTINGS: Final[dict[str, Any]] = {"compression": {"threshold": 0.80, "micro_compact": True}}
# What an endpoint would say of the calls that fail.
FAILURES: Final = {"timeout": "no answer within 30 s", "http_500": "the model's server ran out of memory"}
# Between two lines of progress.
TURNS_TOLD: Final = 30


def load_samples(checkout: Checkout, counter: TokenCounter) -> Iterator[str]:
    """Make sure that the samples are there; yields lines that say what is done. Takes some seconds the first time."""
    project = samples_project()
    with TemporaryDirectory(prefix="hermes-samples-") as folder:
        yield from import_samples(Path(folder), project, checkout, counter)
    told = sample_session(FAILING, checkout, counter)
    session = played_session(project, told, FAILING_WINDOW_TOKENS)
    yield from play(session, told, failing_summarizer(session.passes_total), counter)
    told = sample_session(LONG, checkout, counter)
    session = played_session(project, told, LONG_WINDOW_TOKENS)
    yield from play(session, told, ExtractiveSummarizer(counter), counter)
    services.add_member(project, ensure_local_owner(), MemberRole.OWNER)
    yield f"The samples are in the project {project.name}."


def failing_summarizer(passes: int) -> Summarizer:
    """The summarizer that often fails, as it goes on after so many passes of a play that was broken off."""
    replies = [reply_from_script(entry, f"reply {number}") for number, entry in enumerate(failing_replies(), 1)]
    told = [replace(reply, error_detail=FAILURES.get(reply.error, "")) for reply in replies]
    return ScriptedSummarizer(told[min(passes, len(told) - 1) :], "qwen3-4b")


def samples_project() -> Project:
    """The project, made with its settings if it is not there. Settings that somebody has changed stay."""
    found = Project.objects.filter(slug=SLUG).first()
    if found is not None:
        return found
    project = services.create_project(SLUG, "Samples")
    services.save_policy(project.pk, SETTINGS, None, "Settings of the samples")
    project.refresh_from_db()
    return project


def import_samples(folder: Path, project: Project, checkout: Checkout, counter: TokenCounter) -> Iterator[str]:
    """The sessions that come from files."""
    for name in (CHINESE, COMPACTED):
        path = folder / f"{name}.jsonl"
        path.write_text(sample_text(name, sample_session(name, checkout, counter), counter), encoding="utf-8")
        for file in import_paths([path], project, counter):
            for session in file.sessions:
                yield f"{session.title}: {session.rows_added:,} rows imported, {session.rows_present:,} were there"


def played_session(project: Project, told: SampleSession, window_tokens: int) -> Session:
    """The hosted session that the sample is played into, made if it is not there."""
    story = told.story
    known = {"project": project, "source": Session.HOSTED, "foreign_id": story.session_id}
    found = Session.objects.filter(**known).first()
    if found is not None:
        return found
    with clock.played(moment_of(told.rows[0])):
        return services.create_session(
            project, story.title, model=story.model, window_tokens=window_tokens, foreign_id=story.session_id
        )


def play(session: Session, told: SampleSession, summarizer: Summarizer, counter: TokenCounter) -> Iterator[str]:
    """Play the sample unless it has been played to its end."""
    if session.status == SessionStatus.ENDED:
        yield f"{told.story.title}: is there"
        return
    for number in play_session(session.pk, told, summarizer, counter):
        if number % TURNS_TOLD == 0 or number == len(told.turns):
            yield f"{told.story.title}: {number} of {len(told.turns)} turns played"
