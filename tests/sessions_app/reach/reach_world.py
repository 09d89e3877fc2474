"""A project with one of everything that has an address, and people and programs of every kind who ask for it."""

import re
from datetime import timedelta

from cryptography.fernet import Fernet
from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from django.urls import URLResolver, get_resolver
from reach_table import PLACES
from row_builder import RowBuilder

from compaction.messages import ImagePart, Message, Role, TextPart
from sessions_app import clock, services
from sessions_app.api.site import api
from sessions_app.models import (
    AuditSource,
    ChatAnswer,
    EndpointTest,
    MemberRole,
    MessageRow,
    Play,
    PolicyTrial,
    ProjectDeletion,
    ProjectMember,
    ReplayStep,
    SummaryRevision,
)
from sessions_app.services import AuditOrigin, NewMessage
from sessions_app.services.imports import request_import
from sessions_app.services.invitations import create_invitation
from sessions_app.services.replays import request_replay
from sessions_app.services.secrets import store_secret
from sessions_app.services.tokens import issue_token

ROLES = ("viewer", "editor", "owner")
PEOPLE = ("nobody", "stranger", *ROLES)
SITE = AuditOrigin(AuditSource.SITE)
PICTURE = (
    '{"type": "image_url", "image_url": {"url": "data:image/png;base64,'
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="}}'
)
SECRETS_KEYS = (Fernet.generate_key().decode(),)


class World:
    """One project, filled. values: what stands in the places of addresses."""

    def __init__(self, slug):
        self.project = services.create_project(slug, slug.capitalize())
        self.session = services.create_session(self.project, "A review", window_tokens=200_000)
        self.people = {role: self._member(role) for role in ROLES}
        rows = RowBuilder(self.session.pk)
        rows.turns(3)
        rows.append(NewMessage(Message(Role.USER, (TextPart("see"), ImagePart(PICTURE)))))
        rows.absorb([row.pk for row in rows.live()][1:4])
        self.values = self._values()

    def _member(self, role):
        person = User.objects.create_user(f"{role}-of-{self.project.slug}")
        services.add_member(self.project, person, MemberRole(role))
        return person

    def _values(self):
        project, session = self.project, self.session
        run = request_replay(session, "none")
        Play.objects.create(session=session, rate=1.0, status="done")
        ReplayStep.objects.create(run=run, number=1, turn=1, kind="micro", outcome="absorbed")
        other = User.objects.create_user(f"other-of-{project.slug}")
        services.add_member(project, other, MemberRole.VIEWER)
        hour = timedelta(hours=1)
        return {
            "slug": project.slug,
            "public_id": session.public_id,
            "row_id": MessageRow.objects.filter(session=session, parts__isnull=False).order_by("-id").first().pk,
            "part_number": 1,
            "number": SummaryRevision.objects.filter(session=session).first().number,
            "step": 1,
            "run_id": run.pk,
            "job_id": request_import(project, []).pk,
            "test_id": EndpointTest.objects.create(project=project).pk,
            "answer_id": ChatAnswer.objects.create(
                session=session, asked_row_id=1, status="done", started_at=run.created_at, heard_at=run.created_at
            ).pk,
            "member_id": ProjectMember.objects.get(project=project, user=other).pk,
            "invitation_id": create_invitation(SITE, project, MemberRole.VIEWER, lifetime=hour).invitation.pk,
            "token_id": issue_token(project, "a token").token.pk,
            "secret_id": store_secret(SITE, project, "TEAM_API_KEY", "https://api.example.com", "k").pk,
            "trial_id": PolicyTrial.objects.create(
                project=project, settings={}, fingerprint="x", created_by=self.people["owner"]
            ).pk,
            "deletion_id": self._deletion().pk,
            "ending": "json",
            "token": "invented",
            "name": "a-model",
        }

    def _deletion(self):
        """Of a project that is gone already, asked for by the owner."""
        return ProjectDeletion.objects.create(
            slug="gone",
            name="Gone",
            asked_by=self.people["owner"],
            asked_at=clock.now(),
            status="done",
            sessions_total=0,
            rows_total=0,
            keys_total=0,
            tokens_total=0,
        )

    def address(self, route, **other):
        """The route with its places filled."""
        values = self.values | {name: self.values[place] for name, place in PLACES.get(route, {}).items()} | other
        path = re.sub(r"<(?:\w+:)?(\w+)>", lambda match: str(values[match.group(1)]), route)
        return "/" + path.removeprefix("^").partition("(")[0]


class Browser:
    """A person's browser, or nobody's. What a request changes is undone after it, so each finds the same world."""

    def __init__(self, person):
        client = Client()
        if person is not None:
            client.force_login(person)
        self._cookie = client.cookies.get(settings.SESSION_COOKIE_NAME)

    def ask(self, method, path, **headers):
        client = Client(raise_request_exception=False)
        if self._cookie is not None:
            client.cookies[settings.SESSION_COOKIE_NAME] = self._cookie.value
        with transaction.atomic():
            answer = getattr(client, method)(path, headers=headers)
            # What comes by and by needs an event loop to be read; its status is all that matters here.
            if answer.streaming and not answer.is_async:
                answer.getvalue()
            transaction.set_rollback(True)
        return answer


class Program:
    """Whoever asks the API, with a token or without."""

    def __init__(self, secret=None):
        self._headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}

    def ask(self, method, path, body=None):
        client = Client(raise_request_exception=False)
        with transaction.atomic():
            answer = client.generic(
                method, path, b"" if body is None else body, "application/json", headers=self._headers
            )
            if answer.streaming:
                answer.getvalue()
            transaction.set_rollback(True)
        return answer.status_code


def routes(resolver=None, before=""):
    """Every address of the site, as the URLconf writes it."""
    for one in (resolver or get_resolver()).url_patterns:
        route = before + str(one.pattern)
        if isinstance(one, URLResolver):
            yield from routes(one, route)
        else:
            yield route


def operations():
    """Every operation of the API: its id, method and route."""
    for prefix, router in api._routers:
        for path, view in router.path_operations.items():
            for operation in view.operations:
                for method in operation.methods:
                    route = f"api/v1{prefix}{path}".replace("{", "<").replace("}", ">")
                    yield operation.operation_id, method, route


def sign_of(answer):
    """What an answer was, in the table's signs."""
    status = answer.status_code
    if status == 302 and answer.headers["Location"].startswith("/login/?next="):
        return "L"
    known = {401: "K", 403: "3", 404: "4", 405: "M"}
    return known.get(status) or ("o" if status < 500 else "!")
