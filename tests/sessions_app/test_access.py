import pytest
from django.contrib.auth.models import AnonymousUser, User
from django.core.exceptions import PermissionDenied
from django.http import Http404
from row_builder import assistant, user

from sessions_app import access, services
from sessions_app.models import ImportJob, ReplayRun

pytestmark = pytest.mark.django_db


def member(project, role):
    person = User.objects.create_user(f"{role}-person")
    services.add_member(project, person, role)
    return person


@pytest.fixture
def strangers(project):
    """A member of another project, staff of the site, its superuser, and nobody."""
    other = services.create_project("other", "Other", User.objects.create_user("stranger"))
    assert other.slug == "other"
    return [
        User.objects.get(username="stranger"),
        User.objects.create_user("staff", is_staff=True),
        User.objects.create_superuser("root"),
        AnonymousUser(),
    ]


@pytest.fixture
def getters(project, session, rows):
    ids = rows.append(user("a"), assistant("b"), user("c"))
    done = rows.absorb(ids[1:2])
    run = ReplayRun.objects.create(session=session, policy_name="micro", summarizer="extractive", token_counter="rough")
    job = ImportJob.objects.create(project=project)
    return {
        "project": (lambda who: access.get_project(who, project.slug), project.pk),
        "session": (lambda who: access.get_session(who, session.public_id), session.pk),
        "pass": (lambda who: access.get_pass(who, session.public_id, 1), done.pass_id),
        "run": (lambda who: access.get_run(who, session.public_id, run.pk), run.pk),
        "import": (lambda who: access.get_import_job(who, job.pk), job.pk),
    }


@pytest.mark.parametrize("what", ["project", "session", "pass", "run", "import"])
def test_a_member_gets_it_and_strangers_and_staff_learn_nothing(getters, owner, strangers, what):
    getter, pk = getters[what]
    assert getter(owner).pk == pk
    for stranger in strangers:
        with pytest.raises(Http404):
            getter(stranger)


def test_a_project_without_members_is_seen_by_nobody(session, strangers):
    assert [list(access.visible_sessions(stranger)) for stranger in strangers] == [[], [], [], []]
    with pytest.raises(Http404):
        access.get_project(AnonymousUser(), "review")


def test_lists_hold_only_what_one_is_a_member_of(session, owner, strangers):
    assert list(access.visible_sessions(owner)) == [session]
    assert [list(access.visible_sessions(stranger)) for stranger in strangers] == [[], [], [], []]
    assert [project.slug for project in access.visible_projects(strangers[0])] == ["other"]


@pytest.mark.parametrize(
    ("role", "writes", "manages"), [("owner", True, True), ("editor", True, False), ("viewer", False, False)]
)
def test_roles_decide_who_writes_and_who_manages(project, role, writes, manages):
    person = member(project, role)
    assert (access.may_write(person, project), access.may_manage(person, project)) == (writes, manages)
    for allowed, require in ((writes, access.require_writer), (manages, access.require_owner)):
        if allowed:
            require(person, project)
        else:
            with pytest.raises(PermissionDenied):
                require(person, project)


@pytest.mark.parametrize("end", ["", "summary/", "passes/", "row/1/raw/", "replay/1/1/", "runs/", "runs/1/", "act/"])
def test_an_address_with_a_nul_leads_nowhere(client, owner, end):
    client.force_login(owner)
    for public_id in ("%00", "a%00b"):
        assert client.get(f"/s/{public_id}/{end}").status_code == 404
