"""Scopes of settings: the site's, the project's, a session's own, in this order, and saved without losing anybody's."""

import ast
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from talk import Talk, passes

from sessions_app import services
from sessions_app.models import PolicyRevision, Session, SessionPolicyRevision
from sessions_app.services.replays import request_replay
from sessions_app.session_policy import blocks_of, policy_of, reading_of

pytestmark = pytest.mark.django_db
SITE = {"compression": {"threshold": 0.6, "protect_first_n": 7, "model_thresholds": {"a": 0.2, "b": 0.3}}}


@pytest.fixture
def scoped(settings, session):
    """A session whose site, project and own settings all say something."""
    settings.SITE_POLICY = SITE
    services.save_policy(session.project_id, {"compression": {"threshold": 0.7, "model_thresholds": {"b": 0.4}}}, None)
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.8}}, None)
    return Session.objects.select_related("project").get(pk=session.pk)


def test_the_strongest_scope_wins_value_by_value_and_is_named(scoped):
    reading = reading_of(scoped)
    assert (reading.policy.threshold, reading.source_of("compression.threshold")) == (0.8, "session")
    assert (reading.policy.protect_first_n, reading.source_of("compression.protect_first_n")) == (7, "site")
    assert reading.source_of("compression.target_ratio") == "default"
    assert dict(reading.policy.model_thresholds) == {"a": 0.2, "b": 0.4}
    assert policy_of(scoped.project).threshold == 0.7


def test_the_merged_blocks_give_the_policy_in_force(scoped):
    from compaction.policy import CompactionPolicy

    assert CompactionPolicy.from_mapping(blocks_of(scoped)).policy == policy_of(scoped)


def test_a_value_that_cannot_be_used_leaves_the_one_of_the_weaker_scope(scoped):
    scoped.policy_settings = {"compression": {"threshold": "plenty"}}
    reading = reading_of(scoped)
    assert (reading.policy.threshold, reading.source_of("compression.threshold")) == (0.7, "project")


def test_a_session_of_its_own_settings_has_its_own_threshold_and_keeps_it_when_the_project_changes(scoped):
    assert scoped.threshold_tokens == 160_000
    services.save_policy(scoped.project_id, {"compression": {"threshold": 0.9}}, None)
    scoped.refresh_from_db()
    assert scoped.threshold_tokens == 160_000
    services.save_session_policy(scoped.pk, {}, None)
    scoped.refresh_from_db()
    assert scoped.threshold_tokens == 180_000


def test_a_pass_is_made_under_the_settings_of_its_session_and_names_both_revisions(settings, session, rows):
    services.save_policy(session.project_id, {"compression": {"micro_compact": False}}, None)
    talk = Talk(rows)
    talk.turns(3, words=900)
    assert passes(rows) == []
    own = services.save_session_policy(session.pk, {"compression": {"micro_compact": True, "target_ratio": 0.1}}, None)
    talk.turns(8, first=3, words=900)
    made = passes(rows)
    assert made
    assert {one.session_policy_revision_id for one in made} == {own.pk}
    assert {one.policy_revision.number for one in made} == {2}


def test_a_simulation_takes_what_is_in_force_in_its_session(scoped):
    run = request_replay(scoped, "micro")
    assert run.policy_settings["compression"]["threshold"] == 0.8
    assert run.policy_settings["compression"]["protect_first_n"] == 7


def test_a_branch_keeps_what_was_set_for_its_parent_alone(scoped, rows):
    rows.turns(1)
    assert services.branch_session(scoped.pk, 1).policy_settings == {"compression": {"threshold": 0.8}}


def test_saving_on_an_older_revision_is_refused_and_writes_nothing(project):
    author = User.objects.create_user("olga")
    first = services.save_policy(project.pk, {"compression": {"threshold": 0.6}}, author, base=1)
    with pytest.raises(services.PolicyConflict) as refused:
        services.save_policy(project.pk, {"compression": {"threshold": 0.7}}, author, base=1)
    assert refused.value.newest == first.number == 2
    project.refresh_from_db()
    assert project.policy_settings == {"compression": {"threshold": 0.6}}
    assert PolicyRevision.objects.filter(project=project).count() == 2


def test_own_settings_of_a_session_are_revisions_too_and_refuse_an_older_base(session):
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.6}}, None, base=0)
    with pytest.raises(services.PolicyConflict):
        services.save_session_policy(session.pk, {"compression": {"threshold": 0.7}}, None, base=0)
    services.save_session_policy(session.pk, {}, None, base=1)
    assert [one.settings for one in SessionPolicyRevision.objects.order_by("number")] == [
        {"compression": {"threshold": 0.6}},
        {},
    ]


def test_a_session_with_own_settings_is_deleted_with_them(session):
    services.save_session_policy(session.pk, {"compression": {"threshold": 0.6}}, None)
    services.delete_session(session.pk)
    assert not SessionPolicyRevision.objects.exists()


def test_nobody_asks_for_a_sessions_policy_by_its_project():
    """Whoever makes or foretells a pass goes through the scopes; a call with a session's project would skip one."""
    found = []
    for path in (Path(__file__).parents[2] / "sessions_app").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Call) and ast.unparse(node.func).split(".")[-1] in ("policy_of", "reading_of"):
                found += [f"{path.name}:{node.lineno}"] * ast.unparse(node.args[0]).endswith("session.project")
    assert found == []
