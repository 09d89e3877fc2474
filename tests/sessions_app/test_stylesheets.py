"""The styles keep to their own rules: tokens only, no force, files of a readable size, nothing half written."""

import re
from pathlib import Path

import pytest
from django.conf import settings

SHEETS = sorted((Path(settings.BASE_DIR) / "static" / "css").glob("*.css"))
TEMPLATES = sorted((Path(settings.BASE_DIR) / "templates").rglob("*.html"))


def without_comments(sheet):
    return re.sub(r"/\*.*?\*/", "", sheet.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("sheet", SHEETS, ids=lambda sheet: sheet.name)
def test_a_sheet_is_short_and_whole_and_uses_no_force(sheet):
    text = without_comments(sheet)
    assert len(sheet.read_text().splitlines()) <= 400
    assert text.count("{") == text.count("}")
    assert "!important" not in text
    # Between two rules stands a selector, never a stray declaration.
    assert not re.search(r"\}\s*[a-z-]+\s*:\s*[^{};]+;", text)


@pytest.mark.parametrize("sheet", [one for one in SHEETS if one.name != "tokens.css"], ids=lambda sheet: sheet.name)
def test_colours_come_from_tokens(sheet):
    assert not re.search(r"#[0-9a-fA-F]{3,8}\b|rgba?\(|hsla?\(", without_comments(sheet))


def test_no_template_has_inline_styles_scripts_or_handlers():
    for template in TEMPLATES:
        text = template.read_text()
        assert not re.search(r"\sstyle\s*=", text), template
        assert not re.search(r"\son[a-z]+\s*=\s*[\"']", text), template
        # A block of data is no script, and no browser runs it.
        assert not re.search(r'<script(?![^>]*(\ssrc=|\stype="application/json"))', text), template
        assert "<style" not in text, template
