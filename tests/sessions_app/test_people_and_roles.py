"""People of a project: roles, invitations, tokens, new projects; what each page does and what the log keeps of it."""

import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from sessions_app import services
from sessions_app.models import ApiToken, AuditAction, AuditEntry, Invitation, MemberRole, Project, ProjectMember
from sessions_app.origins import command_origin
from sessions_app.services.invitations import InvitationSpent, accept_invitation, create_invitation
from sessions_app.services.tokens import find_token, issue_token

pytestmark = pytest.mark.django_db
PASSWORD = "a long enough password"
HOUR = timedelta(hours=1)
ORIGIN = command_origin("a test")


@pytest.fixture(autouse=True)
def quick_passwords(settings):
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def member(project, name, role):
    person = User.objects.create_user(name)
    services.add_member(project, person, role)
    return person


def client_of(person):
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def owner(project):
    return member(project, "olga", MemberRole.OWNER)


@pytest.fixture
def page(owner):
    return client_of(owner)


def membership(project, name):
    return ProjectMember.objects.get(project=project, user__username=name)


def newest(action):
    return AuditEntry.objects.filter(action=action).order_by("-id").first()


def text_of(answer):
    return re.sub(r"\s+", " ", answer.content.decode())


def test_an_owner_changes_roles_and_the_log_keeps_both(page, project):
    member(project, "vera", MemberRole.VIEWER)
    answer = page.post(f"/p/review/people/{membership(project, 'vera').pk}/role/", {"role": "editor"})
    assert answer.status_code == 302
    assert membership(project, "vera").role == "editor"
    entry = newest(AuditAction.MEMBER_ROLE)
    assert (entry.actor_name, entry.subject, entry.project) == ("olga", "vera", project)
    assert entry.details == [["before", "viewer"], ["after", "editor"]]


def test_a_role_that_does_not_exist_changes_nothing(page, project):
    member(project, "vera", MemberRole.VIEWER)
    page.post(f"/p/review/people/{membership(project, 'vera').pk}/role/", {"role": "superuser"})
    assert membership(project, "vera").role == "viewer"


@pytest.mark.parametrize("deed", ["role", "remove", "leave"])
def test_the_last_owner_stays_one_and_is_told_why(page, project, deed):
    own = membership(project, "olga")
    member(project, "eddi", MemberRole.EDITOR)
    path = "/p/review/people/leave/" if deed == "leave" else f"/p/review/people/{own.pk}/{deed}/"
    answer = page.post(path, {"role": "viewer"}, follow=True)
    assert "olga is the only owner" in text_of(answer)
    assert membership(project, "olga").role == "owner"


def test_an_owner_who_was_shut_out_of_the_site_counts_as_none(page, project):
    other = member(project, "otto", MemberRole.OWNER)
    other.is_active = False
    other.save()
    page.post("/p/review/people/leave/")
    assert membership(project, "olga").role == "owner"


@pytest.mark.django_db(transaction=True)
def test_of_two_owners_who_leave_at_once_one_stays(project, owner):
    people = [owner, member(project, "otto", MemberRole.OWNER)]

    def leave(person):
        try:
            return client_of(person).post("/p/review/people/leave/").status_code
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as pool:
        list(pool.map(leave, people))
    assert ProjectMember.objects.filter(project=project, role=MemberRole.OWNER).count() == 1


def test_a_member_who_leaves_or_is_removed_is_gone_and_the_log_says_which(page, project):
    vera = member(project, "vera", MemberRole.VIEWER)
    member(project, "eddi", MemberRole.EDITOR)
    client_of(vera).post("/p/review/people/leave/")
    page.post(f"/p/review/people/{membership(project, 'eddi').pk}/remove/")
    assert [one.user.username for one in project.memberships.all()] == ["olga"]
    assert newest(AuditAction.MEMBER_LEFT).subject == "vera"
    assert (newest(AuditAction.MEMBER_REMOVED).subject, newest(AuditAction.MEMBER_REMOVED).actor_name) == (
        "eddi",
        "olga",
    )


def test_who_is_no_owner_any_more_leaves_no_invitation_behind(page, project):
    otto = member(project, "otto", MemberRole.OWNER)
    way_back = link_of(client_of(otto).post("/p/review/people/invitations/", asked(role="owner")))
    page.post(f"/p/review/people/{membership(project, 'otto').pk}/remove/")
    assert client_of(otto).post(way_back).status_code == 410


def asked(role="viewer", days="7", uses="1", note="for Mira"):
    return {"role": role, "days": days, "uses": uses, "note": note}


def link_of(answer):
    return re.search(r"/invitation/[\w-]+", answer.content.decode()).group()


def test_an_invitation_is_shown_once_and_only_its_hash_is_stored(page, project):
    answer = page.post("/p/review/people/invitations/", asked())
    assert answer.status_code == 200 and "no-store" in answer.headers["Cache-Control"]
    secret = link_of(answer).rpartition("/")[2]
    assert secret not in page.get("/p/review/people/").content.decode()
    assert secret not in str(Invitation.objects.values_list()) + str(AuditEntry.objects.values_list())


def test_somebody_new_makes_an_account_by_an_invitation_and_is_in(page, project):
    link = link_of(page.post("/p/review/people/invitations/", asked("editor")))
    new = Client()
    html = text_of(new.get(link))
    assert "You are invited to Review" in html and "olga invites you" in html
    answer = new.post(link, {"username": "mira", "password": PASSWORD, "password_again": PASSWORD})
    assert answer.headers["Location"] == "/p/review/"
    assert new.get("/p/review/").status_code == 200
    assert membership(project, "mira").role == "editor"
    actions = list(AuditEntry.objects.filter(actor_name="mira").values_list("action", flat=True))
    assert {AuditAction.INVITATION_ACCEPTED, AuditAction.LOGIN_SUCCEEDED} <= set(actions)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"username": "", "password": PASSWORD, "password_again": PASSWORD}, "Choose a name."),
        ({"username": "OLGA", "password": PASSWORD, "password_again": PASSWORD}, "This name is taken"),
        ({"username": "a b/c", "password": PASSWORD, "password_again": PASSWORD}, "Enter a valid username"),
        ({"username": "mira", "password": "password123", "password_again": "password123"}, "too common"),
        ({"username": "miranda-long", "password": "miranda-long", "password_again": "miranda-long"}, "too similar"),
        ({"username": "mira", "password": PASSWORD, "password_again": "other"}, "passwords differ"),
    ],
)
def test_a_mistake_in_a_new_account_is_explained_and_uses_nothing_up(page, project, given, message):
    link = link_of(page.post("/p/review/people/invitations/", asked()))
    answer = Client().post(link, given)
    assert answer.status_code == 422
    assert message in text_of(answer)
    assert Invitation.objects.get().uses == 0 and not User.objects.filter(username="mira").exists()


def test_somebody_with_an_account_joins_by_one_click(page, project):
    link = link_of(page.post("/p/review/people/invitations/", asked("editor")))
    vera = User.objects.create_user("vera")
    client = client_of(vera)
    assert "You are logged in as <b>vera</b>" in text_of(client.get(link))
    assert client.post(link).headers["Location"] == "/p/review/"
    assert membership(project, "vera").role == "editor"


def test_an_invitation_never_takes_a_role_away_and_is_not_used_up_by_a_member(page, project, owner):
    link = link_of(page.post("/p/review/people/invitations/", asked("viewer")))
    page.post(link)
    assert membership(project, "olga").role == "owner"
    assert Invitation.objects.get().uses == 0


def test_a_link_for_one_lets_in_one_even_when_two_open_it_at_once(project):
    issued = create_invitation(ORIGIN, project, MemberRole.VIEWER, lifetime=HOUR)
    accept_invitation(ORIGIN, issued.secret, User.objects.create_user("first"))
    with pytest.raises(InvitationSpent):
        accept_invitation(ORIGIN, issued.secret, User.objects.create_user("second"))
    assert not ProjectMember.objects.filter(user__username="second").exists()


@pytest.mark.django_db(transaction=True)
def test_a_link_for_two_lets_in_two_of_six_who_come_at_once(project):
    issued = create_invitation(ORIGIN, project, MemberRole.VIEWER, lifetime=HOUR, most_uses=2)
    people = [User.objects.create_user(f"person{number}") for number in range(6)]

    def accept(person):
        try:
            accept_invitation(ORIGIN, issued.secret, person)
        except InvitationSpent:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(6) as pool:
        assert list(pool.map(accept, people)).count(True) == 2
    assert project.memberships.count() == 2


@pytest.mark.parametrize("why", ["revoked", "expired", "used up", "invented"])
def test_links_that_let_nobody_in_show_one_and_the_same_page(page, project, why):
    issued = create_invitation(ORIGIN, project, MemberRole.VIEWER, lifetime=HOUR)
    secret = "invented" if why == "invented" else issued.secret
    found = Invitation.objects.filter(pk=issued.invitation.pk)
    if why == "revoked":
        page.post(f"/p/review/people/invitations/{issued.invitation.pk}/revoke/")
        assert newest(AuditAction.INVITATION_REVOKED).actor_name == "olga"
    elif why == "expired":
        found.update(expires_at=timezone.now() - HOUR)
    elif why == "used up":
        found.update(uses=1)
    for client in (Client(), client_of(User.objects.create_user("vera"))):
        for answer in (client.get(f"/invitation/{secret}"), client.post(f"/invitation/{secret}")):
            assert answer.status_code == 410
            assert "This invitation no longer works" in text_of(answer)
            assert project.name not in text_of(answer)


@pytest.mark.parametrize(
    ("change", "field"),
    [({"uses": "0"}, "uses"), ({"uses": "101"}, "uses"), ({"days": "999"}, "days"), ({"role": "x"}, "role")],
)
def test_a_mistake_in_an_invitation_comes_back_with_everything_that_was_typed(page, project, change, field):
    answer = page.post("/p/review/people/invitations/", asked() | change)
    assert answer.status_code == 422
    assert "for Mira" in text_of(answer) and "field-error" in text_of(answer)
    assert not Invitation.objects.exists()


def test_a_token_is_shown_once_and_works_until_it_is_revoked(page, project):
    answer = page.post("/p/review/tokens/", {"name": "agent", "scope": "write", "days": "30"})
    secret = re.search(r"hms_[\w-]+", answer.content.decode()).group()
    assert "no-store" in answer.headers["Cache-Control"]
    assert secret not in page.get("/p/review/tokens/").content.decode()
    found = find_token(secret)
    assert (found.may_write, found.created_by.username) == (True, "olga")
    assert timedelta(days=29) < found.expires_at - timezone.now() < timedelta(days=31)
    page.post(f"/p/review/tokens/{found.pk}/revoke/")
    assert find_token(secret) is None
    assert [newest(AuditAction.TOKEN_CREATED).subject, newest(AuditAction.TOKEN_REVOKED).subject] == ["agent", "agent"]
    assert secret not in str(AuditEntry.objects.values_list())


def test_a_token_whose_time_is_over_opens_nothing(project):
    secret = issue_token(project, "old", expires_at=timezone.now() - HOUR).secret
    answer = Client(headers={"Authorization": f"Bearer {secret}"}).get("/api/v1/projects")
    assert answer.status_code == 401


def test_a_token_name_that_is_taken_is_explained_and_no_token_is_made(page, project):
    issue_token(project, "agent")
    answer = page.post("/p/review/tokens/", {"name": "agent", "scope": "read", "days": ""})
    assert answer.status_code == 422 and "a token of this name" in text_of(answer)
    assert ApiToken.objects.count() == 1


def test_a_token_of_somebody_who_left_is_marked(page, project):
    otto = member(project, "otto", MemberRole.OWNER)
    client_of(otto).post("/p/review/tokens/", {"name": "agent", "scope": "read", "days": "30"})
    assert "no member any more" not in text_of(page.get("/p/review/tokens/"))
    client_of(otto).post("/p/review/people/leave/")
    assert "no member any more" in text_of(page.get("/p/review/tokens/"))


def test_whoever_makes_a_project_owns_it(db):
    nina = User.objects.create_user("nina")
    client = client_of(nina)
    answer = client.post("/p/new/", {"name": "Billing", "slug": "billing"})
    assert answer.headers["Location"] == "/p/billing/"
    assert membership(Project.objects.get(slug="billing"), "nina").role == "owner"
    assert newest(AuditAction.PROJECT_CREATED).actor_name == "nina"


@pytest.mark.parametrize("slug", ["new", "review", "Big", "a b", "../x", "", "x" * 65, "-a"])
def test_an_address_that_no_project_can_have_is_explained(page, project, slug):
    answer = page.post("/p/new/", {"name": "Billing", "slug": slug})
    assert answer.status_code == 422
    assert "Billing" in text_of(answer)
    assert Project.objects.count() == 1


def test_lists_of_people_tokens_and_entries_go_on_page_by_page(page, project):
    for number in range(55):
        member(project, f"person{number:02}", MemberRole.VIEWER)
        issue_token(project, f"token{number:02}")
        create_invitation(ORIGIN, project, MemberRole.VIEWER, lifetime=HOUR, note=f"invitation{number:02}")
    assert walked(page, "/p/review/people/", r"person\d\d</b>") == {f"person{n:02}</b>" for n in range(55)}
    assert walked(page, "/p/review/tokens/", r"token\d\d</b>") == {f"token{n:02}</b>" for n in range(55)}
    assert len(walked(page, "/p/review/audit/", r"invitation\d\d|person\d\d|token\d\d")) == 165


def walked(client, path, pattern):
    """Everything that is found on a page and on those its "older" or "more" link leads to."""
    found, query = set(), ""
    for _ in range(10):
        html = client.get(path + query).content.decode()
        found |= set(re.findall(pattern, html))
        link = re.search(r'rel="next" href="(\?[^"]+)"', html)
        if link is None:
            return found
        query = link.group(1).replace("&amp;", "&")
    raise AssertionError("the pages have no end")


@pytest.mark.parametrize("path", ["people", "tokens", "keys", "audit"])
def test_a_page_takes_as_many_queries_for_many_entries_as_for_few(page, project, path, django_assert_max_num_queries):
    for number in range(40):
        member(project, f"person{number:02}", MemberRole.VIEWER)
        issue_token(project, f"token{number:02}")
    with django_assert_max_num_queries(9):
        assert page.get(f"/p/review/{path}/").status_code == 200


def test_commands_make_people_and_projects_and_say_so_in_the_log(db, capsys):
    call_command("create_user", "nina")
    call_command("create_project", "billing", "--name", "Billing", "--owner", "nina")
    call_command("create_user", "eddi", "--project", "billing", "--role", "editor")
    project = Project.objects.get(slug="billing")
    assert {one.user.username: one.role for one in project.memberships.all()} == {"nina": "owner", "eddi": "editor"}
    assert {entry.source_name for entry in AuditEntry.objects.all()} == {"create_user", "create_project"}
    call_command("login_link", "--user", "eddi", "--url", "http://localhost:1")
    assert "/login/once/" in capsys.readouterr().out
    call_command("create_token", "billing", "--name", "agent", "--days", "3")
    assert newest(AuditAction.TOKEN_CREATED).source == "command"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("create_user", "olga"), "taken"),
        (("create_user", "a b"), "valid username"),
        (("create_user", "nina", "--project", "nowhere"), "no project"),
        (("create_project", "new"), "taken"),
        (("create_project", "other", "--owner", "nobody"), "nobody named"),
        (("create_token", "review", "--name", "x", "--days", "0"), "--days"),
        (("login_link", "--user", "nobody"), "nobody named"),
    ],
)
def test_commands_explain_what_they_can_not_do_and_do_nothing(owner, command, message):
    before = (User.objects.count(), Project.objects.count(), ApiToken.objects.count())
    with pytest.raises(CommandError, match=message):
        call_command(*command)
    assert (User.objects.count(), Project.objects.count(), ApiToken.objects.count()) == before


def test_a_password_of_a_new_account_comes_from_standard_input_and_must_be_good(db, monkeypatch):
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO("short\n"))
    with pytest.raises(CommandError, match="too short"):
        call_command("create_user", "nina", "--password-stdin")
    monkeypatch.setattr("sys.stdin", io.StringIO(PASSWORD + "\n"))
    call_command("create_user", "nina", "--password-stdin")
    assert User.objects.get(username="nina").check_password(PASSWORD)


def test_a_name_can_be_changed_and_not_to_one_that_is_taken(page, owner):
    User.objects.create_user("vera")
    assert "taken" in text_of(page.post("/account/name/", {"username": "Vera"}))
    assert page.post("/account/name/", {"username": "olga2"}).status_code == 302
    owner.refresh_from_db()
    assert owner.username == "olga2"
    assert newest(AuditAction.ACCOUNT_RENAMED).details == [["before", "olga"]]
