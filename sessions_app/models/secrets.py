"""Keys of endpoints that a project stores, encrypted. What is stored here never leaves but in a request to its host."""

from django.conf import settings
from django.db import models

from sessions_app.models.projects import Project


class ProjectSecret(models.Model):
    """One key. origin: scheme, host and port of the only place it may be sent to.

    ciphertext: a Fernet token, readable with the site's key only.
    """

    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="secrets", db_index=False)
    name = models.CharField(max_length=64)
    origin = models.CharField(max_length=300)
    ciphertext = models.TextField()
    set_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    set_at = models.DateTimeField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["project", "name"], name="secret_name")]

    def __str__(self) -> str:
        return f"{self.name} of project {self.project_id}"
