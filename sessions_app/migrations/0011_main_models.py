"""The main model as settings, and what of a session each call to it was sent."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0010_turns_that_are_not_over"),
    ]

    operations = [
        migrations.AddField(
            model_name="modelcall",
            name="context_rows",
            field=models.IntegerField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="context_seq",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="context_tokens",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="repairs",
            field=models.JSONField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="waited_ms",
            field=models.BigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="modelcall",
            name="went_ahead",
            field=models.BooleanField(null=True),
        ),
        migrations.AddField(
            model_name="project",
            name="main_model_settings",
            field=models.JSONField(default=dict),
        ),
    ]
