"""Sessions with rows and passes, made by the services themselves, and the site served to websockets."""

from contextlib import contextmanager

import pytest
from django.conf import settings
from django.contrib.auth.models import User
from django.test import Client
from row_builder import NewMessage, RowBuilder
from talk import Talk
from websockets.sync.client import connect

from compaction.endpoints.gates import PROCESS_GATES
from compaction.messages import Message, Role
from sessions_app import services
from sessions_app.models import MemberRole
from sessions_app.summarizers import operator_rules
from tests.serving import served_site


@pytest.fixture
def project(db):
    return services.create_project("review", "Review")


@pytest.fixture
def session(project):
    return services.create_session(project, "A long review", window_tokens=200_000, fixed_overhead_tokens=100)


@pytest.fixture
def rows(session):
    return RowBuilder(session.pk)


@pytest.fixture
def loopback_is_allowed(settings):
    """Servers of a test can be asked. Ports are used again, so breakers of one test must not meet those of the next."""
    settings.OUTBOUND_RULES = operator_rules()
    yield
    PROCESS_GATES.forget()


@pytest.fixture
def web_port(db):
    with served_site() as port:
        yield port


@pytest.fixture
def talk(rows):
    """A talk with a system prompt, told turn by turn."""
    rows.append(NewMessage(Message(Role.SYSTEM, "rules")))
    return Talk(rows)


@pytest.fixture
def owner(project):
    person = User.objects.create_user("olga")
    services.add_member(project, person, MemberRole.OWNER)
    return person


@pytest.fixture
def member(project):
    person = User.objects.create_user("mira")
    services.add_member(project, person, MemberRole.VIEWER)
    return person


@pytest.fixture
def socket_for(web_port, session):
    @contextmanager
    def opened(person, public_id=session.public_id, origin=f"http://127.0.0.1:{web_port}", **more):
        headers = {}
        if person is not None:
            client = Client()
            client.force_login(person)
            name = settings.SESSION_COOKIE_NAME
            headers["Cookie"] = f"{name}={client.cookies[name].value}"
        url = f"ws://127.0.0.1:{web_port}/ws/s/{public_id}/"
        with connect(url, additional_headers=headers, origin=origin, proxy=None, **more) as socket:
            yield socket

    return opened


@pytest.fixture
def elsewhere(db):
    return services.create_project("elsewhere", "Elsewhere")
