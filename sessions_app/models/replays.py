"""Simulated replays: the rows of a stored session fed turn by turn through the engine under a chosen policy.

A run never touches the rows it reads; its steps are its whole result.
"""

from django.conf import settings
from django.db import models

from sessions_app.models.passes import PassFacts, PassKind
from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedTextField


class RunStatus(models.TextChoices):
    QUEUED = "queued"
    RUNNING = "running"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class ReplayRun(models.Model):
    """One replay of one session. progress_total is null until it is known. `until_seq`: rows up to this event."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="replay_runs", db_index=False)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    policy_name = models.CharField(max_length=40)
    policy_settings = models.JSONField(default=dict)
    summarizer = models.CharField(max_length=200)
    token_counter = models.CharField(max_length=40)
    window_tokens = models.PositiveIntegerField(null=True)
    until_seq = models.BigIntegerField(null=True)
    status = models.CharField(max_length=10, choices=RunStatus.choices, default=RunStatus.QUEUED)
    progress_done = models.PositiveIntegerField(default=0)
    progress_total = models.PositiveIntegerField(null=True)
    cancel_requested = models.BooleanField(default=False)
    error = WordedTextField(blank=True, default="")
    result = models.JSONField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.CheckConstraint(condition=models.Q(status__in=RunStatus.values), name="run_status_known")]
        indexes = [models.Index(fields=["session", "-id"], name="run_newest")]

    def __str__(self) -> str:
        return f"{self.session_id} replay {self.pk}"


class ReplayStep(PassFacts):
    """One decision of a run, numbered from 1; `turn` is the 1-based turn after which it was taken.

    at_position: place of the newest row the decision saw. edit: ids are those of the simulation, where stored rows
    keep their own; positions are the session's.
    """

    run = models.ForeignKey(ReplayRun, on_delete=models.CASCADE, related_name="steps", db_index=False)
    number = models.PositiveIntegerField()
    turn = models.PositiveIntegerField()
    at_position = models.BigIntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "number"], name="step_number"),
            models.CheckConstraint(condition=models.Q(kind__in=PassKind.values), name="step_kind_known"),
        ]

    def __str__(self) -> str:
        return f"replay {self.run_id} step {self.number}"
