from html.parser import HTMLParser

import pytest

from sessions_app.rendering.markdown import ALLOWED_TAGS, render_markdown


@pytest.mark.parametrize(
    "hostile",
    [
        "<script>alert(1)</script>",
        "<img src=x onerror=alert(1)>",
        "[x](javascript:alert(1))",
        "[x](data:text/html;base64,PHNjcmlwdD4=)",
        "<style>@import url(https://tracker.example)</style>",
        '<a href="https://a.example" onclick="alert(1)">x</a>',
        "<iframe src=https://a.example></iframe>",
        "</div></article>",
        "```\n</pre><script>alert(1)</script>",
        "![x](https://tracker.example/p.png)",
        "![x][r]\n\n[r]: https://tracker.example/p.png",
        '<https://a.example/"onmouseover=alert(1)>',
    ],
)
def test_nothing_in_a_text_becomes_active_or_is_loaded(hostile):
    for tag, attributes in elements(render_markdown(hostile)):
        assert tag in ALLOWED_TAGS
        assert set(attributes) <= {"href", "target", "rel", "class", "start", "scope", "tabindex"}
        assert attributes.get("tabindex", "0") == "0"
        assert attributes.get("href", "https://").startswith(("https://", "http://", "mailto:"))


def elements(html):
    """The elements that a browser would see, with their attributes."""
    found = []

    class Collector(HTMLParser):
        def handle_starttag(self, tag, attributes):
            found.append((tag, dict(attributes)))

    Collector().feed(html)
    return found


def test_a_text_that_opens_a_fence_ends_with_itself():
    html = render_markdown("```\nnever closed")
    assert html.count("<pre tabindex") == html.count("</pre>") == 1


def test_links_open_apart_and_send_no_referrer():
    html = render_markdown("[docs](https://example.org/a)")
    assert 'rel="noopener noreferrer nofollow"' in html
    assert 'target="_blank"' in html


def test_relative_links_stay_words():
    assert "<a" not in render_markdown("[the parser](src/parser.py)")


def test_a_picture_becomes_its_words_and_its_host():
    assert "picture not loaded: a chart (example.org)" in render_markdown("![a chart](https://example.org/c.png)")


def test_the_highest_heading_is_h3_and_no_level_is_skipped():
    html = render_markdown("## One\n\n### Two\n\n#### Three")
    assert [html.count(f"<h{level}>") for level in (2, 3, 4, 5)] == [0, 1, 1, 1]


def test_terminal_codes_are_left_out():
    assert "red" in render_markdown("\x1b[31mred\x1b[0m")
    assert "\x1b" not in render_markdown("\x1b[31mred\x1b[0m")


def test_a_line_break_is_kept():
    assert "<br>" in render_markdown("one\ntwo")
