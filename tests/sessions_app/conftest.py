"""Sessions with rows and passes, made by the services themselves."""

import pytest
from row_builder import RowBuilder

from sessions_app import services


@pytest.fixture
def project(db):
    return services.create_project("review", "Review")


@pytest.fixture
def session(project):
    return services.create_session(project, "A long review", window_tokens=200_000, fixed_overhead_tokens=100)


@pytest.fixture
def rows(session):
    return RowBuilder(session.pk)
