"""An index for each order and filter of the list of sessions, and for the words of a session's rows.

Made without locking the tables against writes.
"""

from django.contrib.postgres.operations import AddIndexConcurrently
from django.db import migrations, models
from django.db.models.functions import Coalesce

OCCUPANCY_PCT = models.Case(
    models.When(
        threshold_tokens__gt=0,
        then=models.ExpressionWrapper(
            (models.F("live_tokens") + Coalesce(models.F("fixed_overhead_tokens"), 0))
            * models.Value(100.0)
            / models.F("threshold_tokens"),
            output_field=models.FloatField(),
        ),
    ),
    default=None,
    output_field=models.FloatField(),
)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("sessions_app", "0016_told_histories")]

    operations = [
        AddIndexConcurrently("rowwords", models.Index(fields=["session", "row"], name="row_words_of_session")),
        AddIndexConcurrently("session", models.Index(fields=["-live_tokens", "-id"], name="session_by_tokens")),
        AddIndexConcurrently(
            "session", models.Index(fields=["-archived_rows", "-id"], name="session_by_archived_rows")
        ),
        AddIndexConcurrently(
            "session",
            models.Index(
                Coalesce(OCCUPANCY_PCT, models.Value(-1.0)).desc(),
                models.F("id").desc(),
                name="session_by_occupancy",
            ),
        ),
        AddIndexConcurrently("session", models.Index(fields=["project", "model"], name="session_model")),
        AddIndexConcurrently(
            "session", models.Index(fields=["project"], condition=models.Q(status="live"), name="session_live")
        ),
    ]
