"""Faults that APIs of such systems were found to have, each on what set it off."""

import json

import pytest
from django.contrib.auth.models import User
from row_builder import COUNTER, RowBuilder

from compaction.extractive import ExtractiveSummarizer
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import MemberRole, MessageRow, Session
from sessions_app.queries.totals import recounted

pytestmark = pytest.mark.django_db
PUNCTUATED = "#123 src/main.py don't 50% a@b.example ok? $5 a,b wrong-book TODO: \"half quote; search"
WORDS = [*PUNCTUATED.split(), "src/main.py don't", '"half', "50%", "a,b", "_", "%", "\\", "'", "--", "&|!", "<->", "*"]


def found(client, words):
    answer = client.get("/projects/review/sessions", q=words)
    assert answer.status_code == 200, answer.content
    return [session["title"] for session in answer.json()["sessions"]]


@pytest.mark.parametrize("words", WORDS[:14])
def test_a01_words_with_punctuation_are_found_as_they_stand(words, project, reader):
    services.create_session(project, PUNCTUATED)
    services.create_session(project, "another one")
    assert found(reader, words) == [PUNCTUATED]


@pytest.mark.parametrize("words", ["\x00", "a\x00b", "x" * 201])
def test_a01_a_search_that_means_nothing_is_refused_and_not_answered_with_nothing(words, project, reader):
    answer = reader.get("/projects/review/sessions", q=words)
    assert answer.status_code == 400
    assert [field["path"] for field in answer.json()["fields"]] == ["q"]


def test_a04_which_rows_one_asks_for_is_honoured_and_nothing_is_ignored(past, reader, url):
    states = {state: reader.get(f"{url}/rows", state=state).json()["rows"] for state in ("all", "live", "archived")}
    assert {state: len(rows) for state, rows in states.items()} == {"all": 9, "live": 6, "archived": 3}
    for query in ({"state": "maybe"}, {"include_compacted": "true"}, {"unknown": 1}):
        answer = reader.get(f"{url}/rows", **query)
        assert (answer.status_code, [field["path"] for field in answer.json()["fields"]]) == (400, list(query))


def test_a05_page_list_single_read_and_export_tell_the_same_of_a_row(
    past, session, project, reader, writer, url, client
):
    listed = reader.get(f"{url}/rows").json()["rows"]
    exported = json.loads(b"".join(writer.get(f"{url}/export", redact="false")))["rows"]
    read = [reader.get(f"{url}/rows/{row['id']}").json() for row in listed]
    assert listed == [{name: row[name] for name in listed[0]} for row in exported] == read
    member = User.objects.create_user("mira")
    services.add_member(project, member, MemberRole.VIEWER)
    client.force_login(member)
    for row in listed:
        page = client.get(f"/s/{session.public_id}/row/{row['id']}/raw/").json()
        shared = (
            "position",
            "kind",
            "born_seq",
            "died_seq",
            "made_by_pass",
            "archived_by_pass",
            "tokens",
            "token_counter",
        )
        assert [page[name] for name in shared] == [row[name] for name in shared]
        assert page["content"] == row["message"].get("content")


def test_a06_half_a_surrogate_pair_is_marked_and_stops_neither_reading_nor_a_pass(writer, reader):
    small = {"micro_compact": True, "threshold_floor": False, "target_ratio": 0.05, "protect_first_n": 0}
    writer.send("/projects/review/settings", {"compression": small}, "PUT")
    made = writer.send("/projects/review/sessions", {"title": "small", "window_tokens": 20_000}).json()
    url, session_id = f"/sessions/{made['id']}", Session.objects.get(public_id=made["id"]).pk
    RowBuilder(session_id).turns(1)
    broken = '{"role": "assistant", "content": "x \\udc88 y, said with a few more words"}'
    asked = '{"role": "user", "content": "why \\ud800?"}'
    sent = writer.send(f"{url}/rows", f'{{"rows": [{{"message": {asked}}}, {{"message": {broken}}}]}}')
    assert sent.status_code == 200
    RowBuilder(session_id).turns(20)
    for _ in range(3):
        writer.send(f"{url}/turns/finish", {})
        finalize_turns(session_id, ExtractiveSummarizer(COUNTER), COUNTER)
        RowBuilder(session_id).turns(1)
    passes = reader.get(f"{url}/passes").json()["passes"]
    assert [one["outcome"] for one in passes] == ["absorbed"] * 3
    assert reader.get(url).json()["last_error"] == ""
    for path in ("", "/rows", "/context", "/events", "/export", "/passes", "/summaries", "/occupancy"):
        assert reader.get(url + path).status_code == 200
    rows = reader.get(f"{url}/rows", state="all").json()["rows"]
    assert [row["archived_by_pass"] for row in rows if "\ufffd y" in str(row["message"])][0] is not None
    assert found(reader, "small") == ["small"]


@pytest.mark.parametrize("words", ["123", "HN", "1", "é", "客"])
def test_a07_five_hundred_sessions_are_listed_in_as_many_queries_as_one(
    words, project, reader, django_assert_max_num_queries
):
    for number in range(500):
        services.create_session(project, f"number {number} HN")
    with django_assert_max_num_queries(3):
        page = reader.get("/projects/review/sessions", limit=200).json()
    assert len(page["sessions"]) == 200
    titles = found(reader, words)
    assert all(words in title for title in titles)
    assert bool(titles) == (words in ("123", "HN", "1"))


def test_a08_counts_say_what_they_count_and_are_those_of_the_rows(rows, reader, url, session):
    rows.turns(22)
    for _ in range(20):
        messages = [row.pk for row in rows.live() if row.kind == "message" and row.role != "user"]
        rows.absorb(messages[:3])
    counts = reader.get(url).json()["rows"]
    totals = recounted(session.pk)
    assert counts == {
        "live": totals["live_rows"],
        "archived": totals["archived_rows"],
        "rewound": totals["rewound_rows"],
        "summaries": totals["summary_rows"],
    }
    assert counts["archived"] == 60
    listed = reader.get("/projects/review/sessions").json()["sessions"]
    exported = json.loads(b"".join(reader.get(f"{url}/export")))
    assert [one["rows"] for one in (*listed, exported["session"])] == [counts, counts]
    assert len(exported["rows"]) == MessageRow.objects.filter(session=session).count() == 88 + 20
