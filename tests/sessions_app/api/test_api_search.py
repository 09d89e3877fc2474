"""The search parameter of lists: full text over rows, live and archived, within what a token reaches."""

import pytest
from row_builder import assistant, user

from sessions_app import services
from sessions_app.api import searching
from sessions_app.queries.bounded import TookTooLong

pytestmark = pytest.mark.django_db(transaction=True)


def ids(answer):
    assert answer.status_code == 200, answer.json()
    return [one["id"] for one in answer.json()["sessions"]]


def test_sessions_are_found_by_words_of_their_rows(project, session, rows, reader):
    first = rows.append(user("the flamingo 检索"), assistant("gone"))
    rows.append(user("next"), assistant("yes"))
    rows.absorb(list(first), text="## Key Decisions\n- none")
    services.create_session(project, "Another")
    url = f"/projects/{project.slug}/sessions"
    assert ids(reader.get(url, q="flamingo")) == [session.public_id]
    assert ids(reader.get(url, q="检索")) == [session.public_id]
    assert ids(reader.get(url, q="ong rev")) == [session.public_id]
    assert ids(reader.get(url, q="heron")) == []


def test_a_token_finds_nothing_outside_its_project(session, rows, foreigner):
    rows.append(user("flamingo"))
    assert ids(foreigner.get("/projects/other/sessions", q="flamingo")) == []


def test_rows_of_a_session_are_found_by_their_words_in_both_states(session, rows, reader):
    first = rows.append(user("the flamingo"), assistant("gone"))
    last = rows.append(user("another flamingo"), assistant("yes"))
    rows.absorb(list(first), text="## Key Decisions\n- none")
    url = f"/sessions/{session.public_id}/rows"

    def found(**asked):
        return [row["id"] for row in reader.get(url, **asked).json()["rows"]]

    assert found(q="flamingo") == [first[0], last[0]]
    assert found(q="flamingo", state="archived") == [first[0]]
    assert found(q="flamingo -another") == [first[0]]
    page = reader.get(url, q="flamingo", limit=1).json()
    assert [row["id"] for row in reader.get(url, q="flamingo", after=page["next"]).json()["rows"]] == [last[0]]


@pytest.mark.parametrize("words", ["!!!", "-flamingo"])
def test_a_query_that_says_nothing_is_refused_by_the_name_of_its_parameter(session, reader, words):
    for url in ("/projects/review/sessions", f"/sessions/{session.public_id}/rows"):
        answer = reader.get(url, q=words)
        assert answer.status_code == 400
        assert [field["path"] for field in answer.json()["fields"]] == ["q"]


def test_a_search_that_takes_too_long_is_answered_as_such(project, session, reader, monkeypatch):
    def too_long(*_):
        raise TookTooLong

    monkeypatch.setattr(searching, "sessions_with_hits", too_long)
    answer = reader.get(f"/projects/{project.slug}/sessions", q="flamingo")
    assert (answer.status_code, answer.json()["error"]) == (503, "search_took_too_long")
