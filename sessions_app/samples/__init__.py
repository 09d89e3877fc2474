"""The product's own sample sessions: written stories filled with this checkout's files and made-up logs.

Owns the stories (`stories/*.story`), the generators that fill them, and the file forms they are exported in. Must not
import Django, read a clock, or be random: the same checkout gives the same bytes. Loading the samples into a database
is the business of `sessions_app.sample_project`.

The idea: what people said is written by hand, once; what tools returned is generated. A story line such as
`! read compaction/zones.py` becomes a slice of the real file, as long as the turn's share of the session's tokens
allows, so the text follows the code while the totals stay.
"""
