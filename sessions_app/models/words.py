"""What rows are found by: one vector of words a row, in a table of its own.

Apart from the rows because a row is touched again when a pass archives it, and its words never are: so a pass costs the
index nothing. Made in the transaction that stores the row; deleted with it.
"""

from django.contrib.postgres.indexes import GinIndex
from django.contrib.postgres.search import SearchVectorField
from django.db import models

from sessions_app.models.rows import MessageRow
from sessions_app.models.sessions import Session


class RowWords(models.Model):
    """The words of one row with their places, and the names of its session and project (sessions_app.search.vector).

    position: the row's own, so that hits of one session come in order without a look at the rows.
    """

    # The database deletes the words with their row.
    row = models.OneToOneField(
        MessageRow, on_delete=models.DO_NOTHING, primary_key=True, related_name="words", db_constraint=False
    )
    session = models.ForeignKey(
        Session, on_delete=models.DO_NOTHING, related_name="+", db_index=False, db_constraint=False
    )
    position = models.BigIntegerField()
    words = SearchVectorField()

    class Meta:
        indexes = [
            GinIndex(fields=["words"], name="row_words"),
            models.Index(fields=["session", "row"], name="row_words_of_session"),
        ]

    def __str__(self) -> str:
        return f"words of {self.row_id}"
