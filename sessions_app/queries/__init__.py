"""Reads for pages, the API and jobs, one noun per file.

Must not write. Each function makes a number of queries that does not depend on how long a session is, and windows are
cut by keys, never by offsets.
"""
