"""Rows, edits and records for tests of storage, in the words the services take."""

from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKind, ToolCall
from compaction.records import Outcome, PassKind, PassRecord
from compaction.state import CompactionState
from compaction.tokens import RoughCounter, row_tokens
from sessions_app import services
from sessions_app.models import CompactionPass, MessageRow, Session
from sessions_app.queries.moments import live_rows
from sessions_app.services import NewMessage

COUNTER = RoughCounter()
CIRCUMSTANCES = services.Circumstances(token_counter=COUNTER.name, trigger="turn")


def user(text, **more):
    return NewMessage(Message(Role.USER, text), **more)


def assistant(text, **more):
    return NewMessage(Message(Role.ASSISTANT, text), **more)


def call(call_id, name="read_file", arguments="{}"):
    return NewMessage(Message(Role.ASSISTANT, None, (ToolCall(call_id, name, arguments),)))


def result(call_id, text):
    return NewMessage(Message(Role.TOOL, text, tool_call_id=call_id))


def passes_out_of_place(session_id):
    """Passes that have a place of their own although rows say where they stand, or that have none and need one."""
    archived = MessageRow.objects.filter(session_id=session_id, kind__in=("message", "prune_stub"))
    by_rows = set(archived.values_list("archived_by_id", flat=True))
    made = CompactionPass.objects.filter(session_id=session_id)
    return [one.number for one in made if (one.place_position is None) != (one.pk in by_rows)]


class RowBuilder:
    """Appends to one session and commits passes over it."""

    def __init__(self, session_id):
        self.session_id = session_id

    @property
    def session(self):
        return Session.objects.get(pk=self.session_id)

    def append(self, *messages):
        return services.append_rows(self.session_id, messages, COUNTER).row_ids

    def turns(self, count):
        """`count` turns of four rows: a request, a call, its result, an answer."""
        for number in range(count):
            name = f"c{number}"
            self.append(user(f"question {number}"), call(name), result(name, f"file {number} " * 20), assistant("done"))

    def live(self):
        return list(live_rows(self.session_id))

    def texts(self):
        return [row.content for row in self.live()]

    def live_micro(self):
        return next((row for row in self.live() if row.kind == RowKind.MICRO_SUMMARY), None)

    def absorbing(self, row_ids, text="what happened so far"):
        """The edit and record of a micro pass that absorbs `row_ids`."""
        before = self.live_micro()
        superseded = () if before is None else (before.pk,)
        message = Message(Role.ASSISTANT, text)
        position = MessageRow.objects.get(pk=row_ids[0]).position
        new = NewRow(RowKind.MICRO_SUMMARY, position, message, row_tokens(message, COUNTER))
        edit = Edit(tuple(row_ids), superseded, (new,))
        return edit, PassRecord(PassKind.MICRO, Outcome.ABSORBED, edit=edit, summary_after=text)

    def absorb(self, row_ids, text="what happened so far", revision=None, state=None):
        edit, record = self.absorbing(row_ids, text)
        return self.commit(edit, record, revision, state)

    def defrag(self, text):
        """A pass that rewrites the rolling summary where it stands."""
        before = self.live_micro()
        message = Message(Role.ASSISTANT, text)
        new = NewRow(RowKind.MICRO_SUMMARY, before.position, message, row_tokens(message, COUNTER))
        edit = Edit((), (before.pk,), (new,))
        return self.commit(edit, PassRecord(PassKind.DEFRAG, Outcome.DEFRAG, edit=edit, summary_after=text))

    def commit(self, edit, record, revision=None, state=None):
        return services.archive_and_compact(
            self.session_id,
            edit=edit,
            state=state or CompactionState(rolling_summary=record.summary_after),
            record=record,
            expected_revision=self.session.compaction_revision if revision is None else revision,
            circumstances=CIRCUMSTANCES,
        )
