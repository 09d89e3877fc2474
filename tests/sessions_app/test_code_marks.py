"""Code in transcripts: its parts are marked by classes, and nothing in it can become markup."""

import re

import pytest

from sessions_app.rendering.code import MOST_CHARS, highlighted, highlighted_output
from sessions_app.rendering.markdown import render_markdown

EVIL = '</code></pre><script>alert(1)</script><img src=x onerror="alert(2)">'


def text_of(html):
    return re.sub(r"<[^>]+>", "", html).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def test_a_block_of_a_named_language_is_marked_by_classes_and_without_style():
    html = render_markdown("```python\ndef go():\n    return 'there'  # now\n```")
    assert '<span class="h-k">def</span>' in html
    assert "style=" not in html
    assert text_of(html).strip() == "def go():\n    return 'there'  # now"


@pytest.mark.parametrize("language", ["", "no-such-language", "x" * 500, "python", "html", "diff", "json"])
def test_what_stands_in_a_block_of_code_never_becomes_markup(language):
    html = render_markdown(f"```{language}\n{EVIL}\n```")
    assert "<script" not in html
    assert "<img" not in html
    assert EVIL in text_of(html).replace("&quot;", '"')


def test_a_very_long_block_is_printed_as_it_is():
    code = "x = 1\n" * (MOST_CHARS // 4)
    assert highlighted(code, "python") is None
    assert code.strip() in render_markdown(f"```python\n{code}```")


def test_diffs_and_json_that_a_tool_printed_are_known_by_how_they_begin():
    assert "h-gi" in highlighted_output("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-old\n+new\n")
    assert "h-nt" in highlighted_output('{"key": [1, 2, true]}')
    assert highlighted_output("line 1\nline 2") is None
    assert highlighted_output("") is None


def test_every_character_of_marked_code_is_kept():
    code = "\n\n  if a < b && c > d:\n\tpass  \n\n"
    assert text_of(highlighted(code, "python")) == code
