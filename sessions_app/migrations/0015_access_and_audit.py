"""Logins with their people, invitations, stored keys, and the audit log, which the database keeps append-only."""

import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# A link to somebody or something that is gone may become empty; nothing else of an entry ever changes.
APPEND_ONLY = """
CREATE FUNCTION sessions_app_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE'
        AND (NEW.actor_id IS NULL OR NEW.actor_id = OLD.actor_id)
        AND (NEW.project_id IS NULL OR NEW.project_id = OLD.project_id)
        AND (to_jsonb(NEW) - 'actor_id' - 'project_id') = (to_jsonb(OLD) - 'actor_id' - 'project_id')
    THEN
        RETURN NEW;
    END IF;
    RAISE EXCEPTION 'entries of the audit log are never changed or deleted';
END $$;
CREATE TRIGGER audit_is_append_only BEFORE UPDATE OR DELETE ON sessions_app_auditentry
    FOR EACH ROW EXECUTE FUNCTION sessions_app_audit_is_append_only();
"""
NOT_APPEND_ONLY = """
DROP TRIGGER audit_is_append_only ON sessions_app_auditentry;
DROP FUNCTION sessions_app_audit_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("sessions_app", "0014_index_stored_rows"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Login",
            fields=[
                (
                    "session_key",
                    models.CharField(max_length=40, primary_key=True, serialize=False, verbose_name="session key"),
                ),
                ("session_data", models.TextField(verbose_name="session data")),
                ("expire_date", models.DateTimeField(db_index=True, verbose_name="expire date")),
                ("user_id", models.BigIntegerField(db_index=True, null=True)),
                ("started_at", models.DateTimeField(null=True)),
                ("seen_at", models.DateTimeField(null=True)),
                ("address", models.GenericIPAddressField(null=True)),
                ("agent", models.CharField(blank=True, default="", max_length=200)),
            ],
            options={
                "verbose_name": "session",
                "verbose_name_plural": "sessions",
                "abstract": False,
            },
        ),
        migrations.CreateModel(
            name="LoginThrottle",
            fields=[
                ("who", models.CharField(max_length=64, primary_key=True, serialize=False)),
                ("busy_until", models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddField(
            model_name="apitoken",
            name="created_by",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.SET_NULL, related_name="+", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddField(
            model_name="apitoken",
            name="expires_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField()),
                ("actor_name", models.CharField(blank=True, default="", max_length=150)),
                ("source", models.CharField(max_length=10)),
                ("source_name", models.CharField(blank=True, default="", max_length=100)),
                ("address", models.GenericIPAddressField(null=True)),
                ("action", models.CharField(max_length=40)),
                ("subject", models.CharField(blank=True, default="", max_length=300)),
                ("details", models.JSONField(default=list)),
                (
                    "actor",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="sessions_app.project",
                    ),
                ),
            ],
            options={
                "indexes": [
                    models.Index(fields=["project", "-id"], name="audit_of_project"),
                    models.Index(fields=["actor", "-id"], name="audit_of_actor"),
                ],
            },
        ),
        migrations.CreateModel(
            name="Invitation",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "role",
                    models.CharField(
                        choices=[("owner", "Owner"), ("editor", "Editor"), ("viewer", "Viewer")], max_length=10
                    ),
                ),
                ("note", models.CharField(blank=True, default="", max_length=100)),
                ("token_hash", models.CharField(max_length=64, unique=True)),
                ("created_at", models.DateTimeField()),
                ("expires_at", models.DateTimeField()),
                ("most_uses", models.PositiveIntegerField()),
                ("uses", models.PositiveIntegerField(default=0)),
                ("revoked_at", models.DateTimeField(null=True)),
                (
                    "created_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="invitations",
                        to="sessions_app.project",
                    ),
                ),
            ],
            options={
                "indexes": [models.Index(fields=["project", "-id"], name="invitation_of_project")],
                "constraints": [
                    models.CheckConstraint(
                        condition=models.Q(("role__in", ["owner", "editor", "viewer"])), name="invitation_role_known"
                    ),
                    models.CheckConstraint(
                        condition=models.Q(("uses__lte", models.F("most_uses"))), name="invitation_uses"
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="ProjectSecret",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=64)),
                ("origin", models.CharField(max_length=300)),
                ("ciphertext", models.TextField()),
                ("set_at", models.DateTimeField()),
                (
                    "project",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="secrets",
                        to="sessions_app.project",
                    ),
                ),
                (
                    "set_by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "constraints": [models.UniqueConstraint(fields=("project", "name"), name="secret_name")],
            },
        ),
        migrations.RunSQL(APPEND_ONLY, NOT_APPEND_ONLY),
    ]
