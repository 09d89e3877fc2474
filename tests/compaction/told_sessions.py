"""Random sessions as the lives of their rows, and beside them the requests that were really sent."""

import random

from compaction.prompt_cache import SentMessage, SentRequest
from compaction.request_history import RowLife
from compaction.session_bills import HeldPass

OVERHEAD = 70


class Teller:
    """Tells a random session: rows are appended, passes replace some in the middle, undo revives, rewinds take back."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.seq = 0
        self.at = 0.0
        self.rows = {}
        self.lives = []
        self.pass_rows = []
        self.requests = []
        self.position = 0.0
        self.is_answering = False
        self.passes = []
        self.resets = []

    def live(self):
        return sorted((life for life in self.rows.values() if life["died"] is None), key=lambda life: life["position"])

    def append(self, is_reply):
        if is_reply and not self.is_answering:
            self.requests.append(sent_now(self.live(), self.at))
        self.is_answering = is_reply
        self.seq += 1
        self.position += 1
        self.born(self.position, is_made=False, is_reply=is_reply)

    def born(self, position, *, is_made, is_reply=False):
        row_id = len(self.rows) + 1
        self.rows[row_id] = {
            "id": row_id,
            "position": position,
            "born": self.seq,
            "died": None,
            "by_pass": False,
            "made": is_made,
            "reply": is_reply,
            "at": self.at,
            "tokens": self.random.randint(1, 60),
        }
        return self.rows[row_id]

    def make_pass(self):
        live = self.live()
        if len(live) < 3:
            return
        self.is_answering = False
        self.seq += 1
        first = self.random.randrange(1, len(live) - 1)
        taken = live[first : first + self.random.randint(1, 4)]
        for row in taken:
            row["died"], row["by_pass"] = self.seq, True
        made = self.born(taken[0]["position"] + 0.0001 * self.seq, is_made=True)
        self.pass_rows.append((taken, made))
        self.note_pass(is_committed=True)

    def note_pass(self, is_committed):
        cost = self.random.choice((0.0, 12.5, 40.25, 40.25, None if self.random.random() < 0.1 else 3.0))
        self.passes.append(HeldPass(len(self.passes) + 1, self.seq, self.at, is_committed, cost))

    def fail_pass(self):
        self.is_answering = False
        self.seq += 1
        self.note_pass(is_committed=False)

    def reset(self):
        self.is_answering = False
        self.seq += 1
        self.resets.append(self.seq)
        for row in self.live()[1:]:
            row["died"] = self.seq
        self.pass_rows.clear()

    def undo(self):
        if not self.pass_rows:
            return
        taken, made = self.pass_rows.pop()
        if made["died"] is not None:
            return
        self.is_answering = False
        self.seq += 1
        made["died"] = self.seq
        for row in taken:
            self.lives.append(dict(row))
            row["born"], row["died"], row["by_pass"] = self.seq, None, False

    def rewind(self):
        live = self.live()
        if len(live) < 4:
            return
        self.is_answering = False
        self.seq += 1
        for row in live[-2:]:
            row["died"] = self.seq
        self.pass_rows.clear()

    def tell(self, steps, *, is_rough=False):
        """is_rough: with resets and passes that failed, and rows whose time nobody knows."""
        for _ in range(steps):
            self.at += self.random.choice((1, 5, 40, 150, 400))
            actions = (lambda: self.append(False), lambda: self.append(True), self.make_pass, self.undo, self.rewind)
            weights = (5, 6, 2, 1, 0.5)
            if is_rough:
                actions, weights = (*actions, self.fail_pass, self.reset), (*weights, 0.5, 0.3)
            self.random.choices(actions, weights)[0]()
        return self

    def row_lives(self):
        every = [*self.lives, *self.rows.values()]
        places = {
            row["id"]: place
            for place, row in enumerate(sorted(self.rows.values(), key=lambda r: (r["position"], r["id"])))
        }
        return [
            RowLife(
                row["id"],
                places[row["id"]],
                row["born"],
                row["died"],
                row["tokens"],
                row["made"],
                row["by_pass"],
                row["reply"],
                row["at"],
            )
            for row in every
        ]


def sent_now(live, at):
    return sent_rows([(row["id"], row["tokens"]) for row in live], at)


def sent_rows(rows, at):
    return SentRequest((SentMessage("overhead", OVERHEAD), *(SentMessage(*row) for row in rows)), at)
