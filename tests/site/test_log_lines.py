"""Lines of the site's log, rendered by the formatter that the settings configure."""

import io
import logging
import logging.config
from datetime import timedelta

import pytest

from hermes_site.log_lines import logging_settings
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
