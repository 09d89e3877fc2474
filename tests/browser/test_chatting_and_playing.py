"""Talking with a model that answers piece by piece, and playing a recording, in front of a real browser."""

import re
import threading

import pytest
from playwright.sync_api import expect
from row_of_pieces import Gate, words
from story import COUNTER, tell_story
from test_accessibility import CONTRAST, EVERYTHING, violations

from compaction.endpoints.gates import PROCESS_GATES
from sessions_app import services
from sessions_app.endpoint_tests import run_endpoint_test
from sessions_app.models import ChatAnswer, MessageRow, Play, Session
from sessions_app.plays import run_play
from sessions_app.services.endpoint_tests import request_endpoint_test
from sessions_app.summarizers import operator_rules
from tests.compaction.loopback import failure, serving

pytestmark = pytest.mark.django_db(transaction=True)
PATIENCE_SECONDS = 20


@pytest.fixture(autouse=True)
def loopback_is_allowed(settings):
    settings.OUTBOUND_RULES = operator_rules()
    yield
    for thread in threading.enumerate():
        if thread.name.startswith("chat-answer-"):
            thread.join(PATIENCE_SECONDS)
    PROCESS_GATES.forget()


def use(project, server):
    services.save_main_model(project.pk, {"default": "big", "base_url": server.url})


def said_by_people(session_id):
    rows = MessageRow.objects.filter(session_id=session_id, role="user", kind="message").order_by("position")
    return list(rows.values_list("content", flat=True))


def test_an_answer_streams_survives_a_reload_is_seen_in_two_tabs_and_its_pass_is_shown(open_reader, project, work):
    story = tell_story(project, failing_call=99)
    passes = story.refreshed().passes_total
    # Long enough to push an exchange out of the tail, as each turn of the story did.
    gate = Gate("The **first** half.\n\n", f"And the second. {'It reads one line at a time. ' * 250}")
    reader, other = open_reader(), open_reader()
    page, tab = reader.page, other.page
    with serving(gate.answer) as server:
        use(project, server)
        for one in (reader, other):
            one.visit(f"{story.path}chat/")
            expect(one.page.locator("#connection")).to_have_text("connected")
        before = page.locator(".gauge .big").inner_text()
        page.keyboard.type("Is the parser done?")
        page.keyboard.press("Enter")
        for one in (page, tab):
            expect(one.locator("#coming-text strong")).to_have_text("first")
            expect(one.locator("#rows")).to_contain_text("Is the parser done?")
        expect(page.locator("#chat-text")).to_have_value("")
        expect(page.locator("#chat-text")).to_be_focused()
        page.reload()
        expect(page.locator("#coming-text strong")).to_have_text("first")
        gate.may_go.set()
        for one in (page, tab):
            expect(one.locator("#rows")).to_contain_text("And the second.")
            expect(one.locator("#coming-text")).to_have_count(0)
        expect(page.locator("#chat-turn-end")).to_contain_text("Whether a pass is due is checked next")
        work()
        for one in (page, tab):
            expect(one.locator("#chat-turn-end")).to_contain_text(f"Pass {passes + 1} (micro): archived")
        expect(page.locator("#chat-says")).to_contain_text("archived")
        expect(page.locator(".gauge .big")).not_to_have_text(before)
        page.locator("#chat-turn-end").get_by_role("link", name="Step through it").click()
        expect(page).to_have_url(re.compile(rf"/replay/{passes + 1}/"))
    assert said_by_people(story.session.pk).count("Is the parser done?") == 1


def test_stop_keeps_what_had_come_and_gives_the_field_its_focus_back(reader, project):
    session = services.create_session(project, "To be stopped")
    gate = Gate("Half an answer.", "never said")
    page = reader.page
    with serving(gate.answer) as server:
        use(project, server)
        reader.visit(f"/s/{session.public_id}/chat/")
        page.get_by_label("Your message").fill("Begin")
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#coming-text")).to_have_text("Half an answer.")
        page.get_by_label("Your message").fill("typed meanwhile")
        page.get_by_role("button", name="Stop").press("Enter")
        expect(page.locator("#chat-answer")).to_contain_text("You stopped this answer")
        gate.may_go.set()
    expect(page.locator("#rows .row").last).to_contain_text("Half an answer.")
    expect(page.locator("#rows .row").last).to_contain_text("interrupted")
    expect(page.locator("#chat-text")).to_be_focused()
    expect(page.locator("#chat-text")).to_have_value("typed meanwhile")


def test_a_failure_is_explained_and_asking_again_stores_nothing_twice(reader, project):
    session = services.create_session(project, "To fail")
    page = reader.page
    with serving(failure(401, "no such key"), words("Now it works.")) as server:
        use(project, server)
        reader.visit(f"/s/{session.public_id}/chat/")
        page.get_by_label("Your message").fill("Hello?")
        page.keyboard.press("Enter")
        expect(page.get_by_role("alert").filter(has_text="did not accept the key")).to_be_visible()
        page.get_by_role("button", name="Ask again").click()
        expect(page.locator("#rows")).to_contain_text("Now it works.")
        expect(page.get_by_role("alert").filter(has_text="did not accept")).to_have_count(0)
    assert said_by_people(session.pk) == ["Hello?"]


def test_enter_that_confirms_a_candidate_sends_nothing_and_nothing_is_sent_of_nothing(reader, project):
    session = services.create_session(project, "To type")
    page = reader.page
    with serving(words("fine")) as server:
        use(project, server)
        reader.visit(f"/s/{session.public_id}/chat/")
        field = page.get_by_label("Your message")
        field.press("Enter")
        expect(page.locator("#chat-error")).to_have_text("Write something first.")
        field.fill("你好")
        expect(page.locator("#chat-error")).to_be_hidden()
        field.evaluate(
            "field => field.dispatchEvent(new KeyboardEvent('keydown',"
            " { key: 'Enter', isComposing: true, bubbles: true, cancelable: true }))"
        )
        field.press("Shift+Enter")
        field.press_sequentially("j")
        expect(field).to_have_value("你好\nj")
        field.press("Enter")
        expect(page.locator("#rows")).to_contain_text("fine")
    assert said_by_people(session.pk) == ["你好\nj"]
    assert ChatAnswer.objects.count() == 1


def test_a_new_chat_begins_with_its_first_message(reader, project):
    page = reader.page
    with serving(words("Welcome.")) as server:
        use(project, server)
        reader.visit("/")
        page.get_by_role("link", name="New chat").click()
        # Enter sends once the page's script has run, which is before the page counts as loaded.
        page.wait_for_url("**/s/new/")
        expect(page.get_by_label("Your message")).to_be_focused()
        page.keyboard.type("Name three ports")
        page.keyboard.press("Enter")
        expect(page.get_by_role("heading", level=1)).to_have_text("Name three ports")
        expect(page.locator("#rows")).to_contain_text("Welcome.")


def test_an_answer_that_comes_on_a_phone_never_makes_the_page_wider(open_reader, project):
    session = services.create_session(project, "Narrow")
    reader = open_reader(viewport={"width": 390, "height": 844})
    page = reader.page
    gate = Gate(f"| a | b |\n|---|---|\n| {'wide ' * 40} | {'x' * 900} |\n\n```\n{'y' * 900}\n```\n", "done")
    with serving(gate.answer) as server:
        use(project, server)
        reader.visit(f"/s/{session.public_id}/chat/")
        page.get_by_label("Your message").fill("x" * 2_000)
        page.get_by_role("button", name="Send").click()
        expect(page.locator("#coming-text table")).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
        expect(page.locator("#composer")).to_be_in_viewport()
        gate.may_go.set()
        expect(page.locator("#coming-text")).to_have_count(0)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_what_can_not_be_sent_stays_in_the_field(reader, project):
    session = services.create_session(project, "Offline")
    page = reader.page
    with serving(words("Welcome.")) as server:
        use(project, server)
        reader.visit(f"/s/{session.public_id}/chat/")
        reader.expected_statuses += ["503"]
        page.route("**/chat/", lambda route: route.fulfill(status=503, body="down"))
        page.get_by_label("Your message").fill("Do you hear me?")
        page.keyboard.press("Enter")
        expect(page.locator("#chat-error")).to_contain_text("What you typed is kept")
        expect(page.get_by_label("Your message")).to_have_value("Do you hear me?")
        page.unroute("**/chat/")
        page.keyboard.press("Enter")
        expect(page.locator("#rows")).to_contain_text("Welcome.")
    assert said_by_people(session.pk) == ["Do you hear me?"]


def test_without_a_model_the_page_offers_a_play_whose_charts_move(reader, project):
    page = reader.page
    reader.visit("/s/new/")
    expect(page.get_by_role("heading", name="No main model is set for this project")).to_be_visible()
    page.get_by_role("link", name="Play a sample session").click()
    page.get_by_label("Play", exact=True).select_option(label="Occupancy as CSV, with a summarizer that keeps failing")
    page.get_by_label("Speed").select_option("100")
    page.get_by_role("button", name="Play").click()
    expect(page.locator("#play-bar")).to_contain_text("playing")
    expect(page.locator("#connection")).to_have_text("connected")
    play = Play.objects.get()
    play_until(play, turns=2)
    expect(page.locator("#play-bar")).to_contain_text("2 of 27 turns")
    first = page.locator(".gauge .big").inner_text()
    play_until(play, turns=5)
    expect(page.locator(".gauge .big")).not_to_have_text(first)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 800})
        page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        expect(page.get_by_role("button", name="Pause")).to_be_in_viewport()
        expect(page.locator("#play-stop")).to_be_in_viewport()
    page.get_by_role("button", name="Pause").click()
    expect(page.locator("#play-bar")).to_contain_text("paused")
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.get_by_role("button", name="5×", exact=True).click()
    expect(page.get_by_role("button", name="5×", exact=True)).to_have_attribute("aria-pressed", "true")
    expect(page.locator("#play-bar")).to_contain_text("paused")
    page.get_by_role("button", name="Stop").click()
    expect(page.locator("#play-bar")).to_contain_text("stopped")
    assert Session.objects.get(pk=play.session_id).turns_total >= 5


def play_until(play, turns):
    """What the worker does, until so many turns were played."""
    while play.turns_done < turns:
        run_play(play.pk, play.ticket, COUNTER)
        play.refresh_from_db()


def test_forms_results_and_every_state_of_the_chat_keep_the_rules_of_axe(open_reader, project):
    session = services.create_session(project, "Looked at closely")
    reader = open_reader(color_scheme="light")
    gate = Gate("The **first** half.\n\n- a list", "And the second.")
    page, chat, found = reader.page, f"/s/{session.public_id}/chat/", {}

    def look(name):
        page.emulate_media(color_scheme="light")
        found[name] = violations(page, EVERYTHING)
        page.emulate_media(color_scheme="dark")
        found[name] += violations(page, CONTRAST)

    for path in ("/s/new/", "/play/", "/p/review/endpoints/", chat):
        reader.visit(path)
        look(path)
    with serving(gate.answer, failure(401, "no such key"), words("A summary.")) as server:
        use(project, server)
        reader.visit(chat)
        page.get_by_label("Your message").fill("Begin")
        page.keyboard.press("Enter")
        expect(page.locator("#coming-text strong")).to_have_text("first")
        look("coming")
        gate.may_go.set()
        expect(page.locator("#chat-turn-end")).to_contain_text("Turn 1")
        look("answered")
        page.set_viewport_size({"width": 390, "height": 844})
        look("answered, narrow")
        page.get_by_label("Your message").fill("Fail")
        page.get_by_role("button", name="Send").click()
        expect(page.get_by_role("button", name="Ask again")).to_be_visible()
        page.get_by_label("Your message").press("Enter")
        expect(page.locator("#chat-error")).to_be_visible()
        look("failed")
        block = {"base_url": server.url, "model": "small-model"}
        test = request_endpoint_test(
            project, [block, {"base_url": "http://127.0.0.1:9/v1"}, {"provider": "extractive"}]
        )
        run_endpoint_test(test.pk, COUNTER)
    for width in (390, 1440):
        page.set_viewport_size({"width": width, "height": 844})
        reader.visit(f"/p/review/endpoints/{test.pk}/")
        look(f"endpoints at {width}")
    assert {name: broken for name, broken in found.items() if broken} == {}
