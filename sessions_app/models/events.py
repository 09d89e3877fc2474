"""The session's clock: each change of a session is one event with the next number.

Rows are born and die at events, browsers catch up by asking for events after the last one they saw, and the occupancy
chart is drawn from the totals each event carries.
"""

from django.db import models

from sessions_app.models.passes import CompactionPass
from sessions_app.models.sessions import Session


class EventKind(models.TextChoices):
    APPENDED = "appended"
    TURN_FINISHED = "turn_finished"
    PASS = "pass"
    REWOUND = "rewound"
    RESET = "reset"
    UNDO = "undo"
    HELD = "held"
    RESUMED = "resumed"
    POLICY = "policy"
    IMPORTED = "imported"
    ENDED = "ended"
    FAILED = "failed"


class SessionEvent(models.Model):
    """One event. first_position and last_position enclose the rows it concerns; totals are those after it."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="events", db_index=False)
    seq = models.BigIntegerField()
    kind = models.CharField(max_length=16, choices=EventKind.choices)
    at = models.DateTimeField(null=True)
    first_position = models.BigIntegerField(null=True)
    last_position = models.BigIntegerField(null=True)
    compaction_pass = models.ForeignKey(
        CompactionPass, on_delete=models.CASCADE, null=True, related_name="events", db_index=False, db_constraint=False
    )
    live_rows = models.IntegerField()
    live_tokens = models.BigIntegerField()
    threshold_tokens = models.IntegerField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "seq"], name="event_seq"),
            models.CheckConstraint(condition=models.Q(kind__in=EventKind.values), name="event_kind_known"),
        ]
        indexes = [
            models.Index(
                fields=["session", "compaction_pass"],
                name="event_of_pass",
                condition=models.Q(compaction_pass__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.session_id}@{self.seq} {self.kind}"
