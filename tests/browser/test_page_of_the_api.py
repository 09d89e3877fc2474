"""The page that lists the API's operations: from this site alone, under the same strict policy as every page."""

import re

import pytest
from playwright.sync_api import expect

from sessions_app.api.site import api

pytestmark = pytest.mark.django_db(transaction=True)


def test_every_operation_is_listed_without_a_complaint_or_a_foreign_request(reader):
    response = reader.visit("/api/v1/docs")
    assert response.status == 200
    assert "unsafe" not in response.headers["content-security-policy"]
    expect(reader.page.get_by_role("heading", name="Hermes Sessions")).to_be_visible()
    operations = sum(len(methods) for methods in api.get_openapi_schema()["paths"].values())
    expect(reader.page.locator(".opblock")).to_have_count(operations)
    reader.page.locator("#operations-rows-append_rows .opblock-summary-control").click()
    expect(reader.page.get_by_text("Append rows, all or none.")).to_be_visible()


DARK = re.compile(r"\bdark-mode\b")


def test_the_page_follows_the_theme_of_the_system_and_the_one_that_was_chosen(reader):
    page = reader.page
    page.emulate_media(color_scheme="dark")
    reader.visit("/api/v1/docs")
    expect(page.locator("html")).to_have_class(DARK)
    page.emulate_media(color_scheme="light")
    expect(page.locator("html")).not_to_have_class(DARK)
    reader.visit("/")
    for theme in ("light", "dark"):
        page.locator("[data-theme-form] button").first.click()
        expect(page.locator("html")).to_have_attribute("data-theme", theme)
    reader.visit("/api/v1/docs")
    expect(page.locator("html")).to_have_class(DARK)
    page.get_by_role("link", name="Hermes Sessions").click()
    expect(page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()


def test_strangers_are_shown_the_way_in_and_not_the_page(client):
    answer = client.get("/api/v1/docs")
    assert (answer.status_code, answer["Location"]) == (302, "/login/?next=/api/v1/docs")
