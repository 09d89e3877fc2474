"""Plays: a recorded session told again, live, into a session of its own."""

from django.conf import settings
from django.db import models

from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedTextField


class PlayStatus(models.TextChoices):
    RUNNING = "running"
    PAUSED = "paused"
    DONE = "done"
    CANCELLED = "cancelled"
    FAILED = "failed"


class Play(models.Model):
    """One play into `session`, of the session `recorded` up to its event `until_seq`, or of a sample by name.

    rate: how many times faster than recorded. steps_done: the next step's index; totals are null until the recording
    was read. ticket: rises whenever the play is paused or goes on; a job with an older one does nothing. next_at: when
    the next step is due, null while none is.
    """

    session = models.OneToOneField(Session, on_delete=models.CASCADE, related_name="play")
    recorded = models.ForeignKey(Session, on_delete=models.SET_NULL, null=True, related_name="+")
    until_seq = models.BigIntegerField(null=True)
    sample = models.CharField(max_length=40, blank=True, default="")
    title = models.TextField(blank=True, default="")
    rate = models.FloatField()
    status = models.CharField(max_length=10, choices=PlayStatus.choices, default=PlayStatus.RUNNING)
    ticket = models.PositiveIntegerField(default=0)
    steps_done = models.PositiveIntegerField(default=0)
    steps_total = models.PositiveIntegerField(null=True)
    turns_done = models.PositiveIntegerField(default=0)
    turns_total = models.PositiveIntegerField(null=True)
    next_at = models.DateTimeField(null=True)
    error = WordedTextField(blank=True, default="")
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(status__in=PlayStatus.values), name="play_status_known"),
            models.CheckConstraint(condition=models.Q(rate__gt=0), name="play_rate_positive"),
        ]

    def __str__(self) -> str:
        return f"play {self.pk} into {self.session_id}"

    @property
    def is_over(self) -> bool:
        """Whether nothing more will be played."""
        return self.status in (PlayStatus.DONE, PlayStatus.CANCELLED, PlayStatus.FAILED)
