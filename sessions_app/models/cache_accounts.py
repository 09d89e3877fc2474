"""What the prompt cache made of long sessions, counted in the background and kept.

Figures follow from rows, passes and prices; these tables only spare reading a long session again for each page. An
account answers one question (`fingerprint`) up to event `through_seq` and is carried on from there: events only ever
follow. Any of it may be deleted at any time, and is counted anew when somebody looks.
"""

from django.db import models

from sessions_app.models.sessions import Session


class CacheAccount(models.Model):
    """A session's bills under one assumption, up to `through_seq`.

    table, model, has_no_pauses: the assumption. bills: its sums and what the next request needs, see
    `compaction.session_bills`; history: what the next event needs of the rows. asked_at: since when somebody waits for
    a job to carry it on, null when nobody does.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="cache_accounts", db_index=False)
    fingerprint = models.CharField(max_length=64)
    table = models.CharField(max_length=40)
    model = models.TextField()
    has_no_pauses = models.BooleanField()
    through_seq = models.BigIntegerField(default=0)
    bills = models.JSONField(null=True)
    history = models.BinaryField(null=True)
    asked_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "fingerprint"], name="cache_account_once")]

    def __str__(self) -> str:
        return f"{self.session_id} through {self.through_seq}"


class CacheChunk(models.Model):
    """Some requests of an account that follow each other, each as a list of its figures. first_seq: of the first."""

    account = models.ForeignKey(CacheAccount, on_delete=models.CASCADE, related_name="chunks", db_index=False)
    number = models.PositiveIntegerField()
    first_seq = models.BigIntegerField()
    requests = models.JSONField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["account", "number"], name="cache_chunk_number"),
            models.UniqueConstraint(fields=["account", "first_seq"], name="cache_chunk_first"),
        ]

    def __str__(self) -> str:
        return f"{self.account_id} chunk {self.number}"


class CachePassFigures(models.Model):
    """What an account says of one pass, as a list of figures. number: of the pass."""

    account = models.ForeignKey(CacheAccount, on_delete=models.CASCADE, related_name="pass_figures", db_index=False)
    number = models.PositiveIntegerField()
    figures = models.JSONField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["account", "number"], name="cache_pass_number")]

    def __str__(self) -> str:
        return f"{self.account_id} pass {self.number}"
