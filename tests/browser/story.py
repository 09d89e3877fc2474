"""A hosted coding session with micro passes, one failed pass and a running turn, made by the services."""

import json

from compaction.extractive import ExtractiveSummarizer
from compaction.messages import Message, Role, ToolCall
from compaction.summarizer import Reply
from compaction.tokens import RoughCounter
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import Session
from sessions_app.services import NewMessage

COUNTER = RoughCounter()
TURNS = 12


class FailsOnce:
    """The extractive summarizer, with one reply that does not come in time."""

    model = "extractive"
    window_tokens = None

    def __init__(self, failing_call):
        self._summarizer = ExtractiveSummarizer(COUNTER)
        self._failing_call = failing_call
        self._calls = 0

    def ask(self, request):
        self._calls += 1
        if self._calls == self._failing_call:
            return Reply(error="timeout", duration_ms=30_000)
        return self._summarizer.ask(request)


def user(text):
    return NewMessage(Message(Role.USER, text))


def assistant(text):
    return NewMessage(Message(Role.ASSISTANT, text))


def call(call_id, name, **arguments):
    return NewMessage(Message(Role.ASSISTANT, None, (ToolCall(call_id, name, json.dumps(arguments)),)))


def result(call_id, text):
    return NewMessage(Message(Role.TOOL, text, tool_call_id=call_id))


class Story:
    """One session; each turn reads a file, edits it, and answers."""

    def __init__(self, project, title="Untangle the parser", failing_call=3):
        self.session = services.create_session(project, title, model="gpt-5.2", window_tokens=40_000)
        self._summarizer = FailsOnce(failing_call)
        self._turns = 0
        self.append(NewMessage(Message(Role.SYSTEM, "You help with code. Keep edits small.")))

    @property
    def path(self):
        return f"/s/{self.session.public_id}/"

    def refreshed(self):
        return Session.objects.get(pk=self.session.pk)

    def append(self, *messages):
        services.append_rows(self.session.pk, messages, COUNTER)

    def turn(self, words=None):
        """One whole turn, and the pass after it."""
        self._turns += 1
        number = self._turns
        source = "\n".join(f"line {line} of module_{number}.py = compute({line})" for line in range(90))
        self.append(
            user(words or f"Please look at module {number} next"),
            call(f"read-{number}", "read_file", path=f"src/module_{number}.py"),
            result(f"read-{number}", source),
            call(f"edit-{number}", "edit_file", path=f"src/module_{number}.py", note="rename"),
            result(f"edit-{number}", "1 file changed"),
            assistant(f"Module {number} is done. Decision: keep `parse_{number}` public.\n\n- next: tests"),
        )
        self.finish_turn()

    def finish_turn(self):
        services.finish_turn(self.session.pk)
        finalize_turns(self.session.pk, self._summarizer, COUNTER)


def tell_story(project, **options):
    """The session after its turns."""
    story = Story(project, **options)
    for _ in range(TURNS):
        story.turn()
    return story
