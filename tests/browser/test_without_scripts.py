"""What only scripts can do is shown only where scripts run."""

import pytest
from playwright.sync_api import expect
from story import tell_story

pytestmark = pytest.mark.django_db(transaction=True)
# Keys, zoom, copying, folding, playing and speed of a replay.
OF_SCRIPTS = "kbd, [data-zoom], [data-png], [data-copied], [data-fold], [data-density-switch], #play, #speed-field"
TABS = ("", "summary/", "passes/", "occupancy/", "cache/", "chat/", "act/", "runs/", "export/", "replay/1/1/", "next/")


def shown(page):
    found = page.locator(OF_SCRIPTS)
    return [one.evaluate("(part) => part.outerHTML") for one in found.all() if one.is_visible()]


def test_without_scripts_no_page_shows_a_control_that_needs_them(open_reader, project):
    story = tell_story(project)
    reader = open_reader(java_script_enabled=False)
    pages = ["/", "/import/", "/play/", "/s/new/", "/p/", "/account/", *(story.path + tab for tab in TABS)]
    offered = {}
    for path in pages:
        assert reader.visit(path).ok
        offered[path] = shown(reader.page)
    assert {path: controls for path, controls in offered.items() if controls} == {}


def test_with_scripts_they_are_there(reader, project):
    story = tell_story(project)
    reader.visit(story.path + "occupancy/")
    expect(reader.page.get_by_role("button", name="zoom in")).to_be_visible()
    reader.visit("/")
    expect(reader.page.locator(".search kbd")).to_be_visible()
    expect(reader.page.locator(".foot kbd").first).to_be_visible()
