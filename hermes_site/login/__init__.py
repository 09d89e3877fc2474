"""How people get in: by password, or by a link that works once."""
