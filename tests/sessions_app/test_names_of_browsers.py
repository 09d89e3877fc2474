"""A login is told apart by the name of its browser and system, not by the whole header."""

import pytest

from sessions_app.templatetags.people import browser_name

WEBKIT = "AppleWebKit/537.36 (KHTML, like Gecko)"


@pytest.mark.parametrize(
    ("agent", "name"),
    [
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36", "Chrome 126, Linux"),
        (f"Mozilla/5.0 (X11; Linux x86_64) {WEBKIT} HeadlessChrome/126.0.0.0 Safari/537.36", "Chrome 126, Linux"),
        (
            f"Mozilla/5.0 (Windows NT 10.0; Win64; x64) {WEBKIT} Chrome/126.0.0.0 Safari/537.36 Edg/126.0.2592.61",
            "Edge 126, Windows",
        ),
        (f"Mozilla/5.0 (Linux; Android 14) {WEBKIT} Chrome/126.0.0.0 Mobile Safari/537.36", "Chrome 126, Android"),
        ("Mozilla/5.0 (X11; Linux x86_64; rv:128.0) Gecko/20100101 Firefox/128.0", "Firefox 128, Linux"),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) AppleWebKit/605.1.15 (KHTML, like Gecko)"
            " Version/17.5 Safari/605.1.15",
            "Safari 17, macOS",
        ),
        (
            "Mozilla/5.0 (iPhone; CPU iPhone OS 17_5 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko)"
            " Version/17.5 Mobile/15E148 Safari/604.1",
            "Safari 17, iPhone",
        ),
        ("Firefox/128.0", "Firefox 128"),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", ""),
    ],
)
def test_a_header_names_its_browser_and_system_or_stands_for_itself(agent, name):
    assert browser_name(agent) == name
