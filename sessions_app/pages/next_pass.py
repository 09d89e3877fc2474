"""What a session's next pass would do, as a replay of a pass that has not been made.

The engine plans on the stored rows just as it would for a real pass; nothing is stored and no model is asked. Where
nobody is asked, the replay ends with the text that would be sent; with the extractive summarizer, which needs no model,
it goes on to the edit, so that a reader sees which rows would leave and how large the context would be.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from urllib.parse import urlencode

from django.urls import reverse
from django.utils.translation import gettext as _

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.edits import Edit
from compaction.extractive import ExtractiveSummarizer
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.pass_context import make_context
from compaction.passes import Nothing, PassContext, Settlement
from compaction.records import Outcome, PassKind, PassRecord, Span
from compaction.redaction import redact
from compaction.storable import storable_text
from compaction.telemetry import micro_figures
from sessions_app import clock
from sessions_app.mapping import storable_json
from sessions_app.models import ReplayStep, Session
from sessions_app.pages.outlook import zones_of
from sessions_app.pages.pass_words import PLANNED
from sessions_app.pages.replay import Links, ReplayPage, session_scrubber, with_content
from sessions_app.pages.replay_steps import step_labels
from sessions_app.pass_facts import fill_facts
from sessions_app.passes.deciding import policy_by_hand
from sessions_app.session_policy import model_of, overhead_of, policy_of, window_of
from sessions_app.stored_transcript import StoredTranscript
from sessions_app.token_counting import site_counter


class NextKind(StrEnum):
    """Which pass is looked at: the one that is due by itself, or one that somebody asks for now."""

    DUE = ""
    MICRO = "micro"
    BATCH = "batch"


@dataclass(frozen=True, slots=True)
class NextChoice:
    """What of the next pass is shown. with_summary: an extractive summary is made and put in its place."""

    kind: NextKind = NextKind.DUE
    with_summary: bool = False

    @property
    def query(self) -> str:
        """The choice as an address says it."""
        said = {"kind": self.kind.value, "with": "extractive" if self.with_summary else ""}
        asked = urlencode({name: value for name, value in said.items() if value})
        return f"?{asked}" if asked else ""


def read_next(session: Session, step_number: int, choice: NextChoice, *, show_all: bool) -> ReplayPage | None:
    """A step of the pass to come; None when it has no such step."""
    facts = planned_facts(session, choice)
    labels = step_labels(facts)
    if not 1 <= step_number <= len(labels):
        return None

    def address(step: int) -> str:
        return reverse("next_pass", args=[session.public_id, step]) + choice.query

    newest = None
    if session.passes_total:
        newest = reverse("replay_start", args=[session.public_id, session.passes_total])
    count = len(labels)
    links = Links(
        previous=address(step_number - 1) if step_number > 1 else newest,
        next=address(step_number + 1) if step_number < count else None,
        first=address(1),
        last=address(count),
        previous_pass=newest,
        next_pass=None,
        up=reverse("session", args=[session.public_id]),
    )
    page = ReplayPage(
        session=session,
        run=None,
        facts=facts,
        number=facts.number,
        total=session.passes_total,
        steps=labels,
        step=labels[step_number - 1],
        step_links=tuple((one, address(one.number)) for one in labels),
        links=links,
        scrubber=replace(
            session_scrubber(session, None), place_pct=100.0, words=_("now, event {}").format(session.last_seq)
        ),
        is_plan=True,
    )
    return with_content(page, show_all)


def planned_facts(session: Session, choice: NextChoice) -> ReplayStep:
    """The facts of the pass to come, as an unsaved step."""
    transcript = StoredTranscript(session)
    context = context_of(session)
    record = record_of(transcript, context, choice)
    facts = ReplayStep(number=session.passes_total + 1, turn=session.turns_total)
    fill_facts(facts, record)
    if record.outcome is Outcome.NOTHING and record.kind is not PassKind.NOTHING:
        facts.outcome = PLANNED
    facts.edit = edit_json(record.edit)
    if record.kind in (PassKind.MICRO, PassKind.DEFRAG) and not record.edit.is_empty:
        facts.telemetry = storable_json(micro_figures(record, session.public_id).to_mapping())
    return facts


def context_of(session: Session) -> PassContext:
    """What the pass would be made under."""
    return make_context(
        policy_of(session),
        window_of(session),
        site_counter(),
        fixed_overhead_tokens=overhead_of(session) or 0,
        main_model=model_of(session) or "",
    )


def record_of(transcript: StoredTranscript, context: PassContext, choice: NextChoice) -> PassRecord:
    """The record the pass would have; of a plan alone it says what was chosen and what would be sent."""
    plan = plan_of(transcript, context, choice.kind)
    if isinstance(plan, Settlement):
        return plan.record
    if isinstance(plan, Nothing):
        tokens = context.fixed_overhead_tokens + transcript.live_tokens
        blank = context.blank_record(plan.state, PassKind.NOTHING, Outcome.NOTHING, tokens, transcript.live_rows)
        # Where micro passes are off, nobody had to divide the rows; whoever looks ahead wants to see how they lie.
        return replace(blank, reason=plan.reason, zones=plan.zones or zones_of(transcript, context))
    if not choice.with_summary or plan.request is None:
        return planned_record(plan, context)
    summarizer = ExtractiveSummarizer(context.counter)
    reply = replace(summarizer.ask(plan.request), duration_ms=None)
    settlement = settle_micro(plan, reply) if isinstance(plan, MicroPlan) else settle_batch(plan, reply)
    return replace(settlement.record, aux_model=summarizer.model)


def plan_of(
    transcript: StoredTranscript, context: PassContext, kind: NextKind
) -> Nothing | Settlement | MicroPlan | BatchPlan:
    """The plan of the pass that is due after the next turn, or of the one that was asked for."""
    state, now = transcript.state, clock.now().timestamp()
    if kind is NextKind.BATCH:
        return plan_batch(transcript, state, context, now=now, is_manual=True)
    if kind is NextKind.MICRO:
        return plan_micro(transcript, state, replace(context, policy=policy_by_hand(context.policy)))
    micro = plan_micro(transcript, state, context)
    if not isinstance(micro, Nothing):
        return micro
    batch = plan_batch(transcript, state, context, now=now)
    return micro if isinstance(batch, Nothing) else batch


def planned_record(plan: MicroPlan | BatchPlan, context: PassContext) -> PassRecord:
    """The record of a plan that nobody has carried out."""
    kind = plan.kind if isinstance(plan, MicroPlan) else PassKind.BATCH
    blank = context.blank_record(plan.state, kind, Outcome.NOTHING, plan.tokens_before, plan.rows_before)
    record = replace(
        blank,
        request=plan.request,
        redactions=0 if plan.request is None else plan.request.redactions,
        summary_before=redact(plan.earlier).text,
        aux_model="",
    )
    if isinstance(plan, BatchPlan):
        return replace(record, zones=plan.window.zones)
    spans = tuple(Span(one.first, one.last, len(one.rows), one.tokens) for one in plan.exchanges)
    tokens = sum(span.tokens for span in spans) if plan.kind is PassKind.MICRO else None
    return replace(record, zones=plan.zones, exchanges=spans, cursor_before=plan.cursor, exchange_tokens=tokens)


def edit_json(edit: Edit) -> dict[str, object] | None:
    """The edit as a step stores it; inserted rows have no id, for they are stored nowhere."""
    if edit.is_empty:
        return None
    return {
        "archived": list(edit.archived),
        "superseded": list(edit.superseded),
        "inserted": [
            {
                "id": -number,
                "kind": row.kind.value,
                "role": row.message.role.value,
                "position": row.position,
                "tokens": row.tokens,
                "replaces": row.replaces,
                "text": storable_text(row.message.text),
            }
            for number, row in enumerate(edit.inserted, start=1)
        ],
    }
