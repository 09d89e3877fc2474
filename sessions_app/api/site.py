"""The API as one thing: its routers, its errors, its description.

Addresses are made in `addresses`. A module that holds operations is listed here and nowhere else.
"""

from __future__ import annotations

from ninja import NinjaAPI

from sessions_app.api import (
    acting,
    calls,
    context,
    events,
    exports,
    occupancy,
    passes,
    projects,
    prompts,
    rows,
    runs,
    session_settings,
    sessions,
    settings,
    summaries,
    turns,
)
from sessions_app.api.authentication import READ
from sessions_app.api.bodies import AnswerRenderer, BodyParser
from sessions_app.api.errors import install
from sessions_app.api.parameters import refusing_unknown

DESCRIPTION = (
    "Sessions of agents: append rows, read what the model sees now or saw at any event, and everything compaction did."
    " Send `Authorization: Bearer TOKEN` with every request; a token belongs to one project."
)

api = NinjaAPI(
    title="Hermes Sessions",
    version="1",
    description=DESCRIPTION,
    auth=READ,
    parser=BodyParser(),
    renderer=AnswerRenderer(),
    urls_namespace="api",
)
install(api)
api.add_decorator(refusing_unknown, mode="view")

for module in (
    projects,
    settings,
    sessions,
    session_settings,
    rows,
    turns,
    context,
    passes,
    summaries,
    prompts,
    calls,
    events,
    occupancy,
    runs,
    acting,
    exports,
):
    for address in module.router.path_operations.values():
        for operation in address.operations:
            # Named once, for programs; people read the same name as words.
            operation.summary = str(operation.operation_id).replace("_", " ").capitalize()
    api.add_router("", module.router)
