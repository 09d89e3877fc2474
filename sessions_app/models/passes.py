"""Compaction passes: the stored facts of each decision, recorded as it was made.

The replay page shows these columns and reconstructs nothing. A pass of the engine, a pass that a source recorded and
a step of a simulated replay have the same facts (`PassFacts`), so one page serves all three. What is not known is null.
"""

from django.db import models

from sessions_app.models.policies import PolicyRevision, SessionPolicyRevision
from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedListField, WordedTextField


class PassKind(models.TextChoices):
    MICRO = "micro"
    DEFRAG = "defrag"
    BATCH = "batch"
    PRUNE = "prune"
    NOTHING = "nothing"


class PassOrigin(models.TextChoices):
    ENGINE = "engine"
    IMPORTED = "imported"


class PassFacts(models.Model):
    """What happened in one pass: plan, prompt, reply, edit and figures. Tokens, times and places as named.

    zones: as the engine's `Zones`, keys as [position, id]. exchanges: a list of {first, last, rows, tokens}. edit:
    {archived, superseded, inserted} by row id. reply_error: named reason of a call that failed, empty otherwise.
    notes: a list of texts for people, null where none could be recorded.
    """

    kind = models.CharField(max_length=8, choices=PassKind.choices)
    outcome = models.CharField(max_length=40)
    reason = models.CharField(max_length=200, blank=True, default="")
    detail = WordedTextField(blank=True, default="")
    notes = WordedListField(null=True)
    trigger = models.TextField(null=True)
    zones = models.JSONField(null=True)
    exchanges = models.JSONField(null=True)
    cursor_before_position = models.BigIntegerField(null=True)
    cursor_before_id = models.BigIntegerField(null=True)
    cursor_after_position = models.BigIntegerField(null=True)
    cursor_after_id = models.BigIntegerField(null=True)
    prompt_system = models.TextField(null=True)
    prompt_user = models.TextField(null=True)
    redactions = models.IntegerField(null=True)
    reply_text = models.TextField(null=True)
    reply_error = models.TextField(blank=True, default="")
    finish_reason = models.TextField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    started_at = models.DateTimeField(null=True)
    duration_ms = models.BigIntegerField(null=True)
    tokens_before = models.BigIntegerField(null=True)
    tokens_after = models.BigIntegerField(null=True)
    rows_before = models.IntegerField(null=True)
    rows_after = models.IntegerField(null=True)
    fixed_overhead_tokens = models.IntegerField(null=True)
    exchange_tokens = models.BigIntegerField(null=True)
    rolling_summary_tokens = models.IntegerField(null=True)
    summary_before = models.TextField(null=True)
    summary_after = models.TextField(null=True)
    edit = models.JSONField(null=True)
    threshold_tokens = models.IntegerField(null=True)
    threshold_source = models.TextField(null=True)
    context_limit_tokens = models.IntegerField(null=True)
    occupancy_pct = models.FloatField(null=True)
    main_model = models.TextField(null=True)
    aux_model = models.TextField(null=True)
    telemetry = models.JSONField(null=True)
    cache_break_tokens = models.BigIntegerField(null=True)
    cache_estimate = models.JSONField(null=True)

    class Meta:
        abstract = True


class CompactionPass(PassFacts):
    """A pass over a stored session, numbered from 1 in it.

    seq: the event at which it was committed (or failed). committed: whether it changed rows. undone_seq: the event of
    its undo. foreign_id: identity of an imported pass, so that a second import finds it again. is_opaque: the source
    has a summary that can't be read. counted_tokens_*: live tokens as counted here, beside `tokens_*`, which for an
    imported pass are the source's own figures. unknown_archived: how many rows it is said to have archived that were
    never seen here. place_*: the key in front of which a pass stands that archived no row (or none any more); null
    where the rows it archived tell.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="passes", db_index=False)
    number = models.PositiveIntegerField()
    origin = models.CharField(max_length=10, choices=PassOrigin.choices, default=PassOrigin.ENGINE)
    seq = models.BigIntegerField()
    at = models.DateTimeField(null=True)
    turn = models.IntegerField(null=True)
    policy_revision = models.ForeignKey(PolicyRevision, on_delete=models.SET_NULL, null=True, related_name="+")
    session_policy_revision = models.ForeignKey(
        SessionPolicyRevision, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    revision_before = models.PositiveIntegerField(null=True)
    revision_after = models.PositiveIntegerField(null=True)
    state_before = models.JSONField(null=True)
    committed = models.BooleanField()
    counted_tokens_before = models.BigIntegerField(null=True)
    counted_tokens_after = models.BigIntegerField(null=True)
    undone_seq = models.BigIntegerField(null=True)
    foreign_id = models.TextField(null=True)
    is_opaque = models.BooleanField(default=False)
    unknown_archived = models.PositiveIntegerField(default=0)
    place_position = models.BigIntegerField(null=True)
    place_id = models.BigIntegerField(null=True)

    class Meta:
        indexes = [
            models.Index(
                fields=["session", "place_position"],
                condition=models.Q(place_position__isnull=False),
                name="pass_that_archived_none",
            ),
        ]
        constraints = [
            models.UniqueConstraint(fields=["session", "number"], name="pass_number"),
            models.UniqueConstraint(fields=["session", "id"], name="pass_in_session"),
            models.UniqueConstraint(
                fields=["session", "foreign_id"],
                condition=models.Q(foreign_id__isnull=False),
                name="pass_foreign_id",
            ),
            models.CheckConstraint(condition=models.Q(kind__in=PassKind.values), name="pass_kind_known"),
            models.CheckConstraint(condition=models.Q(origin__in=PassOrigin.values), name="pass_origin_known"),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} pass {self.number}"

    def stand_at(self, place: tuple[int, int] | None) -> None:
        """Give the pass a place of its own, or none. Saves nothing."""
        self.place_position, self.place_id = (None, None) if place is None else place
