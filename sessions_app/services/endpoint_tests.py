"""Tests of endpoints: asked for, kept result by result, stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction
from django.utils import timezone

from compaction.storable import storable_text
from sessions_app.deferring import defer_endpoint_test
from sessions_app.mapping import storable_json
from sessions_app.models import EndpointTest, JobStatus, Project, Session
from sessions_app.services.cancelling import cancel_job


def request_endpoint_test(
    project: Project,
    endpoints: Sequence[Mapping[str, Any]],
    *,
    session: Session | None = None,
    created_by: AbstractBaseUser | None = None,
) -> EndpointTest:
    """A queued test of `endpoints` (`auxiliary.compression` blocks), with its job. session: the session of which a
    recorded exchange is the question; None for the made-up one."""
    with transaction.atomic():
        test = EndpointTest.objects.create(
            project=project,
            created_by_id=None if created_by is None else created_by.pk,
            session=session,
            is_recorded=session is not None,
            endpoints=storable_json([dict(block) for block in endpoints]),
        )
        defer_endpoint_test(test.pk)
    return test


def begin_endpoint_test(test: EndpointTest, question: Mapping[str, Any] | None) -> None:
    """Note that the test runs, with what is asked. What an attempt before the crash of a worker has stored stays."""
    test.status, test.started_at = JobStatus.RUNNING, test.started_at or timezone.now()
    test.question = None if question is None else dict(question)
    test.save(update_fields=["status", "started_at", "question"])


def store_probe(test: EndpointTest, result: Mapping[str, Any]) -> None:
    """Add the result of one endpoint."""
    test.report = [*test.report, storable_json(dict(result))]
    test.save(update_fields=["report"])


def is_cancel_requested(test: EndpointTest) -> bool:
    """Whether somebody asked the test to stop."""
    return EndpointTest.objects.filter(pk=test.pk, cancel_requested=True).exists()


def finish_endpoint_test(test: EndpointTest, status: JobStatus, error: str = "") -> None:
    """Note how the test ended."""
    test.status, test.error, test.finished_at = status, storable_text(error), timezone.now()
    test.save(update_fields=["status", "error", "finished_at"])


def cancel_endpoint_test(test_id: int) -> bool:
    """Ask a test to stop; one that has not begun is cancelled at once. False when it is over already."""
    return cancel_job(EndpointTest.objects.filter(pk=test_id), finished_at=timezone.now())
