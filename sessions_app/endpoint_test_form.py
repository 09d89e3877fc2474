"""The form of an endpoint test: which endpoints are asked, and what.

The first endpoint is the project's own, if it has one; others are typed. The engine reads each block and says what it
refuses beside the field. Somebody who may not change the project's settings can't name a variable here either: its key
goes where the address says, and that is the owner's to decide. A stored key is bound to its place, so anybody who may
write may name it.
"""

from __future__ import annotations

from typing import Any, Final

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from compaction.endpoints.endpoint import PROVIDERS, endpoint_of
from compaction.errors import InvalidPolicy
from compaction.policy import CompactionPolicy
from sessions_app.models import Project, Session
from sessions_app.pages.endpoint_tests import block_name
from sessions_app.session_policy import blocks_of
from sessions_app.summarizers import EXTRACTIVE
from sessions_app.translated import translated

OTHERS: Final = 3
MADE_UP: Final = ""
MOST_SESSIONS: Final = 30
# Keys of the block, and which of them people type here.
KEYS: Final = ("provider", "model", "base_url", "key_env", "api_key_secret", "timeout", "context_length")
OFFLINE_BLOCK: Final = {"provider": EXTRACTIVE}


class EndpointFields(forms.Form):
    """One endpoint. All fields left empty mean none."""

    provider = forms.ChoiceField(
        label=gettext_lazy("Provider"),
        required=False,
        choices=[("", gettext_lazy("by address"))] + [(known.name, known.name) for known in PROVIDERS],
    )
    model = forms.CharField(label=gettext_lazy("Model"), required=False, max_length=200)
    base_url = forms.CharField(label=gettext_lazy("Address"), required=False, max_length=500)
    key_env = forms.CharField(label=gettext_lazy("Variable with the key"), required=False, max_length=100)
    api_key_secret = forms.CharField(label=gettext_lazy("Stored key"), required=False, max_length=100)
    timeout = forms.IntegerField(
        label=gettext_lazy("Time limit, seconds"), required=False, min_value=1, max_value=3_600
    )

    def __init__(self, *arguments: Any, may_name_keys: bool, **more: Any) -> None:
        super().__init__(*arguments, **more)
        self._may_name_keys = may_name_keys

    def clean(self) -> dict[str, Any]:
        """Let the engine read the block, and say beside the field what it refuses."""
        given = super().clean() or {}
        block = {key: given[key] for key in KEYS if given.get(key)}
        if not block or self.errors:
            return given
        if "key_env" in block and not self._may_name_keys:
            self.add_error("key_env", _("Only an owner of the project can name a variable here."))
        reading = CompactionPolicy.from_mapping({"auxiliary": {"compression": block}})
        refusals = [(problem.key, translated(problem.cause or problem.message)) for problem in reading.errors]
        try:
            endpoint_of(reading.policy.auxiliary)
        except InvalidPolicy as error:
            refusals = refusals or [(error.where, translated(error.message))]
        for where, message in refusals:
            key = where.rpartition(".")[2]
            self.add_error(key if key in self.fields else None, message)
        return given

    def block(self) -> dict[str, Any] | None:
        """The `auxiliary.compression` block; None when nothing was typed."""
        return {key: self.cleaned_data[key] for key in KEYS if self.cleaned_data.get(key)} or None


class EndpointTestForm(forms.Form):
    """What is tested. own: the project's endpoint; offline: the summarizer that asks nobody; session: empty for the
    made-up exchange."""

    own = forms.BooleanField(required=False)
    offline = forms.BooleanField(required=False)
    session = forms.ChoiceField(label=gettext_lazy("Question"), required=False)

    def __init__(self, data: Any, *, project: Project, may_name_keys: bool) -> None:
        super().__init__(data)
        self.own_block = own_block(project)
        self.sessions = {one.public_id: one for one in sessions_to_ask(project)}
        self.own_name = block_name(self.own_block) if self.own_block else ""
        choices = [(MADE_UP, _("a made-up exchange with four exact facts"))]
        choices += [(one.public_id, one.title or one.public_id) for one in self.sessions.values()]
        self.fields["session"].choices = choices  # type: ignore[attr-defined]
        self.others = [
            EndpointFields(data, prefix=f"other{number}", may_name_keys=may_name_keys)
            for number in range(1, OTHERS + 1)
        ]

    def is_valid(self) -> bool:
        """Whether all parts are."""
        parts = [super().is_valid(), *(other.is_valid() for other in self.others)]
        if all(parts) and not self.blocks():
            self.add_error(None, _("Choose or describe at least one endpoint."))
        return not self.has_errors

    @property
    def has_errors(self) -> bool:
        """Whether any part was refused."""
        return self.is_bound and (bool(self.errors) or any(other.errors for other in self.others))

    def blocks(self) -> list[dict[str, Any]]:
        """The endpoints to ask, in order."""
        own = [self.own_block] if self.cleaned_data.get("own") and self.own_block else []
        typed = [block for other in self.others if (block := other.block())]
        return [*own, *typed, *([dict(OFFLINE_BLOCK)] if self.cleaned_data.get("offline") else [])]

    def chosen_session(self) -> Session | None:
        """The session whose exchange is the question; None for the made-up one."""
        return self.sessions.get(self.cleaned_data.get("session") or "")


def own_block(project: Project) -> dict[str, Any] | None:
    """The `auxiliary.compression` block in force in the project; None when it names no endpoint."""
    auxiliary = blocks_of(project).get("auxiliary")
    block = auxiliary.get("compression") if isinstance(auxiliary, dict) else None
    if not isinstance(block, dict):
        return None
    kept = {key: block[key] for key in KEYS if block.get(key) not in (None, "")}
    provider = str(kept.get("provider", "")).strip().lower()
    is_named = bool(kept.get("base_url") or kept.get("model")) or provider not in ("", "auto", EXTRACTIVE)
    return kept if is_named and provider != EXTRACTIVE else None


def sessions_to_ask(project: Project) -> list[Session]:
    """The newest sessions that may have a complete exchange."""
    found = Session.objects.filter(project_id=project.pk, turns_total__gte=2).order_by("-listed_at", "-id")
    return list(found.only("id", "public_id", "title")[:MOST_SESSIONS])
