"""A session: its facts, the engine's state, and its counters.

The counters are totals over the session's rows, kept by the transactions that write rows, so that neither a page nor a
plan ever has to count. They equal a recount at every commit. `compaction_revision` rises with every change of the live
context that is not an append: a pass planned on another revision is stale.
"""

from django.db import models
from django.db.models import Case, When
from django.db.models.functions import Coalesce

from sessions_app.models.projects import Project
from sessions_app.models.wordings import WordedTextField


def occupancy_pct() -> Case:
    """The session's share of its threshold in per cent, null while that is unknown."""
    tokens = models.F("live_tokens") + Coalesce(models.F("fixed_overhead_tokens"), 0)
    share = models.ExpressionWrapper(
        tokens * models.Value(100.0) / models.F("threshold_tokens"), output_field=models.FloatField()
    )
    return Case(When(threshold_tokens__gt=0, then=share), default=None, output_field=models.FloatField())


def occupancy_to_sort_by() -> Coalesce:
    """The same for an order: what is unknown comes last."""
    return Coalesce(occupancy_pct(), models.Value(-1.0))


class SessionStatus(models.TextChoices):
    LIVE = "live"
    IDLE = "idle"
    ENDED = "ended"


class Session(models.Model):
    """One conversation. Unknown is null, never 0.

    source: "hosted" or the format it was imported from. listed_at: the last activity, or the time of creation when no
    activity is known; lists are ordered by it. live_rows: all rows in the live context. archived_rows, rewound_rows:
    message rows that left it by a pass, or without one. summary_rows: live summary rows. reset_seq: the event of the
    newest reset; what happened up to it is no part of the conversation any more. policy_settings: what is set for this
    session alone, on top of its project, as the newest of its own revisions holds it.
    """

    HOSTED = "hosted"

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="sessions", db_index=False)
    public_id = models.CharField(max_length=64, unique=True)
    title = models.TextField(blank=True, default="")
    source = models.CharField(max_length=40, default=HOSTED)
    foreign_id = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    model = models.TextField(null=True)
    window_tokens = models.PositiveIntegerField(null=True)
    fixed_overhead_tokens = models.PositiveIntegerField(null=True)
    policy_settings = models.JSONField(default=dict)
    threshold_tokens = models.PositiveIntegerField(null=True)
    threshold_source = models.CharField(max_length=40, blank=True, default="")
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    last_activity_at = models.DateTimeField(null=True)
    listed_at = models.DateTimeField()
    end_reason = models.TextField(null=True)
    status = models.CharField(max_length=8, choices=SessionStatus.choices, default=SessionStatus.IDLE)
    extras = models.JSONField(default=dict)
    is_damaged = models.BooleanField(default=False)
    import_report = models.JSONField(null=True)

    parent = models.ForeignKey("self", on_delete=models.SET_NULL, null=True, related_name="children")
    parent_link = models.TextField(null=True)
    parent_row = models.ForeignKey("MessageRow", on_delete=models.SET_NULL, null=True, related_name="+")
    parent_foreign_id = models.TextField(null=True)
    parent_call_id = models.TextField(null=True)

    state = models.JSONField(default=dict)
    compaction_revision = models.PositiveIntegerField(default=0)
    last_seq = models.BigIntegerField(default=0)
    reset_seq = models.BigIntegerField(null=True)
    next_position = models.BigIntegerField(default=0)
    is_held = models.BooleanField(default=False)
    held_until_turn = models.PositiveIntegerField(null=True)
    last_error = WordedTextField(blank=True, default="")
    last_error_at = models.DateTimeField(null=True)

    live_rows = models.PositiveIntegerField(default=0)
    archived_rows = models.PositiveIntegerField(default=0)
    rewound_rows = models.PositiveIntegerField(default=0)
    summary_rows = models.PositiveIntegerField(default=0)
    live_tokens = models.BigIntegerField(default=0)
    system_tokens = models.BigIntegerField(default=0)
    user_tokens = models.BigIntegerField(default=0)
    assistant_tokens = models.BigIntegerField(default=0)
    tool_tokens = models.BigIntegerField(default=0)
    summary_tokens = models.BigIntegerField(default=0)
    turns_total = models.PositiveIntegerField(default=0)
    passes_total = models.PositiveIntegerField(default=0)
    micro_passes = models.PositiveIntegerField(default=0)
    defrag_passes = models.PositiveIntegerField(default=0)
    batch_passes = models.PositiveIntegerField(default=0)
    prune_passes = models.PositiveIntegerField(default=0)
    failed_passes = models.PositiveIntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["project", "source", "foreign_id"], name="session_foreign_id"),
            models.CheckConstraint(condition=models.Q(status__in=SessionStatus.values), name="session_status_known"),
            models.CheckConstraint(
                condition=models.Q(
                    live_tokens=models.F("system_tokens")
                    + models.F("user_tokens")
                    + models.F("assistant_tokens")
                    + models.F("tool_tokens")
                    + models.F("summary_tokens")
                ),
                name="session_tokens_add_up",
            ),
        ]
        indexes = [
            models.Index(fields=["-listed_at", "-id"], name="session_listed"),
            models.Index(fields=["project", "-listed_at", "-id"], name="session_listed_in_project"),
            # One for each order of the list, and one for each filter that offers what there is.
            models.Index(fields=["-live_tokens", "-id"], name="session_by_tokens"),
            models.Index(fields=["-archived_rows", "-id"], name="session_by_archived_rows"),
            models.Index(occupancy_to_sort_by().desc(), models.F("id").desc(), name="session_by_occupancy"),
            models.Index(fields=["project", "model"], name="session_model"),
            models.Index(fields=["project"], condition=models.Q(status="live"), name="session_live"),
            models.Index(
                fields=["project", "-last_error_at"], condition=~models.Q(last_error=""), name="session_failed"
            ),
            models.Index(
                fields=["project", "source", "parent_foreign_id"],
                name="session_parent_foreign",
                condition=models.Q(parent_foreign_id__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return self.public_id
