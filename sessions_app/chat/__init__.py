"""The chat page's side of talking to a project's main model.

`answering` asks the model in a thread of the web process and notes what has come; `streaming` tells a browser of it as
it comes. Both know the answer only from the database, so that any process can stop it and any page can follow it.
"""
