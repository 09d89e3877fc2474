"""What a replay or a play is fed with: what the session held at an event, whatever happens to it later."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from row_builder import COUNTER, assistant, user

from compaction.messages import ImagePart, Message, Role
from sessions_app import services
from sessions_app.feeding.kept_steps import KeptSteps
from sessions_app.feeding.steps import AppendRows
from sessions_app.models import ToldMessage
from sessions_app.queries.replay_rows import fed_rows
from sessions_app.queries.told import SHARING_SQL, known_prefixes
from sessions_app.services import NewMessage
from sessions_app.services.rewinding import rewind_session
from sessions_app.services.telling import reconcile
from sessions_app.told_history import told_history

pytestmark = pytest.mark.django_db


def fed(rows, seq):
    return list(fed_rows(rows.session_id, seq).order_by("position", "id").values_list("id", flat=True))


def undo(rows):
    services.undo_last_pass(rows.session_id)


def take_back(rows):
    rewind_session(rows.session_id, rows.live()[-2].position)


def begin_anew(rows):
    services.reset_session(rows.session_id)
    rows.append(user("anew"))
    services.reset_session(rows.session_id)


@pytest.mark.parametrize("deed", [undo, take_back, begin_anew])
def test_what_was_fed_at_an_event_stays_so_whatever_happens_later(rows, deed):
    rows.turns(5)
    rows.absorb([row.pk for row in rows.live()[5:8]])
    seq = rows.session.last_seq
    before = fed(rows, seq)
    assert before == fed(rows, None) and len(before) == 20
    deed(rows)
    assert fed(rows, seq) == before
    assert deed is undo or fed(rows, None) != before


def test_an_earlier_reset_counts_for_what_came_behind_it_only(rows):
    rows.turns(2)
    first = rows.session.last_seq
    services.reset_session(rows.session_id)
    rows.append(user("second life"), assistant("yes"))
    second = rows.session.last_seq
    services.reset_session(rows.session_id)
    assert len(fed(rows, first)) == 8
    assert len(fed(rows, second)) == 2
    assert fed(rows, None) == []


def steps_of(chars):
    row = NewMessage(Message(Role.USER, (ImagePart("x" * chars),)))
    return (AppendRows(1, (row,), None),)


def test_kept_recordings_are_bounded_by_what_they_hold_and_the_newest_stay():
    kept, made = KeptSteps(most_chars=1_000), []

    def ask(name, chars):
        return kept.get(name, lambda: made.append(name) or steps_of(chars))

    for name in ("a", "b", "a", "c", "a", "b"):
        ask(name, 400)
        assert kept.chars <= 1_000
    assert made == ["a", "b", "c", "b"]
    ask("huge", 5_000)
    ask("huge", 5_000)
    assert made[-2:] == ["huge", "huge"] and kept.chars <= 1_000


def tell(project, *texts):
    session = services.create_session(project, "told")
    told = told_history([(Message(Role.USER, text), "{}") for text in texts])
    reconcile(session.pk, told, COUNTER)
    return session, [one.prefix for one in told]


def test_of_any_number_of_sessions_that_begin_alike_only_the_newest_are_read(project):
    session, prefixes = tell(project, "hello", "how are you")
    for number in range(30):
        tell(project, "hello", f"other {number}")
    newest, _ = tell(project, "hello")
    entries = ToldMessage.objects.filter(session=session, number=0)
    entry = entries.get()
    crowd = services.create_session(project, "a crowd")
    ToldMessage.objects.bulk_create(
        ToldMessage(
            session=crowd,
            project=project,
            number=number + 1,
            digest=entry.digest,
            prefix=f"{number:032}",
            row_key=entry.row_key,
            is_answer=False,
        )
        for number in range(3_000)
    )
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_toldmessage")
        parameters = {"prefixes": prefixes, "project": project.pk, "most": 3}
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {SHARING_SQL}", parameters)
        plan = str(cursor.fetchone()[0])
    assert "told_by_beginning" in plan
    with CaptureQueriesContext(connection) as asked:
        found = list(known_prefixes(project.pk, prefixes, most=3))
    assert [(one.session_id, one.known) for one in found][:2] == [(session.pk, 2), (newest.pk, 1)]
    assert len(found) == 3 and len(asked) == 2
