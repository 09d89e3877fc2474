"""What people start from pages: simulations and imports."""

import pytest
from playwright.sync_api import expect
from story import tell_story

from sessions_app.models import ImportJob, ReplayRun

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_simulation_is_started_watched_and_stepped_through(reader, project, work):
    story = tell_story(project)
    page = reader.page
    reader.visit(story.path)
    page.get_by_role("link", name="Simulate").click()
    page.get_by_label("micro: after each turn").check()
    page.get_by_role("button", name="Start the simulation").click()
    expect(page.locator("#run")).to_contain_text("waiting")
    work()
    expect(page.locator("#run")).to_contain_text("12 of 12 turns")
    expect(page.locator(".verdict")).to_contain_text("passes archive")
    page.get_by_role("link", name="Step through the passes").click()
    expect(page.locator("h1")).to_contain_text("step 1: the zones")
    for _ in range(4):
        reader.press("ArrowRight")
    expect(page.locator("h1")).to_contain_text("step 5: the edit")
    expect(page.locator(".in-row")).to_have_count(1)
    expect(page.locator(".out-row").first).to_be_visible()
    assert ReplayRun.objects.get().session_id == story.session.pk


def test_a_simulation_with_an_impossible_setting_is_explained_at_the_field(open_reader, project):
    reader = open_reader()
    reader.expected_statuses.append(422)
    story = tell_story(project)
    page = reader.page
    reader.visit(f"{story.path}runs/")
    page.get_by_text("Settings, filled with the project's own").click()
    page.get_by_label("Tail share").fill("9")
    page.get_by_label("Every n turns").fill("4")
    page.get_by_role("button", name="Start the simulation").click()
    expect(page.locator(".field-error")).to_have_text("Out of range: it goes from 0.1 to 0.8.")
    expect(page.get_by_label("Every n turns")).to_have_value("4")
    assert not ReplayRun.objects.exists()


def test_a_waiting_simulation_can_be_cancelled(reader, project):
    story = tell_story(project)
    page = reader.page
    reader.visit(f"{story.path}runs/")
    page.get_by_role("button", name="Start the simulation").click()
    page.get_by_role("button", name="Cancel").click()
    expect(page.locator("#run")).to_contain_text("cancelled")


def test_an_import_shows_each_file_with_what_was_skipped_and_why(reader, project, work, data_folder, tmp_path):
    letter = tmp_path / "letter.txt"
    letter.write_text("Dear all,\nthis is no transcript.\n")
    page = reader.page
    reader.visit("/import/")
    page.locator("input[type=file]").set_input_files([data_folder / "notes.jsonl", letter])
    expect(page.locator(".chosen li")).to_have_count(2)
    page.get_by_role("button", name="Import", exact=True).click()
    expect(page.locator("#job")).to_contain_text("waiting")
    work()
    expect(page.locator("#job")).to_contain_text("2 of 2 files done")
    notes = page.locator(".file", has_text="notes.jsonl")
    expect(notes).to_contain_text("2 lines skipped")
    notes.locator("details summary").click()
    expect(notes.locator("details")).to_contain_text("not JSON")
    expect(page.locator(".file", has_text="letter.txt")).to_contain_text("not read")
    notes.get_by_role("link").first.click()
    expect(page.locator("#rows")).to_contain_text("Port 8443")
    assert ImportJob.objects.get().created_by_id is not None
