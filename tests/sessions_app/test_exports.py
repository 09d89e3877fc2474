"""Exports from the page: every format, what is masked, what can't break out, and what comes back in."""

import json
import re
import tracemalloc

import pytest
from django.contrib.auth.models import User
from django.test import Client
from row_builder import RowBuilder, assistant, call, result, user

from compaction.edits import Edit, NewRow
from compaction.formats.source_file import SourceFile
from compaction.messages import Message, Role, RowKind
from compaction.records import Outcome, PassKind, PassRecord
from compaction.tokens import RoughCounter
from sessions_app import services
from sessions_app.exporting.formats import ExportFormat, export_pieces
from sessions_app.importing.files import import_file
from sessions_app.models import AuditAction, AuditEntry, MemberRole, MessageRow, Session, SummaryRevision

pytestmark = pytest.mark.django_db
SECRET = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1m" * 5
EVIL = '<img src=x onerror="alert(1)"><script>alert(2)</script>'
FORMATS = [one.value for one in ExportFormat]


@pytest.fixture
def client(project):
    return client_of(project, MemberRole.EDITOR)


def client_of(project, role, name="olga"):
    person = User.objects.create_user(name)
    services.add_member(project, person, role)
    client = Client()
    client.force_login(person)
    return client


def text_of(session, export_format, is_redacted=True):
    return b"".join(export_pieces(session, ExportFormat(export_format), is_redacted=is_redacted)).decode()


@pytest.mark.parametrize("ending", FORMATS)
def test_every_format_comes_redacted_from_the_page_and_says_so(client, session, rows, ending):
    rows.append(user(f"the key is {SECRET}"), assistant("noted"))
    answer = client.get(f"/s/{session.public_id}/export/session.{ending}")
    text = b"".join(answer.streaming_content).decode()
    assert answer.status_code == 200
    assert SECRET not in text
    assert "[REDACTED]" in text
    assert re.search('"redacted":true|Redacted: secrets are masked', text)
    assert answer["Content-Disposition"] == f'attachment; filename="session-{session.public_id}.{ending}"'


def test_who_took_a_copy_stands_in_the_audit_log(client, session):
    client.get(f"/s/{session.public_id}/export/session.html?unredacted")
    noted = AuditEntry.objects.get(action=AuditAction.SESSION_EXPORTED)
    assert noted.subject == session.public_id
    assert noted.details == [["format", "html"], ["secrets", "not masked"]]


@pytest.mark.parametrize("ending", FORMATS)
def test_secrets_are_handed_to_writers_who_ask_and_to_nobody_else(client, project, session, rows, ending):
    rows.append(user(f"the key is {SECRET}"), assistant("noted"))
    path = f"/s/{session.public_id}/export/session.{ending}?unredacted"
    answer = client.get(path)
    assert SECRET in b"".join(answer.streaming_content).decode()
    assert "-unredacted" in answer["Content-Disposition"]
    viewer = client_of(project, MemberRole.VIEWER, "vera")
    assert viewer.get(path).status_code == 403
    assert viewer.get(path.removesuffix("?unredacted")).status_code == 200
    stranger = Client()
    stranger.force_login(User.objects.create_user("nobody"))
    assert stranger.get(path).status_code == 404


def test_the_page_offers_secrets_to_writers_only(client, project, session):
    path = f"/s/{session.public_id}/export/"
    assert "Unredacted JSON" in client.get(path).content.decode()
    assert "Unredacted JSON" not in client_of(project, MemberRole.VIEWER, "vera").get(path).content.decode()
    assert client.get(f"{path}session.exe").status_code == 404


def test_html_and_script_in_every_field_are_text_in_the_page(session, rows):
    """U01: a tool's name went unescaped into the HTML export while all its siblings were escaped."""
    Session.objects.filter(pk=session.pk).update(title=EVIL, model=EVIL)
    rows.append(
        user(EVIL),
        call(EVIL, name=EVIL, arguments=json.dumps({"command": EVIL})),
        result(EVIL, f"</pre></article>{EVIL}"),
    )
    rows.append(assistant(f"[x](javascript:alert(3)) ![y](https://tracker.example/y.png) {EVIL}"))
    html = text_of(rows.session, "html")
    assert "<script" not in html.replace("&lt;script", "")
    assert "<img" not in html
    assert "javascript:" not in re.sub(r">[^<]*<", "><", html)
    assert html.count("<article") == html.count("</article>") == 4
    assert "default-src &#x27;none&#x27;; style-src &#x27;sha256-" in html
    assert not re.search(r'(?:src|href)="https?://tracker', html)


def test_the_style_sheet_is_the_one_that_the_pages_own_policy_allows(session):
    import base64
    import hashlib

    html = text_of(session, "html")
    style = re.search(r"<style>(.*?)</style>", html, re.S).group(1)
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"sha256-{digest}" in html.replace("&#x2B;", "+")


def test_a_row_can_not_leave_its_place_in_markdown(session, rows):
    rows.append(
        user("## not a heading\n```\nopen fence"), call("c", name="a`b``c"), result("c", "```\n# not a heading\n````")
    )
    rows.append(assistant("the end"))
    headings = [line for line in unfenced(text_of(session, "md")).splitlines() if line.startswith("#")]
    assert headings == ["# A long review", "## 0, user", "## 1, assistant", "## 2, tool", "## 3, assistant"]


def unfenced(text):
    """The text without its blocks of code, fences of any length."""
    return re.sub(r"^(`{3,})[^\n`]*\n.*?^\1$", "", text, flags=re.S | re.M)


def test_what_became_of_rows_stands_in_the_texts_for_people(session, rows):
    rows.turns(3)
    rows.absorb([row.pk for row in rows.live()[5:8]], text="what happened")
    for ending in ("md", "html"):
        text = text_of(rows.session, ending)
        assert text.count("archived by pass 1") == 3
        assert text.count("made by pass 1") == 1
        assert "what happened" in text


def a_past(rows):
    """Passes of each kind, an undo and a rewind."""
    rows.turns(8)
    for number in range(2):
        live = [row for row in rows.live() if row.kind == "message"]
        rows.absorb([row.pk for row in live[5:8]], text=f"step {number}")
    before = rows.live_micro()
    new = NewRow(RowKind.MICRO_SUMMARY, before.position, Message(Role.ASSISTANT, "rewritten"), 3)
    record = PassRecord(PassKind.DEFRAG, Outcome.DEFRAG, edit=Edit((), (before.pk,), (new,)), summary_after="rewritten")
    rows.commit(record.edit, record)
    long = next(row for row in rows.live() if row.role == "tool")
    stub = NewRow(
        RowKind.PRUNE_STUB, long.position, Message(Role.TOOL, "[pruned]", tool_call_id="c"), 2, replaces=long.pk
    )
    pruned = PassRecord(PassKind.PRUNE, Outcome.PRUNED, edit=Edit((long.pk,), (), (stub,)))
    rows.commit(pruned.edit, pruned)
    live = [row for row in rows.live() if row.kind == "message"]
    rows.absorb([row.pk for row in live[8:11]], text="to be undone")
    services.undo_last_pass(rows.session_id)
    rows.append(user("one more"), assistant("and its answer"))


def imported(project, session, ending, tmp_path, is_redacted=False):
    path = tmp_path / f"export.{ending}"
    path.write_bytes(b"".join(export_pieces(session, ExportFormat(ending), is_redacted=is_redacted)))
    outcome = import_file(SourceFile(path), project, RoughCounter())
    return Session.objects.get(public_id=outcome.sessions[0].public_id), outcome


def told(session):
    """Rows as people see them: place in order, kind, text, live or not, and the passes of their life."""
    rows = (
        MessageRow.objects.filter(session=session).select_related("made_by", "archived_by").order_by("position", "id")
    )
    kept = [row for row in rows if row.made_by is None or row.made_by.undone_seq is None]
    return [
        (row.kind, row.role, row.content, row.died_seq is None, kind_of(row.made_by), kind_of(row.archived_by))
        for row in kept
    ]


def kind_of(made_by):
    return None if made_by is None else made_by.kind


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_kinds_survive_export_and_import_and_a_summary_is_never_a_message(project, session, rows, ending, tmp_path):
    """U06: a summary's kind was dropped on the way, and it came back as an ordinary message."""
    a_past(rows)
    copy, _ = imported(project, rows.session, ending, tmp_path)
    assert sorted(told(copy), key=str) == sorted(told(session), key=str)
    assert copy.source == "sessions-export"
    kinds = set(MessageRow.objects.filter(session=copy).values_list("kind", flat=True))
    assert kinds == {"message", "micro_summary", "prune_stub"}
    assert (copy.micro_passes, copy.defrag_passes, copy.prune_passes) == (3, 1, 1)
    texts = SummaryRevision.objects.filter(session=copy).order_by("number").values_list("kind", "text")
    versions = [("micro", "step 0"), ("micro", "step 1"), ("defrag", "rewritten"), ("micro", "to be undone")]
    assert list(texts) == versions


def test_importing_an_export_again_adds_nothing(project, session, rows, tmp_path):
    a_past(rows)
    copy, _ = imported(project, rows.session, "jsonl", tmp_path)
    before = told(copy)
    again, outcome = imported(project, rows.session, "jsonl", tmp_path)
    assert again == copy
    assert outcome.sessions[0].rows_added == outcome.sessions[0].passes_added == 0
    assert told(again) == before


@pytest.mark.parametrize("ending", ["json", "jsonl"])
def test_a_redacted_export_comes_in_as_a_redacted_copy_and_never_as_the_original(
    project, session, rows, ending, tmp_path
):
    rows.append(user(f"the key is {SECRET}"), assistant("noted"))
    original, _ = imported(project, rows.session, ending, tmp_path)
    copy, _ = imported(project, rows.session, ending, tmp_path, is_redacted=True)
    assert copy != original
    assert (copy.source, copy.extras["redacted"]) == ("redacted-export", True)
    assert SECRET in original.rows.first().content
    assert SECRET not in copy.rows.first().content


def test_memory_for_an_export_does_not_grow_with_the_session(project):
    """Of a session of ten times as many rows, an export takes no more memory while it is made."""
    peaks = []
    for count in (300, 3_000):
        session = services.create_session(project, f"{count} rows", window_tokens=200_000)
        builder = RowBuilder(session.pk)
        for _ in range(count // 300):
            builder.append(
                *[one for n in range(150) for one in (user(f"question {n} " * 40), assistant("answer " * 40))]
            )
        for export_format in ExportFormat:
            for _piece in export_pieces(builder.session, export_format, is_redacted=True):
                break
        tracemalloc.start()
        for export_format in ExportFormat:
            for _piece in export_pieces(builder.session, export_format, is_redacted=True):
                pass
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < peaks[0] * 1.6 + 500_000
