"""Django's PostgreSQL backend on the embedded server, which is started when the first connection is needed."""
