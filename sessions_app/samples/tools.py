"""The tools of the sample sessions: how a call in a story becomes a draft of a real one.

One function per verb; `VERBS` names them. Arguments and answers have the shapes an agent's tools use, so that every
later stage (one-line stubs, exit codes, search) meets in the samples what it meets in the field.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import islice
from typing import Final

from sessions_app.samples.checkout import LONGEST_LINE
from sessions_app.samples.drafts import DraftCall, Piece, as_json, fixed
from sessions_app.samples.patches import mend_call, patch_call
from sessions_app.samples.placeholders import resolve
from sessions_app.samples.scene import Scene
from sessions_app.samples.story import Call, Segment
from sessions_app.samples.tool_output import FILLERS

# Enough for the longest answer of any session, few enough to be made in no time.
MOST_LINES: Final = 170
TODO_MARKS: Final = {"x": "completed", ">": "in_progress", "-": "pending"}


class UnknownVerb(ValueError):
    """A story calls a tool or a filler that does not exist."""


def draft_call(scene: Scene, call: Call) -> DraftCall:
    """The draft of `call`, with the facts of the checkout filled in. Raises UnknownVerb."""
    if call.verb not in VERBS:
        raise UnknownVerb(f"! {call.verb}: known are {', '.join(sorted(VERBS))}")
    known = resolve(scene.checkout, call.words)
    before, after = (tuple(resolve(scene.checkout, line) for line in side) for side in (call.before, call.after))
    return VERBS[call.verb](scene, replace(call, words=known, before=before, after=after))


def pieces_of(scene: Scene, segments: tuple[Segment, ...]) -> tuple[Piece, ...]:
    return tuple(piece_of(scene, segment) for segment in segments)


def piece_of(scene: Scene, segment: Segment) -> Piece:
    words = resolve(scene.checkout, segment.text)
    if not segment.filler:
        return fixed(words)
    if segment.filler not in FILLERS:
        raise UnknownVerb(f"~ {segment.filler}: known are {', '.join(sorted(FILLERS))}")
    lines = tuple(islice(FILLERS[segment.filler](scene, words), MOST_LINES))
    # The closing line of a diff is only right below all of its lines.
    return Piece(lines, is_elastic=True, least=len(lines) if segment.filler == "changes" else 2)


def read_call(scene: Scene, call: Call) -> DraftCall:
    """`read PATH [SYMBOL] [lines=N]`: numbered lines from just above the symbol, or from the top. Without a number of
    lines as many as there is room for, in the end upwards too."""
    words, _, limit = call.words.partition(" lines=")
    path, _, name = words.partition(" ")
    file = scene.checkout.file(path)
    wanted = scene.checkout.symbol(path, name).line - 1 if name else 1
    first = max(1, wanted if limit else min(wanted, len(file.lines) - 30))
    lines = tuple(f"{number:5}|{line}" for number, line in enumerate(file.lines, 1))
    below = lines[first - 1 :][: int(limit or MOST_LINES)]
    lead = () if limit else lines[: first - 1][len(below) - MOST_LINES :]
    piece = Piece(below, is_elastic=True, least=int(limit or 10), lead=lead)

    def offset(count: int) -> int:
        return first - max(0, count - len(below))

    return DraftCall(
        "read_file",
        lambda count: as_json({"path": file.path, "offset": offset(count), "limit": count}),
        (piece,),
        lambda count: f"[lines {offset(count)}-{offset(count) + count - 1} of {len(file.lines)}]",
        scene.random.uniform(0.1, 0.4),
    )


def search_call(scene: Scene, call: Call) -> DraftCall:
    """`grep [in=FOLDER] REGEX`: real hits."""
    folder, pattern = ".", call.words
    if pattern.startswith("in="):
        folder, _, pattern = pattern[3:].partition(" ")
    hits = scene.checkout.search(pattern, folder)
    lines = tuple(f"{hit.path}:{hit.line}:{hit.text.strip()[:LONGEST_LINE]}" for hit in hits[:MOST_LINES])
    return DraftCall(
        "search_files",
        lambda _: as_json({"pattern": pattern, "path": folder, "target": "content"}),
        (Piece(lines, is_elastic=True, least=4),),
        lambda count: as_json({"total_count": len(hits), "truncated": count < len(hits)}),
        scene.random.uniform(0.2, 0.7),
    )


def shell_call(scene: Scene, call: Call) -> DraftCall:
    """`sh [exit=N] COMMAND`: what the story says it printed."""
    usual = round(scene.random.uniform(0.2, 2.4), 1)
    seconds = usual if call.took_seconds is None else call.took_seconds
    return DraftCall(
        "terminal",
        lambda _: as_json({"command": call.words}),
        pieces_of(scene, call.segments),
        lambda _: as_json({"exit_code": call.exit_code, "seconds": seconds}),
        seconds,
    )


def tests_call(scene: Scene, call: Call) -> DraftCall:
    """`test [exit=1] PATH...`: a run of the real test files; fixed lines are the failures it ends with."""
    pieces = pieces_of(scene, (Segment(call.words, "pytest"), *call.segments))
    failed = sum(line.startswith("FAILED ") for piece in pieces if not piece.is_elastic for line in piece.lines)
    seconds = round(scene.random.uniform(1.2, 9.0), 2)
    return DraftCall(
        "run_tests",
        lambda _: as_json({"targets": call.words.split(), "verbose": True}),
        (fixed("platform linux -- Python 3.11.7, pytest-9.2.0, pluggy-1.6.0"), *pieces),
        lambda count: f"{test_totals(count, failed, seconds)}\n{as_json({'exit_code': call.exit_code})}",
        seconds,
    )


def test_totals(passed: int, failed: int, seconds: float) -> str:
    counts = f"{failed} failed, {passed} passed" if failed else f"{passed} passed"
    return f"==== {counts} in {seconds:.2f}s ===="


def write_call(scene: Scene, call: Call) -> DraftCall:
    """`write PATH`: a new file with the story's fixed lines."""
    lines = [line for segment in call.segments for line in resolve(scene.checkout, segment.text).split("\n")]
    scene.checkout.edit(call.words, lines, len(lines), 0)
    content = "\n".join(lines) + "\n"
    answer = as_json({"success": True, "bytes_written": len(content.encode())})
    return DraftCall(
        "write_file",
        lambda _: as_json({"path": call.words, "content": content}),
        (),
        lambda _: answer,
        scene.random.uniform(0.1, 0.3),
    )


def todo_call(scene: Scene, call: Call) -> DraftCall:
    """`todo`: the fixed lines are items, each marked x (done), > (under way) or - (open)."""
    lines = [line for segment in call.segments for line in resolve(scene.checkout, segment.text).split("\n")]
    items = [
        {"id": str(number), "content": line[2:], "status": TODO_MARKS[line[0]]} for number, line in enumerate(lines, 1)
    ]
    answer = as_json({"total": len(items), "open": sum(item["status"] != "completed" for item in items)})
    return DraftCall("todo_list", lambda _: as_json({"todos": items}), (), lambda _: answer, 0.1)


VERBS: Final[dict[str, Callable[[Scene, Call], DraftCall]]] = {
    "grep": search_call,
    "mend": mend_call,
    "patch": patch_call,
    "read": read_call,
    "sh": shell_call,
    "test": tests_call,
    "todo": todo_call,
    "write": write_call,
}
