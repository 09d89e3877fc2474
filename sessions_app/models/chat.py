"""Answers of the main model that people ask for on the chat page, while they come and until the next one."""

from django.db import models

from sessions_app.models.sessions import Session
from sessions_app.models.wordings import WordedTextField


class AnswerStatus(models.TextChoices):
    RUNNING = "running"
    DONE = "done"
    STOPPED = "stopped"
    FAILED = "failed"


class ChatAnswer(models.Model):
    """One answer. The rows themselves are rows like any others; this is what a page needs to follow it.

    client_id: the browser's id of the sending, so that it can be sent again. asked_row_id: the person's row.
    text: what has come so far; empty once it is a row. is_thinking: whether only thoughts have come. heard_at: the last
    sign of life of whoever asks the model. error, error_detail: a named reason and the endpoint's words.
    """

    session = models.ForeignKey(Session, on_delete=models.CASCADE, related_name="chat_answers", db_index=False)
    client_id = models.CharField(max_length=64)
    asked_row_id = models.BigIntegerField()
    answer_row_id = models.BigIntegerField(null=True)
    status = models.CharField(max_length=8, choices=AnswerStatus.choices, default=AnswerStatus.RUNNING)
    text = models.TextField(blank=True, default="")
    is_thinking = models.BooleanField(default=False)
    stop_requested = models.BooleanField(default=False)
    error = models.TextField(blank=True, default="")
    error_detail = WordedTextField(blank=True, default="")
    started_at = models.DateTimeField()
    heard_at = models.DateTimeField()
    finished_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["session", "client_id"], name="chat_client_id"),
            models.UniqueConstraint(
                fields=["session"], condition=models.Q(status="running"), name="one_answer_at_a_time"
            ),
            models.CheckConstraint(condition=models.Q(status__in=AnswerStatus.values), name="answer_status_known"),
        ]
        indexes = [
            models.Index(fields=["session", "-id"], name="answer_newest"),
            models.Index(fields=["heard_at"], name="answer_running", condition=models.Q(status="running")),
        ]

    def __str__(self) -> str:
        return f"{self.session_id} answer {self.pk}"

    @property
    def is_running(self) -> bool:
        """Whether more may come."""
        return self.status == AnswerStatus.RUNNING
