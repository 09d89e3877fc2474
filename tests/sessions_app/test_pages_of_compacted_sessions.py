"""The pages of sessions that were compacted in a batch, reset or branched, as a member gets them."""

import pytest
from django.contrib.auth.models import User
from row_builder import NewMessage, assistant, user
from talk import passes

from compaction.markers import body_of
from compaction.messages import Message, Role
from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from compaction.tokens import RoughCounter
from sessions_app import services
from sessions_app.models import MemberRole, SummaryRevision
from sessions_app.token_counting import site_counter

pytestmark = pytest.mark.django_db
TABS = ("", "?show=live", "?show=archived", "?show=model", "?open=all", "passes/", "occupancy/", "runs/")


@pytest.fixture
def project(project):
    services.save_policy(project.pk, {"compression": {"threshold_floor": "off", "threshold": 0.5}}, None)
    project.refresh_from_db()
    return project


@pytest.fixture
def session(project):
    return services.create_session(project, "A long review", window_tokens=8_000, model="main")


@pytest.fixture
def page(client, project):
    """The text of a page that must be there."""
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.OWNER)
    client.force_login(person)

    def read(session, path=""):
        response = client.get(f"/s/{session.public_id}/{path}")
        assert response.status_code == 200, path
        return response.content.decode()

    return read


def over_threshold(talk):
    number = 0
    while talk.rows.session.live_tokens < 4_000:
        talk.turn(number, 120)
        number += 1


def test_the_pages_of_a_batch_tell_what_it_did(talk, rows, page):
    over_threshold(talk)
    talk.finalize()
    assert [one.kind for one in passes(rows)] == ["batch"]
    for tab in (*TABS, "summary/"):
        page(rows.session, tab)
    assert "user rows archived: " in page(rows.session, "passes/")
    for step in range(1, 8):
        page(rows.session, f"replay/1/{step}/")
    assert "user rows archived: " in page(rows.session, "replay/1/1/")
    assert "context compression attempt telemetry: " in "".join(
        page(rows.session, f"replay/1/{step}/") for step in range(1, 8)
    )


def test_a_session_says_why_no_batch_runs_and_until_when(talk, rows, page):
    talk.summarizer = ScriptedSummarizer([Reply(error="timeout")], model="small")
    over_threshold(talk)
    talk.finalize()
    text = page(rows.session)
    assert "No automatic batch until " in text
    assert "the summarizer gave no reply in time" in text
    assert "1 failure" in text
    assert "starts a batch" not in text
    assert "after a failure the next try waits" in page(rows.session, "passes/")


def test_a_session_says_that_the_last_batch_found_nothing_to_cut(talk, rows, page):
    rows.append(user("word " * 6_000), assistant("yes"))
    services.finish_turn(rows.session_id)
    talk.finalize()
    assert [one.reason for one in passes(rows)] == ["no_compressible_window"]
    text = page(rows.session)
    assert "the last one found nothing it could cut" in text
    assert "starts a batch" not in text


def test_a_branch_and_a_reset_session_can_be_read_like_any(talk, rows, page):
    over_threshold(talk)
    talk.finalize()
    branch = services.branch_session(rows.session_id, rows.session.last_seq)
    for tab in TABS:
        page(branch, tab)
    text = page(branch)
    assert "Branch of" in text
    assert "the parser stays as it is" in text
    services.reset_session(rows.session_id)
    for tab in (*TABS, "summary/"):
        page(rows.session, tab)


def test_a_version_of_the_summary_that_was_withdrawn_is_not_shown_as_live(talk, rows, page):
    over_threshold(talk)
    talk.finalize()
    assert SummaryRevision.objects.filter(session_id=rows.session_id).count() == 1
    live = page(rows.session, "summary/").count("live")
    services.undo_last_pass(rows.session_id)
    assert page(rows.session, "summary/").count("live") < live


@pytest.mark.parametrize("path", ["?open=²", "?after=²-1", "occupancy/?before=²", "?row=²"])
def test_signs_that_only_look_like_numbers_count_as_not_said(rows, page, path):
    rows.turns(1)
    page(rows.session, path)


def test_a_piece_of_a_text_that_begins_beyond_all_texts_is_the_first_piece(rows, page):
    [row_id, *_] = rows.append(NewMessage(Message(Role.USER, "the whole of it")))
    assert "the whole of it" in page(rows.session, f"row/{row_id}/?first={2**40}")


def test_after_an_undo_the_summary_tab_names_and_opens_the_version_that_is_live_again(session, rows, page):
    rows.turns(4)
    for number in (1, 2):
        live = [row for row in rows.live() if row.kind == "message"]
        start = next(i for i, row in enumerate(live) if row.role == "assistant")
        rows.absorb([row.pk for row in live[start : start + 3]], text=f"step {number}")
    assert '<span class="n">v2</span>' in page(session)
    services.undo_last_pass(session.pk)
    updates = page(session, "events/?tab=summary&after=0")
    assert '<span class="n">v1</span>' in updates
    assert '/summary/" aria-current="page"' in updates
    assert "step 1" in page(session, "summary/")


def test_an_ended_session_tells_the_size_of_its_summary_as_passes_count_it(talk, rows, page, project):
    settings = {"threshold_floor": "off", "threshold": 0.5, "micro_compact": True, "target_ratio": 0.1}
    services.save_policy(project.pk, {"compression": settings}, None)
    # Text of which a rough count says something else than the counter of passes.
    text = "## Key Decisions\n- " + "!!!!!!!!!!!!!!!!!!!! ........................ " * 6
    talk.summarizer = ScriptedSummarizer([Reply(text=text, finish_reason="stop", model="small")], model="small")
    talk.turns(12, words=120)
    assert "micro" in {one.kind for one in passes(rows)}
    newest = SummaryRevision.objects.filter(session=rows.session).latest("number")
    talk.turn(12, 120)
    services.end_session(rows.session.pk, "done")
    body_tokens = site_counter().count(body_of(newest.row.content))
    assert body_tokens != RoughCounter().count(body_of(newest.row.content))
    assert f"tokens; it has {body_tokens:,}." in page(rows.session)
