"""The replay page: one step of one pass, recorded or simulated, with the way to the steps and passes around it.

Both kinds have the same facts, so there is one page value for both; they differ only in where their addresses lead and
in what the scrubber runs over (a session's events, or a run's turns).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from django.db.models import QuerySet
from django.urls import reverse
from django.utils.translation import gettext as _

from compaction.secret_values import MASK
from sessions_app.models import CompactionPass, PassFacts, PassKind, ReplayRun, ReplayStep, Session, SummaryRevision
from sessions_app.pages.occupancy import MOST_POINTS, curve_points, read_marked_passes, read_totals
from sessions_app.pages.pass_words import icon_of, is_failed, outcome_words
from sessions_app.pages.replay_edit import EditView, read_edit
from sessions_app.pages.replay_steps import StepLabel, StepName, first_step, step_labels, step_names
from sessions_app.pages.summary_text import unframed
from sessions_app.punctuation import colon
from sessions_app.rendering.addresses import step_address
from sessions_app.rendering.curve import Curve, Point, draw_curve, thin_out
from sessions_app.rendering.rail import Mark, lay_out
from sessions_app.rendering.word_diff import WordDiff, compare_words

SENT_CHARS = 24_000
# Where our own instructions end and what was redacted begins; a text without this mark is looked at whole.
MATERIAL_STARTS = "<running_notes>"
Siblings = QuerySet[CompactionPass] | QuerySet[ReplayStep]
Address = Callable[[int, int], str]
MASKS = re.compile(f"({re.escape(MASK)})")


MOST_DRAWN_STEPS = 1_000
MOST_DRAWN_MARKS = 300
_DRAWN_COLUMNS = (
    *("id", "run_id", "number", "turn", "kind", "outcome", "reason", "tokens_before", "tokens_after"),
    *("threshold_tokens", "occupancy_pct"),
)


@dataclass(frozen=True, slots=True)
class TextRun:
    """A piece of the text that was sent; is_mask: it stands for something that was redacted."""

    text: str
    is_mask: bool


@dataclass(frozen=True, slots=True)
class Scrubber:
    """The whole session or run as a curve with its passes, and where this pass is."""

    curve: Curve
    marks: tuple[Mark, ...]
    place_pct: float
    words: str


@dataclass(frozen=True, slots=True)
class Links:
    """Addresses of the way on; None at an end. first, last: of this pass's steps."""

    previous: str | None
    next: str | None
    first: str
    last: str
    previous_pass: str | None
    next_pass: str | None
    up: str


@dataclass(frozen=True, slots=True)
class ReplayPage:
    """One step. Of edit, sent and diff only what the step shows is there. is_plan: the pass has not been made."""

    session: Session
    run: ReplayRun | None
    facts: PassFacts
    number: int
    total: int
    steps: tuple[StepLabel, ...]
    step: StepLabel
    step_links: tuple[tuple[StepLabel, str], ...]
    links: Links
    scrubber: Scrubber
    edit: EditView | None = None
    sent: tuple[TextRun, ...] = ()
    sent_more_chars: int = 0
    diff: WordDiff | None = None
    reply: str | None = None
    earlier: str | None = None
    is_plan: bool = False

    @property
    def is_simulated(self) -> bool:
        return self.run is not None


def read_recorded(session: Session, made_by: CompactionPass, step_number: int, *, show_all: bool) -> ReplayPage | None:
    """A step of a recorded pass; None when the pass has no such step."""
    passes = CompactionPass.objects.filter(session_id=session.pk)

    def address(number: int, step: int) -> str:
        return step_address(session.public_id, number, step)

    around = Around(made_by, passes, address, reverse("session", args=[session.public_id]))
    return page_of(session, None, made_by, step_number, around, session_scrubber(session, made_by), show_all)


def read_simulated(run: ReplayRun, step: ReplayStep, step_number: int, *, show_all: bool) -> ReplayPage | None:
    """A step of a decision of a run; None when the decision has no such step."""
    decisions = ReplayStep.objects.filter(run_id=run.pk)
    session = run.session

    def address(number: int, step_of_it: int) -> str:
        return reverse("run_replay", args=[session.public_id, run.pk, number, step_of_it])

    around = Around(step, decisions, address, reverse("run", args=[session.public_id, run.pk]))
    return page_of(session, run, step, step_number, around, run_scrubber(run, step, address), show_all)


class Around:
    """The passes or decisions before and behind one, and the addresses of their steps."""

    def __init__(self, facts: CompactionPass | ReplayStep, siblings: Siblings, address: Address, up: str) -> None:
        self.facts = facts
        self.address = address
        self.up = up
        self._siblings = siblings

    def before(self, *, is_pass: bool) -> CompactionPass | ReplayStep | None:
        """The one before; with `is_pass` the nearest that did something."""
        return self._nearest(self._siblings.filter(number__lt=self.facts.number).order_by("-number"), is_pass)

    def behind(self, *, is_pass: bool) -> CompactionPass | ReplayStep | None:
        """The one behind."""
        return self._nearest(self._siblings.filter(number__gt=self.facts.number).order_by("number"), is_pass)

    def total(self) -> int:
        return self._siblings.count()

    def _nearest(self, found: Siblings, is_pass: bool) -> CompactionPass | ReplayStep | None:
        return (found.exclude(kind=PassKind.NOTHING) if is_pass else found).first()

    def links(self, step: int) -> Links:
        """The way on from a step."""
        number, count = self.facts.number, len(step_names(self.facts))
        before, behind = self.before(is_pass=True), self.behind(is_pass=True)
        older, newer = self.before(is_pass=False), self.behind(is_pass=False)
        last_of_older = None if older is None else self.address(older.number, len(step_names(older)))
        return Links(
            previous=self.address(number, step - 1) if step > 1 else last_of_older,
            next=self.address(number, step + 1) if step < count else self._start(newer),
            first=self.address(number, 1),
            last=self.address(number, count),
            previous_pass=self._start(before),
            next_pass=self._start(behind),
            up=self.up,
        )

    def _start(self, facts: CompactionPass | ReplayStep | None) -> str | None:
        return None if facts is None else self.address(facts.number, first_step(facts))


def page_of(
    session: Session,
    run: ReplayRun | None,
    facts: CompactionPass | ReplayStep,
    step_number: int,
    around: Around,
    scrubber: Scrubber,
    show_all: bool,
) -> ReplayPage | None:
    labels = step_labels(facts)
    if not 1 <= step_number <= len(labels):
        return None
    step = labels[step_number - 1]
    page = ReplayPage(
        session=session,
        run=run,
        facts=facts,
        number=facts.number,
        total=around.total(),
        steps=labels,
        step=step,
        step_links=tuple((one, around.address(facts.number, one.number)) for one in labels),
        links=around.links(step_number),
        scrubber=scrubber,
    )
    return with_content(page, show_all)


def with_content(page: ReplayPage, show_all: bool) -> ReplayPage:
    """The page with what its step shows."""
    facts = page.facts
    match page.step.name:
        case StepName.EDIT:
            return replace(page, edit=read_edit(page.session, facts, show_all=show_all))
        case StepName.SENT:
            text = facts.prompt_user or ""
            shown = text if show_all else text[:SENT_CHARS]
            return replace(page, sent=tuple(text_runs(shown)), sent_more_chars=len(text) - len(shown))
        case StepName.REPLY:
            earlier, result = summary_texts(page)
            earlier, result = unframed(earlier or ""), None if result is None else unframed(result)
            diff = None if result is None else compare_words(earlier, result)
            return replace(page, diff=diff, reply=facts.reply_text, earlier=earlier)
        case StepName.EARLIER:
            return replace(page, earlier=summary_texts(page)[0])
        case _:
            return page


def text_runs(text: str) -> Iterator[TextRun]:
    """The text with its masks apart. The rules in front name the mask without being one."""
    rules, mark, material = text.partition(MATERIAL_STARTS)
    if mark:
        yield TextRun(rules + mark, False)
    for number, piece in enumerate(MASKS.split(material if mark else rules)):
        if piece:
            yield TextRun(piece, bool(number % 2))


def summary_texts(page: ReplayPage) -> tuple[str | None, str | None]:
    """The summary before and after the pass, by its own record, else by the versions stored for it."""
    facts = page.facts
    after = facts.summary_after if not is_failed(facts) else None
    if facts.summary_before is not None or not isinstance(facts, CompactionPass):
        return facts.summary_before, after
    revision = (
        SummaryRevision.objects.filter(session_id=page.session.pk, compaction_pass=facts).order_by("number").first()
    )
    if revision is None:
        return None, after
    before = SummaryRevision.objects.filter(session_id=page.session.pk, number=revision.number - 1).first()
    return (None if before is None else before.text), revision.text


def session_scrubber(session: Session, made_by: CompactionPass | None) -> Scrubber:
    """A session's events, and where the pass is among them; without one only the events."""
    curve = draw_curve(curve_points(session, read_totals(session, MOST_POINTS))[0])
    marks = [
        mark_of(
            one,
            curve.left_pct(one.seq),
            step_address(session.public_id, one.number, first_step(one)),
            0 if made_by is None else made_by.number,
        )
        for one in read_marked_passes(session)
    ]
    if made_by is None:
        return Scrubber(curve, lay_out(marks), 0.0, "")
    words = _("pass {} of {}, event {} of {}").format(
        made_by.number, session.passes_total, made_by.seq, session.last_seq
    )
    return Scrubber(curve, lay_out(marks), curve.left_pct(made_by.seq), words)


def run_scrubber(run: ReplayRun, current: ReplayStep, address: Address) -> Scrubber:
    """A run's decisions, each with the occupancy before and after it."""
    steps, acted = drawn_steps(run.pk)
    curve = draw_curve(thin_out(run_points(steps)))
    marks = [mark_of(one, curve.left_pct(2 * one.number), address(one.number, 1), current.number) for one in acted]
    last = steps[-1] if steps else current
    words = _("decision {} of {}, after turn {}").format(current.number, last.number, current.turn)
    place = curve.left_pct(2 * current.number)
    return Scrubber(curve, lay_out(marks), place, words)


def drawn_steps(run_id: int) -> tuple[list[ReplayStep], list[ReplayStep]]:
    """The steps a drawing of a run is made of: evenly chosen ones where there are very many, the first and the last
    among them; and the newest ones that did something, for the marks. Three queries."""
    steps = ReplayStep.objects.filter(run_id=run_id).only(*_DRAWN_COLUMNS)
    last = steps.order_by("-number").values_list("number", flat=True).first()
    if last is None:
        return [], []
    every = max(1, last // MOST_DRAWN_STEPS)
    drawn = steps.filter(number__in=[*range(1, last, every), last]) if every > 1 else steps
    acted = steps.exclude(kind=PassKind.NOTHING).order_by("-number")[:MOST_DRAWN_MARKS]
    return list(drawn.order_by("number")), list(acted)[::-1]


def run_points(steps: list[ReplayStep]) -> list[Point]:
    """Two points for each decision: just before it and just after."""
    points: list[Point] = []
    for step in steps:
        before = None
        if step.threshold_tokens and step.tokens_before is not None:
            before = round(100 * step.tokens_before / step.threshold_tokens, 1)
        points += [Point(2 * step.number - 1, before), Point(2 * step.number, step.occupancy_pct)]
    return points


def mark_of(facts: CompactionPass | ReplayStep, place_pct: float, href: str, current_number: int) -> Mark:
    return Mark(
        number=facts.number,
        icon=icon_of(facts),
        words=f"{facts.number}{colon()}{outcome_words(facts)}",
        href=href,
        place_pct=place_pct,
        shown_pct=place_pct,
        is_failed=is_failed(facts),
        is_current=facts.number == current_number,
    )
