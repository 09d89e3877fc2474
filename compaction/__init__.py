"""The compaction engine: what may be folded away from a long conversation, how, and what is left.

Pure: values in, values out, no clock, no randomness, no database. A pass is planned, a summarizer is asked, and the
plan is settled with the reply; whoever calls stores the edit. docs/engine.md states the rules and has an example that
is run as a test. Everything a caller needs is named here; modules below are for those who want to read on.
"""

from compaction.batch import BatchPlan, plan_batch, settle_batch
from compaction.edits import Edit, NewRow, apply_edit
from compaction.errors import InvalidInput, InvalidMessage, InvalidPolicy, InvalidSource, SummarizerError
from compaction.extractive import ExtractiveSummarizer
from compaction.live_rows import LiveRows
from compaction.messages import ImagePart, Message, OtherPart, Role, Row, RowKey, RowKind, TextPart, ToolCall
from compaction.micro import MicroPlan, plan_micro, settle_micro
from compaction.model_view import ModelView, Profile, model_view
from compaction.pass_context import make_context
from compaction.passes import Nothing, PassContext, Settlement
from compaction.policy import CompactionPolicy
from compaction.provider_rules import Violation, violations
from compaction.prune import plan_prune
from compaction.prune_lines import prune_line
from compaction.records import Outcome, PassKind, PassRecord
from compaction.redaction import redact, redact_message
from compaction.replay import Replay, ReplayPolicy, ReplayResult, Step
from compaction.scripted import ScriptedSummarizer
from compaction.state import CompactionState
from compaction.summarizer import Reply, Summarizer, SummaryRequest, Usage
from compaction.threshold import Threshold, Window, effective_threshold
from compaction.tokens import RoughCounter, TiktokenCounter, TokenCounter, row_tokens
from compaction.transcript import ListTranscript, RowOutline, Transcript
from compaction.wire import message_from_openai, message_to_openai

__all__ = [
    "BatchPlan",
    "CompactionPolicy",
    "CompactionState",
    "Edit",
    "ExtractiveSummarizer",
    "ImagePart",
    "InvalidInput",
    "InvalidMessage",
    "InvalidPolicy",
    "InvalidSource",
    "ListTranscript",
    "LiveRows",
    "Message",
    "MicroPlan",
    "ModelView",
    "NewRow",
    "Nothing",
    "OtherPart",
    "Outcome",
    "PassContext",
    "PassKind",
    "PassRecord",
    "Profile",
    "Replay",
    "ReplayPolicy",
    "ReplayResult",
    "Reply",
    "Role",
    "RoughCounter",
    "Row",
    "RowKey",
    "RowKind",
    "RowOutline",
    "ScriptedSummarizer",
    "Settlement",
    "Step",
    "Summarizer",
    "SummarizerError",
    "SummaryRequest",
    "TextPart",
    "Threshold",
    "TiktokenCounter",
    "TokenCounter",
    "ToolCall",
    "Transcript",
    "Usage",
    "Violation",
    "Window",
    "apply_edit",
    "effective_threshold",
    "make_context",
    "message_from_openai",
    "message_to_openai",
    "model_view",
    "plan_batch",
    "plan_micro",
    "plan_prune",
    "prune_line",
    "redact",
    "redact_message",
    "row_tokens",
    "settle_batch",
    "settle_micro",
    "violations",
]
