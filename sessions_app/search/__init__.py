"""What it means to find a text: words, the vector a row is indexed by, the query language, and snippets.

Pure functions on texts; nothing here reads or writes the database. Index and query are cut into words by the same code,
so whatever is pasted from a row finds that row.
"""
