"""A whole session as one file: JSON, JSON lines, Markdown, or one HTML page. Streamed, redacted unless asked otherwise.

Must not decide who may have an export with secrets: views and the API do.
"""
