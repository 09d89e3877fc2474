"""Edits in the sample sessions: a patch as the story words it, and a mended slip in real code.

The checkout already holds the right line, so a `mend` shows the way back: the line with a small mistake goes, the line
that is really there comes. A session full of mends ends at the code of today.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from sessions_app.samples.drafts import DraftCall, as_json, fixed
from sessions_app.samples.placeholders import find_slip
from sessions_app.samples.scene import Scene
from sessions_app.samples.story import Call

CONTEXT_LINES: Final = 3


def patch_call(scene: Scene, call: Call) -> DraftCall:
    """`patch PATH [SYMBOL]`: replaces the story's `-` lines by its `+` lines, shown where the symbol begins."""
    path, _, name = call.words.partition(" ")
    lines = scene.checkout.file(path).lines if path in scene.checkout.files else ()
    line = scene.checkout.symbol(path, name).line if name else len(lines)
    return replace_call(scene, path, lines, line, call.before, call.after)


def mend_call(scene: Scene, call: Call) -> DraftCall:
    """`mend PATH SYMBOL`: takes a slip out of the symbol's code."""
    path, _, name = call.words.partition(" ")
    file = scene.checkout.file(path)
    slip = find_slip(scene.checkout, path, name)
    # Two lines of context on either side make the text to replace unique.
    above, below = file.lines[max(0, slip.line - 3) : slip.line - 1], file.lines[slip.line : slip.line + 1]
    before, after = (*above, slip.wrong, *below), (*above, slip.right, *below)
    return replace_call(scene, file.path, file.lines, slip.line - len(above), before, after)


def replace_call(
    scene: Scene, path: str, lines: Sequence[str], line: int, before: Sequence[str], after: Sequence[str]
) -> DraftCall:
    """A `patch` call in replace mode, answered by the diff. `line` is where `before` begins, 1-based."""
    arguments = {"path": path, "mode": "replace", "old_string": "\n".join(before), "new_string": "\n".join(after)}
    diff = unified_diff(path, lines, line, before, after)
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
