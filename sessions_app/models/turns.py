"""Turns: what a person asked and everything up to the next time a person asked.

Imported sessions get derived turns; hosted ones also get the three times at which the reply was sent, the pass after
it began, and the turn ended.
"""

from django.db import models

from sessions_app.models.sessions import Session


class TurnStep(models.IntegerChoices):
    """What is done at the end of a turn, in this order. NONE: nothing yet."""

    NONE = 0
    MICRO = 1
    BATCH = 2
    PRUNE = 3


class Turn(models.Model):
    """One turn, numbered from 1. It encloses the rows from first_position to last_position.

    step_done: the last step of its end whose result was stored, with that result; what is not due stores nothing.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="turns", db_index=False)
    number = models.PositiveIntegerField()
    first_position = models.BigIntegerField()
    last_position = models.BigIntegerField()
    started_at = models.DateTimeField(null=True)
    reply_sent_at = models.DateTimeField(null=True)
    finalizing_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    is_finished = models.BooleanField(default=False)
    interrupted = models.BooleanField(default=False)
    step_done = models.PositiveSmallIntegerField(default=TurnStep.NONE)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="turn_number"),
            models.CheckConstraint(
                condition=models.Q(last_position__gte=models.F("first_position")), name="turn_in_order"
            ),
        ]
        indexes = [
            models.Index(fields=["session", "first_position"], name="turn_by_position"),
            # Each turn begins and ends with a look at those that are not over; there are few, however many there were.
            models.Index(fields=["session", "number"], name="turn_not_over", condition=models.Q(ended_at__isnull=True)),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} turn {self.number}"
