"""The samples there are: which stories, under which file names, in which form.

Must not write files or touch a database; callers do that with the texts they get here.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from compaction.tokens import TokenCounter
from sessions_app.samples.checkout import Checkout
from sessions_app.samples.claude_code import claude_lines
from sessions_app.samples.generator import generate
from sessions_app.samples.hermes_export import export_line
from sessions_app.samples.replies import read_replies
from sessions_app.samples.story import Story
from sessions_app.samples.story_text import read_story
from sessions_app.samples.transcript import SampleSession

STORIES: Final = Path(__file__).with_name("stories")
# 200,000 tokens of a long code review, ten hours, 120 turns: the one to replay under every policy.
LONG: Final = "release_review"
CHINESE: Final = "chinese_search"
# Made to be played with the script of replies beside it, in a window as small as a local model's.
FAILING: Final = "flaky_summarizer"
FAILING_WINDOW_TOKENS: Final = 48_000
LONG_WINDOW_TOKENS: Final = 400_000
# Compacted once by the program that recorded it.
COMPACTED: Final = "stubborn_database"
NAMES: Final = (LONG, CHINESE, FAILING, COMPACTED)


@dataclass(frozen=True, slots=True)
class SampleFile:
    """A file of the samples: its name and its text."""

    name: str
    text: str


def story_named(name: str) -> Story:
    """The story of that name. Raises FileNotFoundError."""
    return read_story(story_part(name, "story"))


def story_part(name: str, suffix: str) -> str:
    return (STORIES / f"{name}.{suffix}").read_text(encoding="utf-8")


def sample_session(name: str, checkout: Checkout, counter: TokenCounter) -> SampleSession:
    """The sample of that name, told with the files of `checkout`."""
    return generate(story_named(name), checkout, counter)


def sample_files(checkout: Checkout, counter: TokenCounter) -> Iterator[SampleFile]:
    """All samples as files, one after the other."""
    for name in NAMES:
        yield SampleFile(f"{name}.jsonl", sample_text(name, sample_session(name, checkout, counter), counter))
    yield SampleFile(f"{FAILING}.replies.json", json.dumps(failing_replies(), ensure_ascii=False, indent=1) + "\n")


def sample_text(name: str, session: SampleSession, counter: TokenCounter) -> str:
    """The sample in the form it is kept in: as exported by Hermes, the compacted one as written by Claude Code."""
    if name == COMPACTED:
        summary = story_part(name, "summary").strip()
        return "\n".join(claude_lines(session, summary, counter.count(summary))) + "\n"
    return export_line(session) + "\n"


def failing_replies() -> list[dict[str, Any]]:
    """The replies for the failing sample: the JSON list that `replay --summarizer scripted:FILE` reads."""
    return list(read_replies(story_part(FAILING, "replies")))
