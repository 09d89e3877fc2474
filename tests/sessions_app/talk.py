"""Turns of a hosted session, each finished and finalized."""

from row_builder import COUNTER, assistant, call, result, user

from compaction.scripted import ScriptedSummarizer
from compaction.summarizer import Reply
from sessions_app import services
from sessions_app.finalizing import finalize_turns
from sessions_app.models import CompactionPass

MICRO_PASSES = {"compression": {"micro_compact": True, "threshold_floor": "off", "threshold": 0.5}}
EARLY_MICRO_PASSES = {"compression": {**MICRO_PASSES["compression"], "target_ratio": 0.1}}
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


def with_settings(project, blocks):
    """The project, read anew, after these settings were saved in it."""
    services.save_policy(project.pk, blocks, None)
    project.refresh_from_db()
    return project
