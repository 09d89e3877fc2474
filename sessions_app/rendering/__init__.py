"""Values to draw: gauge, sparkline, scrubber, word diff, Markdown. Pure functions from stored facts to what a template
prints; no queries, no requests."""
