"""Rows sent by programs: stored once, in order, whatever is in them."""

import json
import threading

import httpx
import pytest
from api_client import message

from sessions_app import services
from sessions_app.models import MessageRow, Session
from sessions_app.queries.totals import counted, recounted
from sessions_app.services.tokens import issue_token

pytestmark = pytest.mark.django_db


def append(client, url, *rows):
    return client.send(f"{url}/rows", {"rows": list(rows)})


def contents(session):
    return list(MessageRow.objects.filter(session=session).order_by("position").values_list("content", flat=True))


def test_a_batch_is_stored_in_its_order_and_sent_again_changes_nothing(writer, url, session):
    batch = [message(f"m{number}", client_id=f"c{number}") for number in range(5)]
    first = append(writer, url, *batch).json()
    again = append(writer, url, *batch).json()
    assert (first["added"], first["already_present"], first["last_seq"]) == (5, 0, 5)
    assert (again["added"], again["already_present"], again["last_seq"]) == (0, 5, 5)
    assert again["row_ids"] == first["row_ids"]
    assert contents(session) == ["m0", "m1", "m2", "m3", "m4"]


def test_a_batch_that_overlaps_an_earlier_one_adds_only_what_is_new(writer, url, session):
    append(writer, url, message("a", client_id="a"), message("b", client_id="b"))
    answer = append(writer, url, message("b", client_id="b"), message("c", client_id="c"), message("c", client_id="c"))
    assert (answer.json()["added"], answer.json()["already_present"]) == (1, 2)
    assert contents(session) == ["a", "b", "c"]


def test_rows_without_an_id_of_their_own_are_always_new(writer, url, session):
    append(writer, url, message("same"), message("same"))
    assert contents(session) == ["same", "same"]


def test_a_provider_message_comes_back_as_it_was_sent(writer, reader, url, project):
    services.save_policy(project.pk, {"compression": {"resend_reasoning": "all"}}, None)
    sent = [
        {"role": "system", "content": "You help."},
        {"role": "user", "content": [{"type": "text", "text": "look"},
            {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}]},
        {"role": "assistant", "content": None, "reasoning_content": "hm", "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "read", "arguments": '{"path": "a"}'}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "text"},
        {"role": "assistant", "content": "done", "x_vendor": {"kept": [1, 2.5, None]}},
    ]  # fmt: skip
    ids = append(writer, url, *({"message": one} for one in sent)).json()["row_ids"]
    assert [reader.get(f"{url}/rows/{row_id}").json()["message"] for row_id in ids] == sent
    assert [one["message"] for one in reader.get(f"{url}/rows").json()["rows"]] == sent
    assert reader.get(f"{url}/context").json()["messages"] == sent


def test_what_the_sender_knows_of_a_row_is_kept(writer, reader, url):
    row = message("hi", client_id="x", at="2026-01-02T03:04:05+02:00", model="m-1", usage={"input_tokens": 7})
    row_id = append(writer, url, row).json()["row_ids"][0]
    stored = reader.get(f"{url}/rows/{row_id}").json()
    assert stored["client_id"] == "x"
    assert stored["at"] == "2026-01-02T01:04:05Z"
    assert stored["model"] == "m-1"
    assert stored["usage"] == {
        "input_tokens": 7,
        "output_tokens": None,
        "cache_read_tokens": None,
        "cache_write_tokens": None,
    }


def test_an_odd_message_is_taken_and_the_oddity_told_with_its_place(writer, url):
    answer = append(writer, url, message("fine"), {"message": {"role": "tool", "content": "no call"}}).json()
    assert [(note["path"], note["kind"]) for note in answer["notes"]] == [("rows.1.message", "missing_call_id")]


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({"message": {"content": "no role"}}, "rows.0.message.role"),
        ({"message": {"role": "robot", "content": "x"}}, "rows.0.message.role"),
        ({"message": {"role": ["user"], "content": "x"}}, "rows.0.message.role"),
        ({"message": "text"}, "rows.0.message"),
        ({}, "rows.0.message"),
        (message("x", at="2026-01-01T00:00:00"), "rows.0.at"),
        (message("x", at="0001-01-01T00:00:00+14:00"), "rows.0.at"),
        (message("x", at="9999-01-01T00:00:00Z"), "rows.0.at"),
        (message("x", client_id=""), "rows.0.client_id"),
        (message("x", client_id="i" * 201), "rows.0.client_id"),
        (message("x", usage={"input_tokens": -1}), "rows.0.usage.input_tokens"),
        (message("x", usage={"input_tokens": 2**63}), "rows.0.usage.input_tokens"),
        (message("x", content="beside"), "rows.0.content"),
    ],
)
def test_a_row_that_cannot_be_stored_is_refused_with_its_path_and_nothing_is_stored(row, path, writer, url, session):
    answer = append(writer, url, row, message("never"))
    assert answer.status_code == 422
    assert [field["path"] for field in answer.json()["fields"]] == [path]
    assert contents(session) == []


@pytest.mark.parametrize("count", [0, 501])
def test_a_batch_of_a_size_that_is_not_allowed_is_refused(count, writer, url, session):
    answer = append(writer, url, *[message("x")] * count)
    assert answer.status_code == 422
    assert answer.json()["fields"][0]["path"] == "rows"
    assert contents(session) == []


def test_five_hundred_rows_are_one_batch_and_their_queries_do_not_grow_with_them(
    writer, url, django_assert_max_num_queries
):
    with django_assert_max_num_queries(15):
        assert append(writer, url, *[message("x")] * 500).json()["added"] == 500


@pytest.mark.parametrize("body", ['"a\\u0000b"', '"a\\ud800b"', '"a\\udc88"'], ids=["nul", "high", "low"])
def test_a_character_no_database_can_hold_is_replaced_everywhere_it_may_stand(body, writer, reader, url, session):
    text = json.loads(body)
    row = f'{{"message": {{"role": "user", "content": {body}, {body}: {body}}}, "client_id": {body}, "model": {body}}}'
    answer = writer.send(f"{url}/rows", f'{{"rows": [{row}]}}')
    assert answer.status_code == 200, answer.content
    assert "replaced_character" in {note["kind"] for note in answer.json()["notes"]}
    stored = reader.get(f"{url}/rows").json()["rows"][0]
    assert text not in json.dumps(stored, ensure_ascii=False)
    assert stored["message"]["content"].count("\ufffd") == 1
    for part in ("", "/rows", "/context", "/events", "/occupancy", "/export", "/passes"):
        assert reader.get(url + part).status_code == 200
    assert writer.send(f"{url}/turns/finish", {}).json() == {"turn": 1}


def test_a_row_of_five_megabytes_is_stored_and_read_whole(writer, reader, url):
    text = "slow café\n" * (5 * 2**20 // 11)
    row_id = append(writer, url, message(text)).json()["row_ids"][0]
    assert reader.get(f"{url}/rows/{row_id}").json()["message"]["content"] == text


def test_a_page_of_large_rows_ends_early_and_goes_on(writer, reader, url):
    for number in range(4):
        append(writer, url, message(str(number) * 5_000_000))
    seen, cursor = [], ""
    while cursor is not None:
        page = reader.get(f"{url}/rows", after=cursor).json()
        assert 1 <= len(page["rows"]) <= 2
        seen += [row["position"] for row in page["rows"]]
        cursor = page["next"]
    assert seen == [0, 1, 2, 3]


def test_text_that_is_deep_json_is_just_text(writer, reader, url):
    deep = "[" * 3_000 + "]" * 3_000
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": deep}}
    append(writer, url, message("q"), {"message": {"role": "assistant", "content": None, "tool_calls": [call]}})
    assert reader.get(f"{url}/context").json()["messages"][1]["tool_calls"] == [call]
    assert b"".join(reader.get(f"{url}/export")).count(b"[" * 3_000) == 1


def test_two_clients_that_send_the_same_rows_at_once_store_each_once_and_in_order(
    application, live_server, project, url, session
):
    headers = {"Authorization": f"Bearer {issue_token(project, 'both', may_write=True).secret}"}
    batches = [[message(f"m{n}", client_id=f"c{n}") for n in range(first, first + 10)] for first in range(0, 200, 5)]
    ready, answers = threading.Barrier(2), []

    def send_all():
        with httpx.Client(headers=headers, timeout=60, trust_env=False) as client:
            ready.wait(20)
            for batch in batches:
                answers.append(client.post(f"{live_server.url}/api/v1{url}/rows", json={"rows": batch}))

    threads = [threading.Thread(target=send_all) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert {answer.status_code for answer in answers} == {200}
    assert len(answers) == 2 * len(batches)
    assert sum(answer.json()["added"] for answer in answers) == 205
    assert contents(session) == [f"m{n}" for n in range(205)]
    stored = Session.objects.get(pk=session.pk)
    assert counted(stored) == recounted(session.pk)
    positions = MessageRow.objects.filter(session=session).order_by("position").values_list("position", flat=True)
    assert list(positions) == list(range(205))
