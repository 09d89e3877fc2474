"""Occupancy: the window of a session as it filled and emptied."""

from __future__ import annotations

from typing import Any

from ninja import Router, Schema
from pydantic import Field

from sessions_app.api.answers import reads
from sessions_app.api.authentication import ApiRequest
from sessions_app.api.parameters import PublicId
from sessions_app.api.reach import get_session
from sessions_app.pages.occupancy import read_series

router = Router(tags=["occupancy"])


class OccupancyPoint(Schema):
    """The context after one event. tokens: with the fixed overhead; null share while the threshold is unknown."""

    seq: int
    tokens: int
    occupancy_pct: float | None


class OccupancySeries(Schema):
    """Points in order, thinned out evenly in long sessions; the events of passes are always among them."""

    points: list[OccupancyPoint]
    threshold_tokens: int | None = Field(description="In force now.")


@router.get("/sessions/{public_id}/occupancy", response=reads(OccupancySeries), operation_id="get_occupancy")
def read_occupancy(request: ApiRequest, public_id: PublicId) -> OccupancySeries:
    """The series that the chart of the session's page draws."""
    series: dict[str, Any] = read_series(get_session(request.auth, public_id))
    columns = zip(series["seqs"], series["tokens"], series["shares"], strict=True)
    points = [OccupancyPoint(seq=seq, tokens=tokens, occupancy_pct=share) for seq, tokens, share in columns]
    return OccupancySeries(points=points, threshold_tokens=series["threshold"])
