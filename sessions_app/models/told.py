"""What clients of the gateway tell of their sessions: the history they send along, and what stands beside it.

A client sends its whole history with every request. Each message of it is one line here, with the row that holds it,
so that the next request is compared with what was said before, live or archived alike, without reading a row.
"""

from django.db import models

from sessions_app.models.projects import Project
from sessions_app.models.sessions import Session


class ToldMessage(models.Model):
    """A message of a session's history as its client tells it, numbered from 0.

    digest: of what the message says; prefix: of it and everything before, so that equal histories have equal ones.
    row_key: the row that holds it; in a branch it may be a row of the parent. is_answer: an assistant said it.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="told_messages", db_index=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="+", db_index=False)
    number = models.PositiveIntegerField()
    digest = models.CharField(max_length=32)
    prefix = models.CharField(max_length=32)
    row_key = models.BigIntegerField()
    is_answer = models.BooleanField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="told_number")]
        # With the session, so that of any number with the same beginning the newest are read, and no more.
        indexes = [models.Index(fields=["project", "prefix", "-session"], name="told_by_beginning")]

    def __str__(self) -> str:
        return f"{self.session_id} message {self.number}"


class SessionPrompt(models.Model):
    """System messages and tools that a client sent beside the conversation, from event `seq` on; numbered from 1.

    messages, tools: as they were sent; tools is null when none were. tokens: what they cost in each request.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="prompts", db_index=False)
    number = models.PositiveIntegerField()
    seq = models.BigIntegerField()
    at = models.DateTimeField()
    digest = models.CharField(max_length=32)
    messages = models.JSONField()
    tools = models.JSONField(null=True)
    tokens = models.IntegerField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["session", "number"], name="prompt_number")]

    def __str__(self) -> str:
        return f"{self.session_id} prompt {self.number}"
