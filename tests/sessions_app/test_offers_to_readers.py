"""Who may only read is offered nothing that would be refused, on any page."""

import re

import pytest
from django.contrib.auth.models import User
from page_reading import client_of, page
from row_builder import RowBuilder
from talk import EARLY_MICRO_PASSES, Talk

from sessions_app import services
from sessions_app.models import EndpointTest, ImportJob, JobStatus, MemberRole, ReplayRun

pytestmark = pytest.mark.django_db
# What everybody may do: how the pages look, and leaving.
OPEN_FORMS = {"/theme/", "/language/", "/logout/"}
OFFERS = re.compile(r'href="((?:/s/new/|/play/|/import/\?)[^"]*|[^"]*#(?:revert|branch))"')
FORMS = re.compile(r'<form [^>]*method="post"[^>]*>')


def offers(html):
    """Addresses of what a page offers to do: forms, and links to forms."""
    actions = {re.search(r'action="([^"]*)"|$', form)[1] or "its own address" for form in FORMS.findall(html)}
    return (actions - OPEN_FORMS) | set(OFFERS.findall(html))


@pytest.fixture
def paths(project):
    """Pages of a project in which everything has happened and something still runs."""
    services.save_policy(project.pk, EARLY_MICRO_PASSES, None)
    session = services.create_session(project, "A long one", window_tokens=4_000)
    Talk(RowBuilder(session.pk)).turns(8)
    run = ReplayRun.objects.create(
        session=session, policy_name="micro", summarizer="extractive", token_counter="rough", status=JobStatus.RUNNING
    )
    job = ImportJob.objects.create(project=project, status=JobStatus.RUNNING)
    test = EndpointTest.objects.create(project=project, status=JobStatus.RUNNING)
    place, of_session = f"/p/{project.slug}/", f"/s/{session.public_id}/"
    tabs = ("", "summary/", "passes/", "occupancy/", "cache/", "chat/", "act/", "runs/", "export/", "replay/1/1/")
    return [
        *("/", f"/import/{job.pk}/", "/health/", "/p/", place),
        *(f"{place}{one}" for one in ("settings/revisions/", "settings/revisions/1/", "settings/scopes/", "people/")),
        *(f"{place}endpoints/{one}" for one in ("", f"{test.pk}/")),
        *(f"{of_session}{one}" for one in (*tabs, f"runs/{run.pk}/", "delete/", "next/1/")),
    ]


def test_a_viewer_is_offered_nothing_that_would_be_refused(member, paths, project):
    viewer = client_of(member)
    found = {path: offers(page(viewer, path)) for path in paths}
    # Leaving a project is everybody's right.
    assert found.pop(f"/p/{project.slug}/people/") <= {f"/p/{project.slug}/people/leave/"}
    assert {path: offered for path, offered in found.items() if offered} == {}


def test_an_editor_is_offered_all_of_it(paths, project):
    editor = User.objects.create_user("edda")
    services.add_member(project, editor, MemberRole.EDITOR)
    found = {path: offers(page(client_of(editor), path)) for path in paths}
    assert {"/s/new/", "/play/"} <= found["/"]
    assert {f"/s/new/?project={project.slug}", f"/import/?project={project.slug}"} <= found[f"/p/{project.slug}/"]
    assert all(found[path] for path in paths if "/runs/" in path or path.startswith("/import/"))


def test_an_empty_list_says_what_its_reader_can_do(client, member, owner):
    assert "Import files" not in page(client_of(member), "/")
    assert "an owner can make you an editor" in page(client_of(member), "/")
    assert "Import files" in page(client_of(owner), "/")
    stranger = page(client_of(User.objects.create_user("stranger")), "/")
    assert "You are not a member of any project." in stranger and 'href="/p/new/"' in stranger
