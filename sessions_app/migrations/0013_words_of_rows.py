"""The table of the words by which rows are found. Words go with their row, whoever deletes it."""

import django.contrib.postgres.indexes
import django.contrib.postgres.search
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0012_plays")]

    operations = [
        migrations.CreateModel(
            name="RowWords",
            fields=[
                (
                    "row",
                    models.OneToOneField(
                        db_constraint=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        primary_key=True,
                        related_name="words",
                        serialize=False,
                        to="sessions_app.messagerow",
                    ),
                ),
                ("position", models.BigIntegerField()),
                ("words", django.contrib.postgres.search.SearchVectorField()),
                (
                    "session",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        on_delete=django.db.models.deletion.DO_NOTHING,
                        related_name="+",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={"indexes": [django.contrib.postgres.indexes.GinIndex(fields=["words"], name="row_words")]},
        ),
        migrations.RunSQL(
            "ALTER TABLE sessions_app_rowwords ADD CONSTRAINT words_of_row FOREIGN KEY (session_id, row_id) "
            "REFERENCES sessions_app_messagerow (session_id, id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE sessions_app_rowwords DROP CONSTRAINT words_of_row",
        ),
    ]
