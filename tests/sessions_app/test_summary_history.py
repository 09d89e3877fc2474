"""The history of a summary: every version is reachable, what changed, what it was made from, kept and lost."""

import re

import pytest
from page_reading import client_of, page
from row_builder import assistant, call, result, user

from compaction.edits import Edit, NewRow
from compaction.messages import Message, Role, RowKind
from compaction.records import Outcome, PassKind, PassRecord
from sessions_app import services
from sessions_app.models import CompactionPass, SummaryRevision
from sessions_app.pages.summaries import VERSIONS_A_PAGE

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(owner):
    return client_of(owner)


@pytest.fixture
def path(session):
    return f"/s/{session.public_id}/summary/"


def a_turn(rows, file, error):
    rows.append(
        user(f"fix {file}"), call("c", "read_file", f'{{"path": "{file}"}}'), result("c", error), assistant("done")
    )
    return [row.pk for row in rows.live()[-3:]]


def anchors_of(html):
    part = html[html.index("<tbody>", html.index('id="anchors"')) : html.index('id="sources"')].replace("<wbr>", "")
    return re.findall(r"<tr(?P<lost> class=\"is-lost\")?>.*?<code>(.*?)</code>.*?(?:>(row \d+|v\d+)</a>)", part, re.S)


def test_exact_strings_of_the_absorbed_rows_are_kept_or_lost_and_lead_to_their_archived_row(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    ids = a_turn(rows, "src/parser/lexer.py", "ValueError: bad token in src/parser/tokens.py")
    rows.absorb(ids, text="## Files and Commands\n- changed src/parser/lexer.py")
    found = anchors_of(page(client, path))
    assert ("", "src/parser/lexer.py", "row 3") in found
    assert (' class="is-lost"', "src/parser/tokens.py", "row 4") in found
    html = page(client, path)
    assert "in Files and Commands" in html
    assert re.search(r'href="/s/[^"]+/\?row=4#r4">row 4</a>', html)


def test_what_the_version_before_carried_and_this_one_lost_leads_to_that_version(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "ok"), text="## Files and Commands\n- changed src/old/one.py")
    rows.absorb(a_turn(rows, "src/two.py", "ok"), text="## Files and Commands\n- changed src/two.py")
    assert (' class="is-lost"', "src/old/one.py", "v1") in anchors_of(page(client, path))


def test_a_secret_in_an_absorbed_row_is_never_shown_as_a_string(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    secret = "sk-ant-api03-" + "aB3dE5fG7hJ9kL1m" * 5
    rows.absorb(a_turn(rows, "src/one.py", f"ANTHROPIC_API_KEY={secret} failed with exit code 3"), text="nothing kept")
    html = page(client, path)
    assert secret not in html[html.index('id="anchors"') : html.index('id="sources"')]


def test_the_rows_a_version_was_made_from_are_listed_and_linked(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "all good"), text="step 1")
    html = page(client, path)
    part = html[html.index('id="sources"') :]
    assert "3 rows" in part
    assert re.findall(r'\?row=(\d+)#r\d+">\1</a>', part) == ["3", "4", "5"]


def test_a_defrag_is_said_to_have_added_no_row(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "ok"), text="- a\n- b")
    before = rows.live_micro()
    new = NewRow(RowKind.MICRO_SUMMARY, before.position, Message(Role.ASSISTANT, "- ab"), 3)
    record = PassRecord(PassKind.DEFRAG, Outcome.DEFRAG, edit=Edit((), (before.pk,), (new,)), summary_after="- ab")
    rows.commit(record.edit, record)
    assert "rewritten, no row was added" in page(client, path)


def test_the_sources_of_an_undone_version_stay_known(client, session, rows, path):
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "ok"), text="step 1")
    CompactionPass.objects.filter(session=session).update(state_before={})
    services.undo_last_pass(session.pk)
    assert "3 rows" in page(client, f"{path}1/")


def test_two_versions_stand_side_by_side_when_the_address_says_so(client, rows, path):
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "ok"), text="## Key Decisions\n- keep the lexer\n- old line")
    rows.absorb(a_turn(rows, "src/two.py", "ok"), text="## Key Decisions\n- keep the parser\n- new line")
    html = page(client, f"{path}?as=sides")
    sides = re.findall(r'<div class="side([^"]*)">(.*?)</div>', html, re.S)
    before = "".join(text for kind, text in sides if "before" in kind)
    after = "".join(text for kind, text in sides if "before" not in kind)
    assert "<del>lexer" in before
    assert "<ins>" not in before
    assert "<ins>parser" in after
    assert "<del>" not in after
    assert f'href="{path}1/?as=sides"' in html


def test_every_one_of_a_thousand_versions_can_be_opened_and_reached_by_links(client, session, rows, path):
    """Versions older than the newest page used to be answered with 404."""
    rows.append(user("begin"), assistant("begun"))
    rows.absorb(a_turn(rows, "src/one.py", "ok"), text="version 1")
    made_by = CompactionPass.objects.get(session=session)
    SummaryRevision.objects.bulk_create(
        SummaryRevision(
            session=session,
            number=n,
            kind="micro",
            text=f"version {n}",
            tokens=n,
            compaction_pass=made_by,
            superseded_by=made_by,
        )
        for n in range(2, 1_001)
    )
    seen, waiting = set(), path
    while waiting:
        html = page(client, waiting)
        shown = {int(one) for one in re.findall(r'id="version-(\d+)"', html)}
        assert len(shown) <= VERSIONS_A_PAGE
        seen |= shown
        older = re.search(r'href="([^"]+)" rel="next"', html)
        waiting = older.group(1) if older else None
    assert seen == set(range(1, 1_001))
    assert "version 3" in page(client, f"{path}3/")
    assert 'rel="prev"' in page(client, f"{path}3/")
