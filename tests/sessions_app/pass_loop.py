"""Run as a process of its own: talks in one session for ever, with a pass after each turn, until somebody kills it.

Prints one line after each committed step: the number of rows that were acknowledged so far.
"""

import itertools
import os
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).resolve().parents[2]), str(Path(__file__).resolve().parent)]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hermes_site.settings")

import django  # noqa: E402 (the path comes first)

django.setup()

from row_builder import COUNTER, RowBuilder, assistant, call, result, user  # noqa: E402 (the apps come first)

from compaction.scripted import ScriptedSummarizer  # noqa: E402
from compaction.summarizer import Reply  # noqa: E402
from sessions_app import services  # noqa: E402
from sessions_app.finalizing import finalize_turns  # noqa: E402

SUMMARIZER = ScriptedSummarizer([Reply(text="## Key Decisions\n- go on", finish_reason="stop")], model="small")


def say(rows):
    print(rows.session.next_position, flush=True)


def main(session_id):
    rows = RowBuilder(session_id)
    # What a process before us left open is ended first, as a worker does with a job that was left.
    finalize_turns(session_id, SUMMARIZER, COUNTER)
    for number in itertools.count(rows.session.turns_total):
        name = f"c{number}"
        rows.append(user(f"question {number}"), call(name), result(name, f"line of {name} " * 60))
        say(rows)
        rows.append(assistant(f"answer {number}"))
        services.finish_turn(session_id)
        say(rows)
        finalize_turns(session_id, SUMMARIZER, COUNTER)
        say(rows)


if __name__ == "__main__":
    main(int(sys.argv[1]))
