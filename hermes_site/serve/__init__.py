"""`manage.py serve`: the whole site under one parent, for a single machine.

The idea: the parent holds what must not be lost when a part fails: the listening socket, the hold on the database, and
the children. A web or worker process that dies is started again; requests that arrive meanwhile wait in the socket. The
children notice the end of the parent by themselves, so nothing of the site survives it.
In production the parts run apart, under the operator's own supervisor (README).
"""
