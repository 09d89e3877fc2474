"""Messages as text for a summarizer.

One labelled record per message, long contents cut in the middle, the whole kept under a cap by leaving out records
between the oldest and the newest (spec 6.3). What goes in must be redacted already: cutting a secret in two would
hide it from the redaction.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Any, Final

from compaction.messages import ImagePart, Message, OtherPart, Part, Role, TextPart, ToolCall

CONTENT_LIMIT_CHARS: Final = 6_000
CONTENT_HEAD_CHARS: Final = 4_000
CONTENT_TAIL_CHARS: Final = 1_500
ARGUMENTS_LIMIT_CHARS: Final = 1_500
ARGUMENTS_HEAD_CHARS: Final = 1_200
TOTAL_LIMIT_CHARS: Final = 160_000
# The oldest records set the scene, the newest say where things stand: the cap is shared out in their favour.
TOTAL_HEAD_SHARE: Final = 0.45

_THINKING: Final = re.compile(r"<(think|thinking|reasoning)>.*?</\1>\s*", re.DOTALL | re.IGNORECASE)
_MEDIA: Final = re.compile(r"MEDIA:\S+")


def serialise(messages: Sequence[Message], limit_chars: int = TOTAL_LIMIT_CHARS) -> str:
    """All of `messages` as one text of at most about `limit_chars` characters."""
    return bound("\n\n".join(serialise_message(message) for message in messages), limit_chars)


def serialise_message(message: Message) -> str:
    """One record: a label, the content, and the calls the message makes."""
    label = (
        message.role.upper() if message.role is not Role.TOOL else f"TOOL RESULT {message.tool_call_id or ''}".strip()
    )
    text = _content_text(message)
    if message.role is Role.ASSISTANT and _THINKING.search(text):
        text = _THINKING.sub("", text).strip()
    record = f"[{label}]: {cut_middle(_MEDIA.sub('[media attachment]', text))}"
    if message.tool_calls:
        calls = "\n".join(f"  {_call_text(call)}" for call in message.tool_calls)
        record += f"\n[Tool calls:\n{calls}\n]"
    return record


def cut_middle(text: str) -> str:
    """`text` itself, or its beginning and end around a mark that says how much is missing."""
    if len(text) <= CONTENT_LIMIT_CHARS:
        return text
    omitted = len(text) - CONTENT_HEAD_CHARS - CONTENT_TAIL_CHARS
    mark = f"\n[... {omitted:,} of {len(text):,} characters left out ...]\n"
    return text[:CONTENT_HEAD_CHARS] + mark + text[-CONTENT_TAIL_CHARS:]


def bound(text: str, limit_chars: int) -> str:
    """`text` itself, or its beginning and end with a mark between them, within `limit_chars` together."""
    if len(text) <= limit_chars:
        return text
    kept_chars = limit_chars - len(_omission(len(text)))
    head_chars = max(0, int(kept_chars * TOTAL_HEAD_SHARE))
    tail_start = len(text) - max(0, kept_chars - head_chars)
    return text[:head_chars] + _omission(tail_start - head_chars) + text[tail_start:]


def _omission(chars: int) -> str:
    return f"\n[... {chars:,} characters of older records left out ...]\n"


def _call_text(call: ToolCall) -> str:
    arguments = call.arguments
    if len(arguments) > ARGUMENTS_LIMIT_CHARS:
        arguments = arguments[:ARGUMENTS_HEAD_CHARS] + "..."
    return f"{call.name}({arguments})"


def _content_text(message: Message) -> str:
    if message.content is None or isinstance(message.content, str):
        return message.content or ""
    return "\n".join(_part_text(part) for part in message.content)


def _part_text(part: Part) -> str:
    match part:
        case TextPart(text):
            return text
        case ImagePart(raw):
            return _image_text(raw)
        case OtherPart(type=kind):
            return f"[{kind or 'attachment'}]"


def _image_text(raw: str) -> str:
    try:
        url = _find_url(json.loads(raw))
    except ValueError:
        url = None
    return f"[image: {url}]" if url and url.startswith(("http://", "https://")) else "[image]"


def _find_url(part: Any) -> str | None:
    if not isinstance(part, dict):
        return None
    image = part.get("image_url")
    found = image.get("url") if isinstance(image, dict) else image or part.get("url")
    return found if isinstance(found, str) else None
