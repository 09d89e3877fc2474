"""Endpoints: asking a model over HTTP, and everything that can go wrong on the way.

The only part of the engine that talks to others. Files called http_* do the talking; all others are pure and decide:
where a request may go, how it is put, what an answer means, whether to ask again, when to stop asking.
"""
