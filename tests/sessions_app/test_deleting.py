"""Deleting takes the whole conversation with its archive, and nothing that is a session of its own."""

import pytest
from row_builder import COUNTER, assistant, user
from source_builder import recorded, row, source, tool_call

from sessions_app import services
from sessions_app.importing import import_session
from sessions_app.importing.linking import link_parents
from sessions_app.models import CompactionPass, MessageRow, RowLifetime, Session, SessionEvent, SummaryRevision, Turn
from sessions_app.services.replays import request_replay

pytestmark = pytest.mark.django_db
TABLES = (MessageRow, CompactionPass, RowLifetime, SessionEvent, SummaryRevision, Turn)


@pytest.fixture
def lineage(project):
    def bring(name, **more):
        events = (row("a"), tool_call("b", "c1"), row("d"), recorded(["a"], "s"))
        return import_session(project, source(*events, foreign_id=name, **more), COUNTER).public_id

    names = {
        "root": bring("root"),
        "next": bring("next", parent_foreign_id="root", parent_link="compression"),
        "newest": bring("newest", parent_foreign_id="next", parent_link="compression"),
        "branch": bring("branch", parent_foreign_id="next", parent_link="branch"),
        "agent": bring("agent", parent_foreign_id="root", parent_link="subagent", parent_call_id="c1"),
    }
    link_parents(project)
    return names


@pytest.mark.parametrize("chosen", ["root", "next", "newest"])
def test_s12_deleting_any_link_deletes_the_chain_and_keeps_branches_with_a_notice(lineage, chosen):
    session = Session.objects.get(public_id=lineage[chosen])
    gone = services.delete_session(session.pk)
    assert set(gone.deleted) == {lineage["root"], lineage["next"], lineage["newest"]}
    assert set(gone.kept) == {lineage["branch"], lineage["agent"]}
    left = Session.objects.all()
    assert {one.public_id for one in left} == {lineage["branch"], lineage["agent"]}
    assert {(one.parent_id, one.parent_row_id) for one in left} == {(None, None)}
    assert MessageRow.objects.exclude(session__in=left).count() == 0


def test_a_branch_is_deleted_alone(lineage):
    branch = Session.objects.get(public_id=lineage["branch"])
    gone = services.delete_session(branch.pk)
    assert (gone.deleted, gone.kept) == ((lineage["branch"],), ())
    assert Session.objects.count() == 4


def test_nothing_of_a_deleted_session_is_left_in_any_table(rows):
    ids = rows.append(user("a"), assistant("b"), user("c"), assistant("d"), user("e"))
    rows.absorb(ids[1:2])
    rows.absorb(ids[3:4])
    services.undo_last_pass(rows.session_id)
    request_replay(rows.session, "micro")
    assert all(table.objects.exists() for table in TABLES)
    services.delete_session(rows.session_id)
    assert not any(table.objects.exists() for table in TABLES)
    assert not Session.objects.exists()


def test_links_that_run_in_a_circle_end_the_walk(lineage):
    root, newest = (Session.objects.get(public_id=lineage[name]) for name in ("root", "newest"))
    Session.objects.filter(pk=root.pk).update(parent=newest, parent_link="compression")
    assert len(services.delete_session(newest.pk).deleted) == 3
