"""The JSON API under /api/v1/: one file per noun, each with its shapes and its operations.

Must not decide or write: operations read a request, call a service or a query, and shape the answer. The idea: what a
page shows and what the API says come from the same functions, so they can't drift apart. Every token belongs to one
project, and what lies outside of it does not exist (404).
"""
