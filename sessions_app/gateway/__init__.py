"""The gateway: chat completions that any OpenAI client can ask for here, so that its session is stored and compacted.

`asking` reads what a client sends, `places` finds the session it belongs to, `outgoing` writes what goes to the
project's main model instead, and `relay` does the work of one request in a thread of its own: answers take minutes, and
who streams them must not be waited for. What goes wrong is told in OpenAI's shape (`refusals`).
"""
