"""Turns of a hosted session, each finished and finalized."""

from row_builder import COUNTER, assistant, call, result, user

from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import CompactionPass

SUMMARY = Reply(text="## Key Decisions\n- the parser stays as it is", finish_reason="stop", model="small")


class Talk:
    """Talks in one session; `summarizer` may be changed at any time."""

    def __init__(self, rows, *replies):
        self.rows = rows
        self.summarizer = ScriptedSummarizer(replies or [SUMMARY], model="small")

    def turn(self, number, words=60):
        name = f"c{number}"
        self.rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * words))
        self.rows.append(assistant(f"answer {number}"))
        return services.finish_turn(self.rows.session_id)

    def turns(self, count, first=0, words=60):
        for number in range(first, first + count):
            self.turn(number, words)
            self.finalize()

    def finalize(self):
        return finalize_turns(self.rows.session_id, self.summarizer, COUNTER)


def passes(rows):
    return list(CompactionPass.objects.filter(session_id=rows.session_id).order_by("number"))
