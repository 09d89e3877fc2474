"""The ledger of calls to models: what each one used and cost, whatever came of it.

An entry is written once, in the transaction that stores what the call was for, and never changed. Figures are the
endpoint's own; what it did not report is null. Nothing of the question or the answer is kept here.
"""

from django.db import models

from sessions_app.models.passes import CompactionPass
from sessions_app.models.sessions import Session


class CallPurpose(models.TextChoices):
    """What a model was asked for."""

    ABSORB = "absorb"
    DEFRAG = "defrag"
    BATCH = "batch"
    MAIN = "main"


class ModelCall(models.Model):
    """One question put to a model, retries included.

    compaction_pass: null when it was not for a pass, or when the pass could not be stored. endpoint: address without
    its query; empty for a summarizer that asks nobody. error: named reason of a call that failed, else empty.
    input_tokens include those served from a cache, output_tokens the reasoning. cost_usd: null when the model's price
    or its usage is unknown. first_token_ms: null when the answer came whole.

    Of calls to the main model: context_seq: the event whose live rows were sent, so many of them and so many tokens
    with the fixed overhead. repairs: what the model view changed, by kind. waited_ms: how long the request waited for
    passes; went_ahead: it then went out although one was still under way. All null for other calls.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="model_calls", db_index=False)
    compaction_pass = models.ForeignKey(
        CompactionPass, on_delete=models.CASCADE, null=True, related_name="calls", db_index=False, db_constraint=False
    )
    at = models.DateTimeField()
    purpose = models.CharField(max_length=8, choices=CallPurpose.choices)
    provider = models.TextField(blank=True, default="")
    endpoint = models.TextField(blank=True, default="")
    model = models.TextField(null=True)
    input_tokens = models.BigIntegerField(null=True)
    output_tokens = models.BigIntegerField(null=True)
    cached_tokens = models.BigIntegerField(null=True)
    reasoning_tokens = models.BigIntegerField(null=True)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=9, null=True)
    duration_ms = models.BigIntegerField(null=True)
    first_token_ms = models.BigIntegerField(null=True)
    error = models.TextField(blank=True, default="")
    context_seq = models.BigIntegerField(null=True)
    context_rows = models.IntegerField(null=True)
    context_tokens = models.BigIntegerField(null=True)
    repairs = models.JSONField(null=True)
    waited_ms = models.BigIntegerField(null=True)
    went_ahead = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=models.Q(purpose__in=CallPurpose.values), name="call_purpose_known"),
        ]
        indexes = [
            models.Index(fields=["session", "id"], name="call_of_session"),
            models.Index(
                fields=["session", "compaction_pass"],
                name="call_of_pass",
                condition=models.Q(compaction_pass__isnull=False),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} {self.purpose} call {self.pk}"
