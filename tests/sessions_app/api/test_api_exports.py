"""Exports: complete, marked, and without secrets unless somebody asks for them."""

import json

import pytest
from row_builder import user

pytestmark = pytest.mark.django_db
SECRET = "sk-proj-" + "Ab3dEf6hIj9kLm2n" * 3


def document(client, url, **query):
    return json.loads(b"".join(client.get(f"{url}/export", **query)))


def lines(client, url, **query):
    text = b"".join(client.get(f"{url}/export", format="jsonl", **query)).decode()
    return [json.loads(line) for line in text.splitlines()]


def test_an_export_holds_exactly_what_the_lists_tell(past, reader, url):
    exported = document(reader, url)
    assert exported["session"] == reader.get(url).json()
    assert exported["rows"] == reader.get(f"{url}/rows").json()["rows"]
    assert exported["passes"] == reader.get(f"{url}/passes").json()["passes"][::-1]
    assert exported["summaries"] == reader.get(f"{url}/summaries").json()["summaries"]


def test_lines_and_document_hold_the_same(past, reader, url):
    whole, (head, *records) = document(reader, url), lines(reader, url)
    assert head == {"record": "session", **{name: whole[name] for name in ("format", "version", "redacted", "session")}}
    expected = [
        {"record": name, **one}
        for name, plural in (("row", "rows"), ("pass", "passes"), ("summary", "summaries"))
        for one in whole[plural]
    ]
    assert records == expected


@pytest.mark.parametrize("read", [document, lines])
def test_secrets_are_masked_and_the_export_says_so_unless_it_was_asked_not_to(read, rows, reader, writer, url):
    rows.append(user(f"my key is {SECRET}, keep it"))
    masked, plain = read(reader, url), read(writer, url, redact="false")
    assert SECRET not in str(masked)
    assert "[REDACTED]" in str(masked)
    assert SECRET in str(plain)
    head = (masked[0], plain[0]) if isinstance(masked, list) else (masked, plain)
    assert [one["redacted"] for one in head] == [True, False]


def test_a_token_that_may_only_read_gets_no_secrets(past, reader, url):
    refused = reader.get(f"{url}/export", redact="false")
    assert refused.status_code == 403
    assert refused.json()["error"] == "forbidden"


@pytest.mark.parametrize(("name", "media_type"), [("md", "text/markdown"), ("html", "text/html")])
def test_a_session_can_be_had_as_a_text_or_a_page_to_read(name, media_type, past, reader, url):
    answer = reader.get(f"{url}/export", format=name)
    assert answer["Content-Type"].startswith(media_type)
    assert "question 1" in b"".join(answer).decode()


def test_the_name_of_an_export_with_secrets_says_so(past, writer, url):
    names = [writer.get(f"{url}/export", redact=word)["Content-Disposition"] for word in ("true", "false")]
    assert [name.endswith('-unredacted.json"') for name in names] == [False, True]


def test_an_empty_session_is_exported_too(reader, url):
    assert [document(reader, url)[name] for name in ("rows", "passes", "summaries")] == [[], [], []]
