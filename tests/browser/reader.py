"""Somebody who reads the site in a browser, and who notes whatever a page does that it must not."""

from playwright.sync_api import expect

PASSWORD = "a long enough password"


class Reader:
    """One browser context with one page. complaints: what the console said; foreign_requests: other hosts asked."""

    def __init__(self, context, site):
        self.context = context
        self.site = site
        self.page = context.new_page()
        self.notes = []
        self.expected_statuses = []
        self.foreign_requests = []
        self.page.on("console", lambda message: self.notes.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.notes.append(f"error: {error}"))
        context.on("request", self._note_request)

    def _note_request(self, request):
        if not request.url.startswith((self.site, "data:", "blob:")):
            self.foreign_requests.append(request.url)

    def log_in(self, name):
        self.page.goto(f"{self.site}/login/")
        self.page.get_by_label("Name").fill(name)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Log in").click()
        expect(self.page.get_by_role("heading", name="Sessions", exact=True)).to_be_visible()

    def visit(self, path):
        response = self.page.goto(self.site + path)
        assert response is not None
        return response

    @property
    def complaints(self):
        """What the console said, beside the answers that a test asked for: the browser notes those by itself."""
        expected = [f"the server responded with a status of {status}" for status in self.expected_statuses]
        return [note for note in self.notes if not any(words in note for words in expected)]

    def press(self, *keys):
        # The scripts of a page have run once it is loaded; before that nobody listens to keys.
        self.page.wait_for_load_state()
        for key in keys:
            self.page.keyboard.press(key)

    @property
    def path(self):
        return self.page.url.removeprefix(self.site)

    def close(self):
        self.context.close()
