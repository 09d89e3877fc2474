"""Pages and the API over very large data: what is read and sent depends on what is shown, not on what there is."""

import json
import threading
import time
import tracemalloc

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext
from row_builder import COUNTER, NewMessage, RowBuilder, assistant, user
from talk import Talk

from compaction.messages import ImagePart, Message, Role, TextPart
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import MemberRole, MessageRow, Session
from sessions_app.services.tokens import issue_token

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 30
MEGABYTE = 2**20
# Labels of zones count a few thousand rows and then say "more"; nothing may go through a session.
MOST_ROWS_READ = 10_000
# What the nodes of a query plan that read rows are called.
SCANS = ("Seq Scan", "Index Scan", "Index Only Scan", "Bitmap Heap Scan")


@pytest.fixture
def reader(client, project):
    person = User.objects.create_user("rita")
    services.add_member(project, person, MemberRole.VIEWER)
    client.force_login(person)
    return client


def fill(session, count):
    """`count` rows of a question and an answer in turn, with their events and turns, as appends would leave them."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_messagerow (session_id, position, born_seq, kind, role, content, message_extras,"
            " by_person, tokens, token_counter, raw, is_repaired, turn)"
            " SELECT %s, n, n + 1, 'message', CASE WHEN n %% 2 = 0 THEN 'user' ELSE 'assistant' END,"
            " 'line ' || n || ' of a long talk', '', true, 20, 'rough', '', false, n / 2 + 1"
            " FROM generate_series(0, %s) AS n",
            [session.pk, count - 1],
        )
        cursor.execute(
            "INSERT INTO sessions_app_sessionevent (session_id, seq, kind, first_position, last_position, live_rows,"
            " live_tokens) SELECT %s, n + 1, 'appended', n, n, n + 1, 20 * (n + 1) FROM generate_series(0, %s) AS n",
            [session.pk, count - 1],
        )
        cursor.execute(
            "INSERT INTO sessions_app_turn (session_id, number, first_position, last_position, is_finished,"
            " interrupted, step_done) SELECT %s, n + 1, 2 * n, 2 * n + 1, true, false, 0"
            " FROM generate_series(0, %s) AS n",
            [session.pk, count // 2 - 1],
        )
    half = count // 2
    Session.objects.filter(pk=session.pk).update(
        live_rows=count,
        live_tokens=20 * count,
        user_tokens=20 * half,
        assistant_tokens=20 * half,
        last_seq=count,
        next_position=count,
        turns_total=half,
    )


def scanned(sql):
    """The most rows that any step of a statement read from a table or an index, rows it threw away included."""
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {sql}")
        plan = cursor.fetchone()[0][0]["Plan"]

    def rows_of(node):
        thrown = node.get("Rows Removed by Filter", 0) + node.get("Rows Removed by Index Recheck", 0)
        own = (node["Actual Rows"] + thrown) * node["Actual Loops"] if node["Node Type"] in SCANS else 0
        return max([own, *(rows_of(child) for child in node.get("Plans", ()))])

    return rows_of(plan)


def test_no_page_of_a_session_of_tens_of_thousands_of_rows_reads_more_than_it_shows(reader, project, session):
    """P05: session-filtered queries, deep pages and counts timed out."""
    fill(session, 30_000)
    rows = RowBuilder(session.pk)
    ids = list(
        MessageRow.objects.filter(session=session, position__lt=4_000).order_by("position").values_list("pk", flat=True)
    )
    for first in range(0, 4_000, 400):
        rows.absorb(ids[first + 1 : first + 400 : 2])
    # Far below its threshold, so that the page also says how soon that is reached.
    Session.objects.filter(pk=session.pk).update(window_tokens=4_000_000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    bearer = {"Authorization": f"Bearer {issue_token(project, 'reader').secret}"}
    page, api = f"/s/{session.public_id}/", f"/api/v1/sessions/{session.public_id}/"
    addresses = [
        page,
        *(f"{page}?show={one}" for one in ("live", "archived", "model")),
        f"{page}?row=15000",
        f"{page}?row=29999",
        f"{page}?pass=3",
        f"{page}?after=8000-0&before=24000-0&end=on",
        f"{page}events/?after=29990",
        f"{page}events/?after=5",
        f"{page}passes/",
        f"{page}summary/",
        f"{page}occupancy/",
        f"{page}occupancy.json",
        f"{api}rows?limit=100",
        f"{api}rows?limit=100&state=archived",
        f"{api}events?after=29000&limit=100",
        f"{api}events?after=5&limit=100",
        f"{api}passes",
        "/",
    ]
    read = {}
    for address in addresses:
        with CaptureQueriesContext(connection) as queries:
            answer = reader.get(address, headers=bearer if address.startswith("/api") else {})
            assert answer.status_code == 200, address
        selects = [one["sql"] for one in queries.captured_queries if one["sql"].lstrip("( \n").startswith("SELECT")]
        assert not [sql for sql in selects if " OFFSET " in sql], address
        read[address] = max((scanned(sql), sql) for sql in selects)
    most = {address: rows for address, rows in read.items() if rows[0] > MOST_ROWS_READ}
    assert most == {}
    assert "steady over the last 5 turns" in reader.get(page).content.decode()
    last = reader.get(f"{page}?row=29999").content.decode()
    assert "line 29999 of a long talk" in last


def test_a_session_of_thousands_of_rows_opens_as_a_window_and_every_row_can_be_gone_to(reader, session):
    """P03: three thousand rows were put into the page at once."""
    fill(session, 3_258)
    page = reader.get(f"/s/{session.public_id}/").content.decode()
    assert page.count('class="row ') + page.count('class="row"') <= 200
    assert len(page) < 300_000
    for number in (0, 1_700, 3_257):
        around = reader.get(f"/s/{session.public_id}/", {"row": number}).content.decode()
        assert f"line {number} of a long talk" in around
        assert len(around) < 300_000


def test_the_list_of_a_thousand_sessions_reads_none_of_their_contents(reader, project):
    """P01: the picker read and parsed all files at once and ran out of memory."""
    large = [services.create_session(project, f"large {n}") for n in range(5)]
    for one in large:
        services.append_rows(one.pk, [user("short")], COUNTER)
        # Forty megabytes each; that the text repeats itself only spares the disk of the test.
        MessageRow.objects.filter(session=one).update(content="forty " * (40 * MEGABYTE // 6))
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO sessions_app_session SELECT (jsonb_populate_record(s, jsonb_build_object("
            " 'id', s.id + 10000 + n, 'public_id', 'made' || n, 'foreign_id', 'made' || n))).*"
            " FROM sessions_app_session AS s, generate_series(1, 995) AS n WHERE s.id = %s",
            [services.create_session(project, "small").pk],
        )
    reader.get("/")
    tracemalloc.start()
    with CaptureQueriesContext(connection) as queries:
        page = reader.get("/")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert page.status_code == 200
    assert peak < 10 * MEGABYTE
    assert len(queries) <= 15
    touching = [one["sql"] for one in queries.captured_queries if "sessions_app_messagerow" in one["sql"]]
    assert all("LEFT(" in sql.upper() for sql in touching)


def test_a_picture_of_megabytes_is_named_with_its_size_and_never_part_of_a_page(reader, session, rows):
    """P06: pictures were printed as text and froze the view."""
    data = "A" * (3 * MEGABYTE)
    address = f"data:image/png;base64,{data}"
    part = ImagePart(json.dumps({"type": "image_url", "image_url": {"url": address}}))
    rows.append(NewMessage(Message(Role.USER, (TextPart("look"), part))), assistant("I see"))
    picture = MessageRow.objects.get(session=session, position=0)
    for path in ("", "?show=model", "events/?after=0"):
        page = reader.get(f"/s/{session.public_id}/{path}").content.decode()
        assert len(page) < 200_000
        assert "AAAAAAAAAA" not in page
    page = reader.get(f"/s/{session.public_id}/").content.decode()
    assert "picture, image/png, about" in page
    assert reader.get(f"/s/{session.public_id}/row/{picture.pk}/picture/1/").headers["Content-Type"] == "image/png"


class Slow(ScriptedSummarizer):
    """Answers when it is let."""

    def __init__(self):
        super().__init__([Reply(text="## Key Decisions\n- go on", finish_reason="stop")], model="small")
        self.is_asked, self.may_answer = threading.Event(), threading.Event()

    def ask(self, request):
        self.is_asked.set()
        assert self.may_answer.wait(PATIENCE_SECONDS)
        return super().ask(request)


def test_while_a_summarizer_takes_its_time_the_turn_is_over_for_the_people_in_it(project, session, rows):
    """P08: turns waited for passes, and users thought that the model was slow."""
    services.save_policy(project.pk, {"compression": {"micro_compact": True, "threshold_floor": "off"}}, None, "on")
    Session.objects.filter(pk=session.pk).update(window_tokens=8_000)
    talk = Talk(rows)
    for number in range(9):
        talk.turn(number, 60)
    slow = Slow()

    def finalize():
        try:
            finalize_turns(session.pk, slow, COUNTER)
        finally:
            connection.close()

    services.append_rows(session.pk, [user("and this?"), assistant("that")], COUNTER)
    services.finish_turn(session.pk, deferring=False)
    job = threading.Thread(target=finalize)
    job.start()
    assert slow.is_asked.wait(PATIENCE_SECONDS)
    started = time.monotonic()
    services.append_rows(session.pk, [user("the next question")], COUNTER)
    services.append_rows(session.pk, [assistant("and its answer")], COUNTER)
    assert services.finish_turn(session.pk, deferring=False)
    # It waited for no pass: the summarizer has not answered yet, and would be waited for much longer.
    assert not slow.may_answer.is_set()
    assert time.monotonic() - started < PATIENCE_SECONDS / 2
    slow.may_answer.set()
    job.join(PATIENCE_SECONDS)
    after = Session.objects.get(pk=session.pk)
    assert after.micro_passes >= 1
    assert rows.live()[-1].content == "and its answer"


def test_the_live_user_rows_of_a_middle_are_counted_in_an_index_of_just_these(reader, session):
    fill(session, 20_000)
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE sessions_app_messagerow")
    with CaptureQueriesContext(connection) as queries:
        reader.get(f"/s/{session.public_id}/")
    counts = [one["sql"] for one in queries.captured_queries if "COUNT(*)" in one["sql"]]
    assert len(counts) == 1
    with connection.cursor() as cursor:
        cursor.execute(f"EXPLAIN {counts[0]}")
        assert "Index Only Scan using row_live_user" in "\n".join(line for (line,) in cursor.fetchall())
