"""The histories that clients of the gateway tell, and the prompts and tools they send beside them."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0015_access_and_audit"),
    ]

    operations = [
        migrations.CreateModel(
            name="SessionPrompt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("seq", models.BigIntegerField()),
                ("at", models.DateTimeField()),
                ("digest", models.CharField(max_length=32)),
                ("messages", models.JSONField()),
                ("tools", models.JSONField(null=True)),
                ("tokens", models.IntegerField()),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="prompts",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("session", "number"), name="prompt_number")],
            },
        ),
        migrations.CreateModel(
            name="ToldMessage",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                ("digest", models.CharField(max_length=32)),
                ("prefix", models.CharField(max_length=32)),
                ("row_key", models.BigIntegerField()),
                ("is_answer", models.BooleanField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="sessions_app.project",
                    ),
                ),
                (
                    "session",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="told_messages",
                        to="sessions_app.session",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "prefix"], name="told_by_prefix")],
                "constraints": [models.UniqueConstraint(fields=("session", "number"), name="told_number")],
            },
        ),
    ]
