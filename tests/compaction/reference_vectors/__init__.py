"""Running recorded behaviour of another implementation against this engine: cases, runners, deviations."""
