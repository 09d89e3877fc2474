import psycopg
import pytest
from django.db import connection


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
