"""A page of a session that is not there finds out whether it was deleted without reading the audit log."""

import pytest
from django.contrib.auth.models import User
from django.db import connection
from django.test.utils import CaptureQueriesContext

from sessions_app import clock, services
from sessions_app.access import was_deleted
from sessions_app.models import AuditAction, AuditEntry, MemberRole

pytestmark = pytest.mark.django_db
MANY = 3_000


@pytest.fixture
def reader(project):
    """A member of a project in which very much was done, and from which one session was deleted."""
    AuditEntry.objects.bulk_create(
        AuditEntry(project=project, at=clock.now(), source="page", action=AuditAction.SETTINGS_SAVED, subject=f"r{n}")
        for n in range(MANY)
    )
    person = User.objects.create_user("mira")
    services.add_member(project, person, MemberRole.VIEWER)
    return person


def test_deleted_sessions_are_found_by_their_index(reader, session):
    services.delete_session(session.pk)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE sessions_app_auditentry")
    with CaptureQueriesContext(connection) as asked:
        assert was_deleted(reader, session.public_id)
    assert not was_deleted(reader, "another")
    with connection.cursor() as cursor:
        cursor.execute("EXPLAIN " + asked[0]["sql"])
        assert "audit_of_deleted_sessions" in str(cursor.fetchall())
