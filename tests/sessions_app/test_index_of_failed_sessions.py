"""The page on health finds sessions that failed without reading all of them."""

import pytest
from django.contrib.auth.models import User
from django.db import connection

from sessions_app import clock, services
from sessions_app.access import visible_sessions
from sessions_app.models import MemberRole, Session
from sessions_app.pages.health import failures

pytestmark = pytest.mark.django_db
MANY = 3_000


@pytest.fixture
def reader(project, session):
    """Somebody with many sessions, of which one failed."""
    Session.objects.bulk_create(
        Session(project=project, public_id=f"m{n}", foreign_id=f"m{n}", source=Session.HOSTED, listed_at=clock.now())
        for n in range(MANY)
    )
    services.note_failure(session.pk, "it broke")
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_session")
    person = User.objects.create_user("mira")
    services.add_member(project, person, MemberRole.VIEWER)
    return person


def test_failed_sessions_are_found_by_their_index(reader, session):
    found = failures(visible_sessions(reader))
    assert list(found) == [session]
    assert "session_failed" in found.explain()
