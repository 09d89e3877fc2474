"""The audit log: who did what, when and from where. Entries are only ever added.

The database itself refuses to change or delete one; only the links to people and projects that are gone become empty,
and the names they had stay readable.
"""

from __future__ import annotations

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from sessions_app.models.projects import Project
from sessions_app.models.wordings import WordedCharField


class AuditSource(models.TextChoices):
    """Where a deed came from."""

    PAGE = "page", _("page")
    TOKEN = "token", _("API token")
    COMMAND = "command", _("command")
    SITE = "site", _("the site itself")


class AuditAction(models.TextChoices):
    """What was done. The word before the dot is the kind by which the page filters."""

    LOGIN_SUCCEEDED = "login.succeeded", _("logged in")
    LOGIN_FAILED = "login.failed", _("failed to log in")
    LOGIN_REFUSED = "login.refused", _("tried to log in too often")
    LOGIN_ENDED = "login.ended", _("logged out")
    LOGIN_ENDED_EVERYWHERE = "login.ended_everywhere", _("logged out everywhere")
    ACCOUNT_CREATED = "account.created", _("created an account")
    ACCOUNT_RENAMED = "account.renamed", _("renamed an account")
    ACCOUNT_PASSWORD = "account.password", _("changed a password")
    PROJECT_CREATED = "project.created", _("created the project")
    PROJECT_DELETED = "project.deleted", _("deleted the project")
    MEMBER_ADDED = "access.member_added", _("added a member")
    MEMBER_ROLE = "access.member_role", _("changed a role")
    MEMBER_REMOVED = "access.member_removed", _("removed a member")
    MEMBER_LEFT = "access.member_left", _("left the project")
    INVITATION_CREATED = "access.invitation_created", _("created an invitation")
    INVITATION_REVOKED = "access.invitation_revoked", _("revoked an invitation")
    INVITATION_ACCEPTED = "access.invitation_accepted", _("accepted an invitation")
    TOKEN_CREATED = "access.token_created", _("created an API token")
    TOKEN_REVOKED = "access.token_revoked", _("revoked an API token")
    SECRET_STORED = "access.secret_stored", _("stored a key")
    SECRET_REMOVED = "access.secret_removed", _("removed a key")
    SETTINGS_SAVED = "settings.saved", _("saved settings")
    SESSION_EXPORTED = "session.exported", _("exported a session")
    SESSION_UNDONE = "session.undone", _("took a pass back")
    SESSION_RESET = "session.reset", _("reset a session")
    SESSION_BRANCHED = "session.branched", _("branched a session")
    SESSION_DELETED = "session.deleted", _("deleted a session")
    IMPORT_REQUESTED = "import.requested", _("imported files")


class AuditEntry(models.Model):
    """One deed. project is null for deeds of the whole site, such as logins.

    actor_name, source_name: the person's and the token's or command's name at that time. subject: what it was done to,
    by name. details: pairs of words, such as ["role", "editor"]; never a secret, never a text of a session.
    """

    at = models.DateTimeField()
    project = models.ForeignKey(Project, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False)
    actor = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+", db_index=False
    )
    actor_name = models.CharField(max_length=150, blank=True, default="")
    source = models.CharField(max_length=10)
    source_name = models.CharField(max_length=100, blank=True, default="")
    address = models.GenericIPAddressField(null=True)
    # Without choices: a new word is no change of the schema.
    action = models.CharField(max_length=40)
    subject = WordedCharField(max_length=300, blank=True, default="")
    details = models.JSONField(default=list)

    class Meta:
        indexes = [
            models.Index(fields=["project", "-id"], name="audit_of_project"),
            models.Index(fields=["actor", "-id"], name="audit_of_actor"),
            models.Index(
                fields=["project", "subject"],
                condition=models.Q(action=AuditAction.SESSION_DELETED.value),
                name="audit_of_deleted_sessions",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.actor_name or self.source}: {self.action}"
