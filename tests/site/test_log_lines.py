"""Lines of the site's log, rendered by the formatter that the settings configure."""

import io
import logging
import logging.config
from datetime import timedelta

import pytest
from django.db import connection, transaction

from hermes_site.log_lines import logging_settings
from sessions_app.models import MemberRole
from sessions_app.services import add_member, create_project
from sessions_app.services.login_links import issue_login_link


def formatter(shape):
    settings = logging_settings(shape, "INFO")["formatters"]["chosen"]
    return logging.config.DictConfigurator({}).configure_formatter(dict(settings))


@pytest.fixture
def log_of_requests():
    """Hear what Django says of requests, as the console would show it."""
    logger, heard = logging.getLogger("django.request"), {}
    handlers = []
    for shape in ("line", "json"):
        heard[shape] = io.StringIO()
        handlers.append(logging.StreamHandler(heard[shape]))
        handlers[-1].setFormatter(formatter(shape))
        logger.addHandler(handlers[-1])
    yield heard
    for handler in handlers:
        logger.removeHandler(handler)


@pytest.mark.django_db
def test_the_secret_of_a_login_link_is_in_no_line_about_a_request(client, django_user_model, log_of_requests):
    token = issue_login_link(django_user_model.objects.create_user("person"), timedelta(hours=1))
    path = f"/login/once/{token}"
    assert client.head(path).status_code == 405
    assert client.get(path).status_code == 302
    assert client.get(path).status_code == 410
    for heard in log_of_requests.values():
        lines = heard.getvalue()
        assert lines.count("/login/once/[hidden]") >= 2
        assert token not in lines


@pytest.mark.django_db
def test_a_page_that_somebody_may_not_open_is_one_line_in_the_log(client, django_user_model, log_of_requests):
    viewer = django_user_model.objects.create_user("viewer")
    add_member(create_project("review", "Review", None), viewer, MemberRole.VIEWER)
    client.force_login(viewer)
    assert client.get("/p/review/tokens/").status_code == 403
    for heard in log_of_requests.values():
        lines = heard.getvalue().splitlines()
        assert len(lines) == 1
        assert "/p/review/tokens/" in lines[0] and "Traceback" not in lines[0]


# In no line of code below: a traceback shows those.
SAID = "what somebody said"


@pytest.mark.django_db
@pytest.mark.parametrize("shape", ["line", "json"])
def test_what_the_database_says_of_an_error_is_in_no_line_but_where_it_happened_is(shape):
    logger, heard = logging.getLogger("of.this.test"), io.StringIO()
    handler = logging.StreamHandler(heard)
    handler.setFormatter(formatter(shape))
    logger.addHandler(handler)
    try:
        store_words(SAID)
    except RuntimeError:
        logger.exception("it failed")
    logger.error("another one", exc_info=ValueError("our own words"))
    logger.removeHandler(handler)
    lines = heard.getvalue()
    assert "it failed" in lines and "store_words" in lines and "RuntimeError" in lines
    assert SAID not in lines
    assert "our own words" in lines


def store_words(words):
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("select %s::text::int", [words])
    except Exception as error:
        raise RuntimeError("stored nothing") from error
