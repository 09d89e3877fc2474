"""Every version a session's summary ever had, in order, with the pass that wrote it."""

from django.db import models

from sessions_app.models.passes import CompactionPass
from sessions_app.models.rows import MessageRow
from sessions_app.models.sessions import Session


class SummaryKind(models.TextChoices):
    MICRO = "micro"
    DEFRAG = "defrag"
    BATCH = "batch"


class SummaryRevision(models.Model):
    """One version, numbered from 1. `text` is without its frame, and null when the source keeps it unreadable."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="summary_revisions", db_index=False)
    number = models.PositiveIntegerField()
    kind = models.CharField(max_length=8, choices=SummaryKind.choices)
    text = models.TextField(null=True)
    tokens = models.IntegerField(null=True)
    compaction_pass = models.ForeignKey(
        CompactionPass, on_delete=models.CASCADE, related_name="summaries", db_index=False, db_constraint=False
    )
    row = models.ForeignKey(
        MessageRow, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, db_constraint=False
    )
    superseded_by = models.ForeignKey(
        CompactionPass, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False, db_constraint=False
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="summary_number"),
            models.CheckConstraint(condition=models.Q(kind__in=SummaryKind.values), name="summary_kind_known"),
        ]
        indexes = [
            models.Index(fields=["session", "compaction_pass"], name="summary_of_pass"),
            models.Index(fields=["session", "row"], name="summary_of_row"),
            models.Index(fields=["session", "superseded_by"], name="summary_superseded"),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} summary {self.number}"
