"""What the product says about space on the disk is what the database does."""

import os

import pytest
from django.contrib.auth.models import User
from django.db import connection
from row_builder import RowBuilder, assistant, user

from sessions_app import services
from sessions_app.models import MemberRole

pytestmark = pytest.mark.django_db(transaction=True)
ROWS = 120
# Can't be made smaller by packing, as texts could.
NOISE_BYTES = 9_000


def fill(project):
    rows = RowBuilder(services.create_session(project).pk)
    for number in range(ROWS // 2):
        rows.append(user(f"question {number}"), assistant(os.urandom(NOISE_BYTES).hex()))
    return rows


def size_bytes():
    """The rows as files on the disk, after the cleaning that the database does by itself now and then."""
    with connection.cursor() as cursor:
        cursor.execute("VACUUM sessions_app_messagerow")
        cursor.execute("SELECT pg_total_relation_size('sessions_app_messagerow')")
        return cursor.fetchone()[0]


def test_archiving_frees_no_space_deleting_makes_it_free_for_others_and_the_page_says_so(project, client):
    """S16: hidden is not freed. Archived rows stay on the disk; a deleted session's place is used again."""
    first, second = fill(project), fill(project)
    full = size_bytes()
    assert full > 2 * ROWS // 2 * NOISE_BYTES
    first.absorb([row.pk for row in first.live()[1:-4]])
    assert first.session.archived_rows > ROWS / 2
    assert size_bytes() >= full

    owner = User.objects.create_user("olga")
    services.add_member(project, owner, MemberRole.OWNER)
    client.force_login(owner)
    page = client.get(f"/s/{first.session.public_id}/delete/").content.decode()
    assert f"with {ROWS + 1} rows, live and archived" in page
    assert "The space becomes free for other sessions; the database files may stay as large as they are." in page

    archived = size_bytes()
    services.delete_session(first.session_id)
    assert size_bytes() > archived / 2, "the files did not shrink by what was deleted"
    fill(project)
    assert size_bytes() <= archived * 1.1, "the place of the deleted rows was used again"
    assert second.session.live_rows == ROWS
