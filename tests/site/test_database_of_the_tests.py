import psycopg
import pytest
from django.contrib.auth.models import Permission
from django.db import connection

from sessions_app import services
from sessions_app.models import Project
from tests.emptying import LARGE_BYTES, empty_tables, tables_with_rows_of_tests


@pytest.mark.django_db
def test_the_tests_run_on_a_private_server_that_does_not_wait_for_the_disk(database_url):
    with connection.cursor() as cursor:
        cursor.execute("select current_setting('fsync'), current_setting('listen_addresses'), current_database()")
        fsync, listen_addresses, name = cursor.fetchone()
    assert (fsync, listen_addresses) == ("off", "")
    assert name.startswith("test_hermes_sessions")
    with psycopg.connect(database_url) as other:
        assert other.execute("select current_database()").fetchone() == (name,)


@pytest.mark.django_db
def test_the_database_of_a_worker_is_a_copy_of_the_migrated_template():
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_database where datname = 'hermes_template'")
        assert cursor.fetchone() == (1,)
        cursor.execute("select count(*) from procrastinate_jobs")
        assert cursor.fetchone() == (0,)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("large_bytes", [LARGE_BYTES, -1], ids=["deleted", "truncated"])
def test_what_a_test_committed_is_gone_afterwards_and_ids_are_never_used_again(large_bytes):
    first = services.create_project("review", "Review")
    assert "sessions_app_project" in filled_tables()
    empty_tables(large_bytes=large_bytes)
    assert filled_tables() == []
    assert Permission.objects.exists()
    assert not Project.objects.exists()
    assert services.create_project("review", "Review").pk > first.pk


def filled_tables():
    with connection.cursor() as cursor:
        found = [cursor.execute(f"select from {name} limit 1").rowcount for name in tables_with_rows_of_tests()]
    return [name for name, rows in zip(tables_with_rows_of_tests(), found, strict=True) if rows]
