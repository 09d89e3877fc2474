import pytest
from django.contrib.auth.models import User

from sessions_app import services
from sessions_app.models import MemberRole, PolicyRevision, Session

pytestmark = pytest.mark.django_db


def test_the_default_project_is_made_once_and_belongs_to_the_local_owner():
    project = services.default_project()
    assert services.default_project() == project
    (member,) = project.memberships.all()
    assert (member.role, member.user.is_superuser) == (MemberRole.OWNER, True)


def test_a_role_given_again_replaces_the_one_before(project):
    person = User.objects.create_user("mira")
    services.add_member(project, person, MemberRole.VIEWER)
    services.add_member(project, person, MemberRole.EDITOR)
    assert [member.role for member in project.memberships.all()] == ["editor"]


def test_each_save_of_the_settings_is_a_new_revision_and_old_ones_stay(project):
    author = User.objects.create_user("mira")
    services.save_policy(project.pk, {"compression": {"micro_compact": True}}, author, "try it")
    services.save_policy(project.pk, {"compression": {"threshold": 0.8}}, None)
    revisions = PolicyRevision.objects.filter(project=project).order_by("number")
    assert [(one.number, one.settings, one.author, one.note) for one in revisions] == [
        (1, {}, None, "Defaults"),
        (2, {"compression": {"micro_compact": True}}, author, "try it"),
        (3, {"compression": {"threshold": 0.8}}, None, ""),
    ]
    project.refresh_from_db()
    assert project.policy_settings == {"compression": {"threshold": 0.8}}


def test_a_session_has_the_threshold_of_its_window_and_policy(project):
    session = services.create_session(project, window_tokens=200_000)
    assert (session.threshold_tokens, session.threshold_source) == (150_000, "floor")
    unknown = services.create_session(project)
    assert (unknown.threshold_tokens, unknown.threshold_source) == (None, "unknown window")


def test_a_model_the_price_list_knows_gives_its_window(project):
    session = services.create_session(project, model="claude-sonnet-4-20250514")
    assert session.window_tokens is None
    assert session.threshold_tokens is not None


def test_new_settings_move_the_thresholds_of_all_sessions_of_the_project_only(project):
    small = services.create_session(project, window_tokens=200_000)
    large = services.create_session(project, window_tokens=1_000_000)
    unknown = services.create_session(project)
    elsewhere = services.create_session(services.create_project("other", "Other"), window_tokens=200_000)
    services.save_policy(project.pk, {"compression": {"threshold": 0.8}}, None)
    found = dict(Session.objects.values_list("pk", "threshold_tokens"))
    assert found == {small.pk: 160_000, large.pk: 800_000, unknown.pk: None, elsewhere.pk: 150_000}
