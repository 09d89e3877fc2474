"""Every version of a session's summary, and what changed from one to the next."""

from __future__ import annotations

from dataclasses import dataclass

from sessions_app.models import CompactionPass, MessageRow, Session, SummaryRevision
from sessions_app.pages.pass_places import passes_by_id
from sessions_app.pages.summary_anchors import Provenance, read_provenance
from sessions_app.pages.summary_sizes import Size, SizeChart, draw_sizes
from sessions_app.pages.summary_text import unframed
from sessions_app.rendering.word_diff import DiffLine, SideBySide, WordDiff, compare_words, set_text, side_by_side

VERSIONS_A_PAGE = 100
# How many newer versions stand above the chosen one, where it is not among the newest.
NEWER_ABOVE = 20


@dataclass(frozen=True, slots=True)
class Version:
    """One version in the list. change_tokens: against the version before, None when either is unknown."""

    revision: SummaryRevision
    made_by: CompactionPass | None
    change_tokens: int | None
    is_live: bool


@dataclass(frozen=True, slots=True)
class Span:
    """Rows that a version came from."""

    first_position: int
    last_position: int
    rows: int | None
    tokens: int | None


@dataclass(frozen=True, slots=True)
class SummaryPage:
    """One chosen version with the diff to the one before, what it was made from, and the versions around it.

    newer, older: versions that lead to the next pages of the list, None at its ends.
    """

    versions: tuple[Version, ...]
    chosen: Version
    text: str | None
    previous_number: int | None
    diff: WordDiff | None
    lines: tuple[DiffLine, ...]
    sides: tuple[SideBySide, ...]
    provenance: Provenance | None
    newer: int | None
    older: int | None
    spans: tuple[Span, ...]
    sizes: SizeChart | None
    previous_tokens: int | None
    defrag_tokens: int | None


def read_summary_page(session: Session, number: int | None, defrag_tokens: int | None) -> SummaryPage | None:
    """The page of one version; without a number the live one, else the newest. None when there is no such version."""
    revisions, newer, older = read_window(session, number)
    versions = versions_of(session, revisions)
    chosen = choose(versions, number)
    if chosen is None:
        return None
    text, before, previous = read_texts(session, chosen.revision)
    diff = None if text is None or before is None else compare_words(before, text)
    sizes = [
        Size(one.revision.number, one.revision.tokens, one.revision.kind == "defrag") for one in reversed(versions)
    ]
    before_it = next((one.tokens for one in revisions if one.number == previous), None)
    return SummaryPage(
        versions=versions,
        chosen=chosen,
        text=text,
        previous_number=previous,
        diff=diff,
        lines=() if text is None else set_text(text),
        sides=() if diff is None else side_by_side(diff.lines),
        provenance=read_provenance(session, chosen.made_by, text, before),
        newer=newer,
        older=older,
        spans=spans_of(chosen.made_by),
        sizes=draw_sizes(sizes, defrag_tokens),
        previous_tokens=before_it,
        defrag_tokens=defrag_tokens,
    )


def read_window(session: Session, number: int | None) -> tuple[list[SummaryRevision], int | None, int | None]:
    """A page of versions, newest first, with the chosen one on it; the versions that lead to the pages beside it.

    One more than a page is returned, for the change against it.
    """
    stored = SummaryRevision.objects.filter(session_id=session.pk).defer("text").order_by("-number")
    newest = stored.values_list("number", flat=True).first() or 0
    upper = newest if number is None or number > newest - VERSIONS_A_PAGE else number + NEWER_ABOVE
    found = list(stored.filter(number__lte=upper)[: VERSIONS_A_PAGE + 1])
    newer = min(newest, upper + VERSIONS_A_PAGE - NEWER_ABOVE) if upper < newest else None
    older = found[VERSIONS_A_PAGE].number if len(found) > VERSIONS_A_PAGE else None
    return found, newer, older


def choose(versions: tuple[Version, ...], number: int | None) -> Version | None:
    """The version with this number; without one the newest that is live, else the newest."""
    if number is not None:
        return next((one for one in versions if one.revision.number == number), None)
    return next((one for one in versions if one.is_live), versions[0] if versions else None)


def versions_of(session: Session, revisions: list[SummaryRevision]) -> tuple[Version, ...]:
    passes = passes_by_id(session.pk, (one.compaction_pass_id for one in revisions))
    earlier = {one.number: one for one in revisions}
    dead = MessageRow.objects.filter(session_id=session.pk, id__in=[one.row_id for one in revisions if one.row_id])
    # Also the versions of undone passes, and those that a reset left behind: nothing came after them.
    withdrawn = set(dead.filter(died_seq__isnull=False).values_list("id", flat=True))
    versions = []
    for one in revisions:
        before = earlier.get(one.number - 1)
        known = before is not None and before.tokens is not None and one.tokens is not None
        change = one.tokens - before.tokens if known and one.tokens and before and before.tokens else None
        is_live = one.superseded_by_id is None and one.row_id not in withdrawn
        versions.append(Version(one, passes.get(one.compaction_pass_id), change, is_live))
    return tuple(versions[:VERSIONS_A_PAGE])


def read_texts(session: Session, chosen: SummaryRevision) -> tuple[str | None, str | None, int | None]:
    """The chosen text, the one before it, and that one's number."""
    wanted = SummaryRevision.objects.filter(session_id=session.pk, number__in=(chosen.number - 1, chosen.number))
    texts = dict(wanted.values_list("number", "text"))
    previous = chosen.number - 1 if chosen.number - 1 in texts else None
    shown = {number: None if text is None else unframed(text) for number, text in texts.items()}
    return shown.get(chosen.number), None if previous is None else shown[previous], previous


def spans_of(made_by: CompactionPass | None) -> tuple[Span, ...]:
    """The exchanges a pass absorbed."""
    if made_by is None:
        return ()
    return tuple(
        Span(one["first"][0], one["last"][0], one.get("rows"), one.get("tokens")) for one in made_by.exchanges or ()
    )
