"""Which summarizer is used, by the names that settings and runs give them.

Nothing is contacted unless an address was set; without one the offline summarizer writes the summaries.
"""

from __future__ import annotations

from compaction.errors import InvalidInput
from compaction.extractive import ExtractiveSummarizer
from compaction.policy import CompactionPolicy
from compaction.summarizer import Summarizer
from compaction.tokens import TokenCounter

EXTRACTIVE = "extractive"


def summarizer_for_policy(policy: CompactionPolicy, counter: TokenCounter) -> Summarizer:
    """The summarizer for recorded passes under `policy`."""
    return ExtractiveSummarizer(counter)


def summarizer_for_run(name: str, counter: TokenCounter) -> Summarizer:
    """The summarizer of a simulated replay. Raises InvalidInput for a name that is none."""
    if name != EXTRACTIVE:
        raise InvalidInput(f"unknown summarizer {name!r}, expected {EXTRACTIVE}", "summarizer")
    return ExtractiveSummarizer(counter)
