"""Edits in the sample sessions: a patch as the story words it, and a mended slip in real code.

The checkout already holds the right line, so a `mend` shows the way back: the line with a small mistake goes, the line
that is really there comes. A session full of mends ends at the code of today. Edits happen in the session's working
copy, never on disk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sessions_app.samples.checkout import Checkout
from sessions_app.samples.drafts import DraftCall, as_json, fixed
from sessions_app.samples.placeholders import find_slip
from sessions_app.samples.scene import Scene
from sessions_app.samples.story import Call, Story

CONTEXT_LINES: Final = 3


def patch_call(scene: Scene, call: Call) -> DraftCall:
    """`patch PATH [SYMBOL]`: replaces the story's `-` lines by its `+` lines where they stand, else at the symbol."""
    path, _, name = call.words.partition(" ")
    lines = scene.checkout.files[path].lines if path in scene.checkout.files else ()
    line = scene.checkout.symbol(path, name).line if name else len(lines) + 1
    is_appended = bool(lines) and not name and not call.before and call.after[0].startswith(("def ", "@"))
    after = ("", "", *call.after) if is_appended else call.after
    return replace_call(scene, path, find_block(lines, call.before, line), call.before, after)


def mend_call(scene: Scene, call: Call) -> DraftCall:
    """`mend PATH SYMBOL`: takes a slip out of the symbol's code. `plant_slips` has put it there."""
    path, _, name = call.words.partition(" ")
    slip = find_slip(scene.checkout, path, name)
    lines = scene.checkout.file(slip.path).lines
    line = find_block(lines, (slip.wrong,), slip.line)
    # Two lines of context on either side make the text to replace unique.
    above, below = lines[max(0, line - 3) : line - 1], lines[line : line + 1]
    before, after = (*above, slip.wrong, *below), (*above, slip.right, *below)
    return replace_call(scene, slip.path, line - len(above), before, after)


def plant_slips(story: Story, checkout: Checkout) -> None:
    """Take back what the story is going to change, so that what is read before shows how it was.

    A line that will be mended gets its slip. A patch whose new lines stand in the checkout today gets its old ones.
    """
    for call in (call for turn in story.turns for step in turn.steps for call in step.calls):
        path, _, name = call.words.partition(" ")
        if call.verb == "mend":
            slip = find_slip(checkout, path, name)
            lines = checkout.file(slip.path).lines
            checkout.write(slip.path, (*lines[: slip.line - 1], slip.wrong, *lines[slip.line :]))
        elif call.verb == "patch" and call.before and path in checkout.files:
            lines = checkout.files[path].lines
            if starts := block_starts(lines, call.after):
                start = starts[0] - 1
                checkout.write(path, (*lines[:start], *call.before, *lines[start + len(call.after) :]))


def block_starts(lines: Sequence[str], block: Sequence[str]) -> list[int]:
    """Where `block` stands in `lines`, 1-based."""
    size = len(block)
    places = range(len(lines) - size + 1) if size else ()
    return [start + 1 for start in places if tuple(lines[start : start + size]) == tuple(block)]


def find_block(lines: Sequence[str], block: Sequence[str], near_line: int) -> int:
    """Where `block` stands in `lines` (1-based), as near to `near_line` as can be; `near_line` if it is nowhere."""
    return min(block_starts(lines, block), key=lambda start: abs(start - near_line), default=near_line)


def replace_call(scene: Scene, path: str, line: int, before: Sequence[str], after: Sequence[str]) -> DraftCall:
    """A `patch` call in replace mode, answered by the diff; the working copy changes. `before` begins at `line`."""
    lines = scene.checkout.files[path].lines if path in scene.checkout.files else ()
    arguments = {"path": path, "mode": "replace", "old_string": "\n".join(before), "new_string": "\n".join(after)}
    diff = unified_diff(path, lines, line, before, after)
    if tuple(lines[line - 1 : line - 1 + len(before)]) == tuple(before):
        changed = [text for text in diff if text[:1] in "+-"][2:]
        added = sum(text.startswith("+") for text in changed)
        edited = (*lines[: line - 1], *after, *lines[line - 1 + len(before) :])
        scene.checkout.edit(path, edited, added, len(changed) - added)
    return DraftCall(
        "patch",
        lambda _: as_json(arguments),
        (fixed("\n".join(diff)),),
        lambda _: as_json({"success": True, "files_modified": [path]}),
        scene.random.uniform(0.1, 0.4),
    )


def unified_diff(
    path: str, lines: Sequence[str], line: int, before: Sequence[str], after: Sequence[str]
) -> tuple[str, ...]:
    """One hunk: lines that both sides share stay as context, real lines around it are added."""
    shared_head = next((i for i, (a, b) in enumerate(zip(before, after, strict=False)) if a != b), len(before))
    rest_before, rest_after = before[shared_head:], after[shared_head:]
    shared_tail = next(
        (i for i, (a, b) in enumerate(zip(reversed(rest_before), reversed(rest_after), strict=False)) if a != b),
        min(len(rest_before), len(rest_after)),
    )
    kept_before, kept_after = (side[: len(side) - shared_tail] for side in (rest_before, rest_after))
    above = (*lines[max(0, line - 1 - CONTEXT_LINES) : max(0, line - 1)], *before[:shared_head])[-CONTEXT_LINES:]
    end = line - 1 + len(before)
    below = (*before[len(before) - shared_tail :], *lines[end : end + CONTEXT_LINES])[:CONTEXT_LINES]
    start = max(1, line + shared_head - len(above))
    sizes = [len(above) + len(below) + len(side) for side in (kept_before, kept_after)]
    return (
        f"--- a/{path}",
        f"+++ b/{path}",
        f"@@ -{start},{sizes[0]} +{start},{sizes[1]} @@",
        *(f" {text}" for text in above),
        *(f"-{text}" for text in kept_before),
        *(f"+{text}" for text in kept_after),
        *(f" {text}" for text in below),
    )
