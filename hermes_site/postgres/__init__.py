"""A PostgreSQL server of the checkout's own, for when the operator names none.

The idea: every process that needs the database *attaches*. Attaching takes a shared lock that says "in use", starts the
server if it isn't running, and says where its socket is. Detaching stops the server when nobody else holds the lock:
the last one out turns off the light. Locks are the kernel's and vanish with their process, so no crash, of the server
or of any of its users, leaves anything behind that the next start has to believe.

Must not be used for a server that isn't ours: a process is only signalled after its name and its working directory
have shown that it serves our data folder. Django is known to `backend` only.
"""
