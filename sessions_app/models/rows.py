"""Message rows and their lifetimes: the table everything else is read from.

A row is written once. `born_seq` and `died_seq` are numbers of the session's events: the row was live from the first,
inclusive, to the second, exclusive, and is live now while `died_seq` is null. What the model saw at event s is
therefore `born_seq <= s and (died_seq is null or died_seq > s)`. A pass stamps `died_seq` and `archived_by` on rows it
takes out, and inserts rows that name it in `made_by`.

Undo revives rows: the interval that ended moves to `RowLifetime` and the row is born again, so a row has one current
interval here and any number of earlier ones there.

The session leads every index but the primary key, and the links to passes and to rows are foreign keys of the pair
(session, id), made by the first migration: a link can't leave its session, deleting a session finds its rows by index,
and the table can be partitioned by session.
"""

from django.db import models
from django.db.models import Q

from compaction.messages import Role, RowKind
from sessions_app.models.passes import CompactionPass
from sessions_app.models.sessions import Session


class MessageRow(models.Model):
    """One row. `content` is text, or null when `parts` holds list content or there is none.

    tokens: cost with `token_counter`; reasoning_tokens are apart. at: when the source says it was written.
    message_extras: JSON text of keys the engine does not use; raw: the source's record, for people.
    is_repaired: characters that PostgreSQL can't hold were replaced.
    """

    id = models.BigAutoField(primary_key=True)
    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="rows", db_index=False)
    position = models.BigIntegerField()
    born_seq = models.BigIntegerField()
    died_seq = models.BigIntegerField(null=True)
    kind = models.CharField(max_length=16)
    role = models.CharField(max_length=10)
    content = models.TextField(null=True)
    parts = models.JSONField(null=True)
    tool_calls = models.JSONField(null=True)
    tool_call_id = models.TextField(null=True)
    name = models.TextField(null=True)
    reasoning = models.TextField(null=True)
    message_extras = models.TextField(blank=True, default="")
    by_person = models.BooleanField(default=True)
    tokens = models.IntegerField()
    reasoning_tokens = models.IntegerField(null=True)
    token_counter = models.CharField(max_length=40)
    foreign_id = models.TextField(null=True)
    at = models.DateTimeField(null=True)
    model = models.TextField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cache_read_tokens = models.BigIntegerField(null=True)
    cache_write_tokens = models.BigIntegerField(null=True)
    turn = models.IntegerField(null=True)
    source_line = models.BigIntegerField(null=True)
    raw = models.TextField(blank=True, default="")
    is_repaired = models.BooleanField(default=False)
    made_by = models.ForeignKey(
        CompactionPass,
        on_delete=models.CASCADE,
        null=True,
        related_name="made_rows",
        db_index=False,
        db_constraint=False,
    )
    archived_by = models.ForeignKey(
        CompactionPass,
        on_delete=models.CASCADE,
        null=True,
        related_name="archived_rows",
        db_index=False,
        db_constraint=False,
    )
    replaces = models.ForeignKey(
        "self", on_delete=models.CASCADE, null=True, related_name="replaced_by", db_index=False, db_constraint=False
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(died_seq__gt=models.F("born_seq")), name="row_dies_after_birth"),
            models.CheckConstraint(condition=Q(kind__in=[kind.value for kind in RowKind]), name="row_kind_known"),
            models.CheckConstraint(condition=Q(role__in=[role.value for role in Role]), name="row_role_known"),
            models.CheckConstraint(condition=Q(tokens__gte=0), name="row_tokens_not_negative"),
            models.CheckConstraint(condition=Q(content__isnull=True) | Q(parts__isnull=True), name="row_one_content"),
            models.CheckConstraint(
                condition=Q(archived_by__isnull=True) | Q(died_seq__isnull=False), name="row_archived_is_dead"
            ),
            models.UniqueConstraint(
                fields=["session", "position"], condition=Q(died_seq__isnull=True), name="row_one_live_per_position"
            ),
            models.UniqueConstraint(
                fields=["session"],
                condition=Q(kind=RowKind.MICRO_SUMMARY.value, died_seq__isnull=True),
                name="row_one_live_micro_summary",
            ),
            models.UniqueConstraint(
                fields=["session", "foreign_id"], condition=Q(foreign_id__isnull=False), name="row_foreign_id"
            ),
            models.UniqueConstraint(fields=["session", "id"], name="row_in_session"),
        ]
        indexes = [
            models.Index(fields=["session", "position", "id"], name="row_order"),
            models.Index(fields=["session", "born_seq"], name="row_born"),
            models.Index(fields=["session", "died_seq"], name="row_died", condition=Q(died_seq__isnull=False)),
            models.Index(
                fields=["session", "archived_by", "position", "id"],
                name="row_archived_by",
                condition=Q(archived_by__isnull=False),
            ),
            models.Index(fields=["session", "made_by"], name="row_made_by", condition=Q(made_by__isnull=False)),
            models.Index(fields=["session", "replaces"], name="row_replaces", condition=Q(replaces__isnull=False)),
            # Counted on every page of a session: what no micro pass takes.
            models.Index(
                fields=["session", "position"],
                name="row_live_user",
                condition=Q(died_seq__isnull=True, kind=RowKind.MESSAGE.value, role=Role.USER.value),
            ),
            models.Index(
                fields=["session", "position", "id"],
                name="row_live_summaries",
                condition=Q(died_seq__isnull=True, kind__in=[RowKind.MICRO_SUMMARY.value, RowKind.BATCH_SUMMARY.value]),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.session_id}#{self.position}"


class RowLifetime(models.Model):
    """An interval in which a row was live before it was revived; `archived_by` is the pass that ended it."""

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="row_lifetimes", db_index=False)
    row = models.ForeignKey(
        MessageRow, on_delete=models.CASCADE, related_name="lifetimes", db_index=False, db_constraint=False
    )
    born_seq = models.BigIntegerField()
    died_seq = models.BigIntegerField()
    archived_by = models.ForeignKey(
        CompactionPass, on_delete=models.CASCADE, null=True, related_name="+", db_index=False, db_constraint=False
    )

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(died_seq__gt=models.F("born_seq")), name="lifetime_dies_after_birth"),
            models.UniqueConstraint(fields=["session", "row", "born_seq"], name="lifetime_once"),
        ]
        indexes = [
            models.Index(fields=["session", "died_seq"], name="lifetime_died"),
            models.Index(fields=["session", "archived_by"], name="lifetime_archived_by"),
        ]

    def __str__(self) -> str:
        return f"{self.row_id}: {self.born_seq}-{self.died_seq}"
