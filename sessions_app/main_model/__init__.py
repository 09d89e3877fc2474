"""Talking to a project's main model in the name of a session.

`sending` finds what goes out: the live rows as provider messages. `connecting` finds who is asked, `answering` asks and
stores what came back: the answer as a row, the call in the ledger, the end of the turn when no tool is called. Nothing
here holds a transaction while somebody is asked.
"""
