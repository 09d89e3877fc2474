"""What the API tells of a session: pages by keys, the context at any moment, events, passes, summaries."""

import pytest
from api_client import message
from row_builder import RowBuilder, assistant, result, user

from sessions_app import services
from sessions_app.models import MessageRow, Session
from sessions_app.queries.moments import row_ids_as_of

pytestmark = pytest.mark.django_db


def collect(read, name, cursor_name, cursor=""):
    """All pages of a list, by its cursors."""
    found = []
    while cursor is not None:
        page = read(**({cursor_name: cursor} if cursor != "" else {}))
        found.append(list(page[name]))
        cursor = page["next" if cursor_name != "before" or "previous" not in page else "previous"]
    return found


def test_rows_can_be_read_through_in_both_directions(past, reader, url, session):
    def read(**query):
        return reader.get(f"{url}/rows", limit=3, **query).json()

    stored = list(MessageRow.objects.filter(session=session).order_by("position", "id").values_list("id", flat=True))
    forward = collect(read, "rows", "after")
    assert [row["id"] for page in forward for row in page] == stored
    assert [len(page) for page in forward] == [3, 3, 3]
    last = read(after=read(after=read()["next"])["next"])
    assert last["next"] is None
    backward = collect(read, "rows", "before", last["previous"])
    assert [row["id"] for page in reversed(backward) for row in page] == stored[:6]
    assert read()["previous"] is None


@pytest.mark.parametrize(("state", "count"), [("all", 9), ("live", 6), ("archived", 3)])
def test_rows_are_told_with_what_became_of_them(state, count, past, reader, url):
    rows = reader.get(f"{url}/rows", state=state).json()["rows"]
    assert len(rows) == count
    for row in rows:
        assert (row["died_seq"] is None) == (row["archived_by_pass"] is None)
    assert {row["made_by_pass"] for row in rows if row["kind"] == "micro_summary"} <= {1}


@pytest.mark.parametrize(
    "query",
    [
        {"state": "maybe"},
        {"limit": 0},
        {"limit": 201},
        {"limit": "many"},
        {"after": "x"},
        {"before": "%%%"},
        {"after": "MS0y", "before": "MS0y"},
        {"raw": "perhaps"},
        {"after": "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OS0x"},
    ],
)
def test_a_parameter_that_cannot_be_used_is_refused_and_named(query, past, reader, url):
    answer = reader.get(f"{url}/rows", **query)
    assert answer.status_code == 400
    assert {field["path"] for field in answer.json()["fields"]} <= set(query)
    assert answer.json()["fields"]


def test_the_source_record_is_told_only_when_asked_for(rows, reader, url):
    row_id = rows.append(user("a", raw='{"line": 1}'))[0]
    assert reader.get(f"{url}/rows/{row_id}").json()["raw"] is None
    assert reader.get(f"{url}/rows/{row_id}", raw="true").json()["raw"] == '{"line": 1}'
    assert reader.get(f"{url}/rows", raw="true").json()["rows"][0]["raw"] == '{"line": 1}'


def test_sessions_are_listed_newest_first_a_page_at_a_time(project, reader):
    made = [services.create_session(project, f"number {n}").public_id for n in range(7)]

    def read(**query):
        return reader.get("/projects/review/sessions", limit=3, **query).json()

    pages = collect(read, "sessions", "after")
    assert [session["id"] for page in pages for session in page] == made[::-1]
    assert [len(page) for page in pages] == [3, 3, 1]


def test_a_session_is_made_once_per_id_of_its_maker(writer, project):
    asked = {"title": "T", "client_id": "mine", "model": "m", "window_tokens": 128_000, "fixed_overhead_tokens": 9}
    made = writer.send("/projects/review/sessions", asked)
    again = writer.send("/projects/review/sessions", {**asked, "title": "other"})
    assert (made.status_code, again.status_code) == (201, 200)
    assert again.json() == made.json()
    assert made.json()["threshold_tokens"] == 96_000
    assert made.json()["occupancy_pct"] == 0.0
    assert Session.objects.filter(project=project).count() == 1


def test_an_unknown_window_is_told_as_unknown(writer):
    made = writer.send("/projects/review/sessions", {"model": "nobody-knows-it"}).json()
    assert [made[name] for name in ("window_tokens", "threshold_tokens", "occupancy_pct")] == [None, None, None]


def test_a_session_ends_once_and_a_later_row_opens_it(writer, url):
    first = writer.send(f"{url}/end", {"reason": "done"}).json()
    again = writer.send(f"{url}/end", {"reason": "other"}).json()
    assert (first["status"], first["end_reason"]) == ("ended", "done")
    assert (again["end_reason"], again["last_seq"]) == ("done", first["last_seq"])
    writer.send(f"{url}/rows", {"rows": [message("more")]})
    assert writer.get(url).json()["status"] == "live"


def test_the_context_is_what_the_model_saw_at_each_event(past, reader, url, session):
    newest = Session.objects.get(pk=session.pk).last_seq
    for seq in range(newest + 1):
        context = reader.get(f"{url}/context", as_of=seq).json()
        assert context["seq"] == seq
        assert [row_id for ids in context["row_ids"] for row_id in ids] == list(row_ids_as_of(session.pk, seq))
    now = reader.get(f"{url}/context").json()
    assert now == reader.get(f"{url}/context", as_of=newest).json()
    assert now["messages"][1]["content"] == "what happened so far"


def test_the_context_says_what_had_to_be_repaired(rows, reader, url):
    ids = rows.append(user("a"), user("b"), assistant("c"), result("nobody", "asked"), user("d"))
    context = reader.get(f"{url}/context").json()
    assert [message["content"] for message in context["messages"]] == ["a\n\nb", "c", "d"]
    assert {(repair["kind"], *repair["row_ids"]) for repair in context["repairs"]} == {
        ("merged_neighbours", ids[0], ids[1]),
        ("dropped_result", ids[3]),
    }
    free = reader.get(f"{url}/context", profile="free").json()
    assert [message["content"] for message in free["messages"]] == ["a", "b", "c", "d"]


def test_an_event_that_has_not_happened_is_refused(past, reader, url):
    answer = reader.get(f"{url}/context", as_of=1_000)
    assert answer.status_code == 400
    assert answer.json()["fields"] == [{"path": "as_of", "message": "the newest event is 9"}]


def test_events_behind_a_number_come_in_bounded_pages_that_say_whether_more_follow(past, reader, url):
    def read(after):
        return reader.get(f"{url}/events", after=after, limit=4).json()

    pages = [read(0), read(4), read(8), read(9)]
    assert [[event["seq"] for event in page["events"]] for page in pages] == [[1, 2, 3, 4], [5, 6, 7, 8], [9], []]
    assert [page["more"] for page in pages] == [True, True, False, False]
    assert {page["last_seq"] for page in pages} == {9}
    assert (pages[2]["events"][0]["kind"], pages[2]["events"][0]["pass_number"]) == ("pass", 1)


def test_a_pass_is_told_as_it_was_stored(past, reader, url, session):
    listed = reader.get(f"{url}/passes").json()
    detail = reader.get(f"{url}/passes/1").json()
    assert listed["next"] is None
    assert [one["number"] for one in listed["passes"]] == [1]
    assert {name: detail[name] for name in listed["passes"][0]} == listed["passes"][0]
    assert (detail["outcome"], detail["committed"], detail["seq"]) == ("absorbed", True, 9)
    archived = MessageRow.objects.filter(session=session, archived_by__isnull=False).order_by("position")
    assert detail["edit"]["archived"] == list(archived.values_list("id", flat=True))
    assert reader.get(f"{url}/passes", kind="batch").json()["passes"] == []


def test_every_version_of_a_summary_is_told_with_the_passes_that_made_and_superseded_it(past, reader, url):
    past.absorb([row.pk for row in past.live()][3:6], "and then some more")
    page = reader.get(f"{url}/summaries", limit=1).json()
    rest = reader.get(f"{url}/summaries", after=page["next"]).json()
    versions = [*page["summaries"], *rest["summaries"]]
    assert [(one["number"], one["made_by_pass"], one["superseded_by_pass"]) for one in versions] == [
        (1, 1, 2),
        (2, 2, None),
    ]
    assert reader.get(f"{url}/summaries/2").json() == versions[1]


def test_occupancy_ends_at_what_the_session_says_of_itself(past, reader, url):
    series = reader.get(f"{url}/occupancy").json()
    session = reader.get(url).json()
    assert [point["seq"] for point in series["points"]] == list(range(1, 10))
    assert series["points"][-1]["occupancy_pct"] == session["occupancy_pct"]
    assert series["points"][-1]["tokens"] == session["live_tokens"] + session["fixed_overhead_tokens"]
    assert series["threshold_tokens"] == session["threshold_tokens"]


def test_a_turn_is_finished_once(writer, url, rows):
    rows.append(user("a"), assistant("b"))
    finished = [writer.send(f"{url}/turns/finish", {}).json() for _ in range(2)]
    assert finished == [{"turn": 1}, {"turn": None}]


@pytest.mark.parametrize(
    ("path", "most"),
    [
        ("/projects/review/sessions", 3),
        ("{url}", 3),
        ("{url}/rows", 4),
        ("{url}/context", 4),
        ("{url}/passes", 4),
        ("{url}/summaries", 4),
        ("{url}/events", 4),
        ("{url}/occupancy", 5),
        ("{url}/runs", 4),
        # One of them enters the export into the audit log, others look whether the session is still there.
        ("{url}/export", 15),
    ],
)
def test_a_list_takes_the_same_queries_however_long_it_is(
    path, most, project, session, past, url, reader, django_assert_num_queries, django_assert_max_num_queries
):
    address = path.format(url=url)

    def read():
        answer = reader.get(address)
        assert answer.status_code == 200
        return b"".join(answer) if answer.streaming else answer.content

    with django_assert_max_num_queries(most) as few:
        read()
    for number in range(12):
        services.create_session(project, f"number {number}")
    RowBuilder(session.pk).turns(6)
    for _ in range(4):
        past.absorb([row.pk for row in past.live() if row.kind == "message"][1:4])
    with django_assert_num_queries(len(few)):
        read()
