"""How many generated examples each law gets: HYPOTHESIS_PROFILE=nightly for ten thousand.

Real transcripts are run where there are some: their folder is named by HERMES_CORPUS.
"""

import os

from hypothesis import HealthCheck, settings

_QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
settings.register_profile("test", max_examples=500, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("nightly", max_examples=10_000, deadline=None, suppress_health_check=_QUIET)
settings.register_profile("quick", max_examples=40, deadline=None, suppress_health_check=_QUIET)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "test"))

collect_ignore = [] if os.environ.get("HERMES_CORPUS") else ["test_corpus_with_hostile_summarizers.py"]
