"""What each page shows: values read with a bounded number of queries, ready for a template.

Must not write, answer requests or make HTML. The idea: a page's cost does not grow with the session, so everything is
read by key ranges and counters, and large texts are cut where they are read.
"""
