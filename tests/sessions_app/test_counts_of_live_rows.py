"""Live rows are counted with summaries or without; wherever a figure stands, its label says which."""

import re
from html import unescape

import pytest
from page_reading import client_of, page

pytestmark = pytest.mark.django_db


def test_figures_of_live_rows_add_up_from_page_to_page_and_name_what_they_count(owner, session, rows):
    rows.turns(6)
    live = [row for row in rows.live() if row.kind == "message"]
    rows.absorb([row.pk for row in live[4:8]], text="## Key Decisions\n- none")
    session.refresh_from_db()
    client, of_session = client_of(owner), f"/s/{session.public_id}/"
    html = unescape(re.sub(r"<[^>]+>", "", page(client, of_session)))
    plain = session.live_rows - 1
    assert f"Live {plain} + 1 summary" in html and f"{session.live_rows} live (1 summary)" in html
    for path in ("/", f"/p/{session.project.slug}/"):
        assert '<th scope="col" class="num" title="with live summaries">Live rows</th>' in page(client, path)
    assert "Live rows, with summaries" in page(client, f"{of_session}occupancy/")
    assert f"{session.live_rows} live rows with summaries" in page(client, f"{of_session}?show=model")
