"""Real transcripts are run where there are some: their folder is named by HERMES_CORPUS."""

import os

collect_ignore = [] if os.environ.get("HERMES_CORPUS") else ["test_corpus_with_hostile_summarizers.py"]
