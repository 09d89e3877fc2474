"""How far the end of a turn has come, and the ledger of calls to models. A call's link to its pass can't leave the
session, as with the links of 0002."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("sessions_app", "0004_pass_notes")]

    operations = [
        migrations.AddField(
            model_name="turn",
            name="step_done",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.CreateModel(
            name="ModelCall",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                (
                    "purpose",
                    models.CharField(
                        choices=[("absorb", "Absorb"), ("defrag", "Defrag"), ("batch", "Batch"), ("main", "Main")],
                        max_length=8,
                    ),
                ),
                ("provider", models.TextField(blank=True, default="")),
                ("endpoint", models.TextField(blank=True, default="")),
                ("model", models.TextField(null=True)),
                ("input_tokens", models.BigIntegerField(null=True)),
                ("output_tokens", models.BigIntegerField(null=True)),
                ("cached_tokens", models.BigIntegerField(null=True)),
                ("reasoning_tokens", models.BigIntegerField(null=True)),
                ("cost_usd", models.DecimalField(decimal_places=9, max_digits=16, null=True)),
                ("duration_ms", models.BigIntegerField(null=True)),
                ("first_token_ms", models.BigIntegerField(null=True)),
                ("error", models.TextField(blank=True, default="")),
                (
                    "compaction_pass",
                    models.ForeignKey(
                        db_constraint=False,
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="calls",
                        to="sessions_app.compactionpass",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="model_calls",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["session", "id"], name="call_of_session"),
                    models.Index(
                        condition=models.Q(("compaction_pass__isnull", False)),
                        fields=["session", "compaction_pass"],
                        name="call_of_pass",
                    ),
                ],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("purpose__in", ["absorb", "defrag", "batch", "main"])),
                        name="call_purpose_known",
                    )
                ],
            },
        ),
        migrations.RunSQL(
            "ALTER TABLE sessions_app_modelcall ADD CONSTRAINT call_of_pass_link "
            "FOREIGN KEY (session_id, compaction_pass_id) "
            "REFERENCES sessions_app_compactionpass (session_id, id) DEFERRABLE INITIALLY DEFERRED",
            "ALTER TABLE sessions_app_modelcall DROP CONSTRAINT call_of_pass_link",
        ),
    ]
