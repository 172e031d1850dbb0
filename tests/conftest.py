"""Settings of the test run: what is slow runs on request, and no test depends on luck.

Every test starts from the same bits in the place of those of the operating system: fits without
``random_state`` draw the same noise in every run, and so do scikit-learn, numpy and hypothesis. A
test that needs the bits of the operating system is marked as ``unseeded`` with the reason and the
probability of a false alarm.
"""

import random
import signal

import hypothesis
import numpy as np
import pytest

from tests.world import home

sampler = home("_system_words")

_SYSTEM_WORDS = sampler._system_words
hypothesis.settings.register_profile("seeded", derandomize=True, deadline=None)
hypothesis.settings.load_profile("seeded")

_ON_REQUEST = {
    "slow": 'slow: run with -m slow or "make test-slow"',
    "peers": 'needs diffprivlib: run with -m peers or "make test-peers"',
}


def pytest_configure():
    """Let an interrupt interrupt: a shell that starts a run in the background has it ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(config, items):
    """Skip what is marked as slow or for peers unless -m chooses what runs."""
    moving = [item.nodeid for item in items if " at 0x" in item.nodeid]
    if moving:  # workers would collect different tests
        raise pytest.UsageError(f"Names of tests must not hold addresses of objects, got {moving}.")
    if config.getoption("-m"):
        return
    for item in items:
        for marker, reason in _ON_REQUEST.items():
            if item.get_closest_marker(marker) is not None:
                item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    """Draw from the start of one stream, also in fixtures of a module."""
    random.seed(0)
    np.random.seed(0)  # noqa: NPY002
    mark = item.get_closest_marker("unseeded")
    if mark is None:
        sampler._system_words = np.random.Philox(0).random_raw
        return
    if not (mark.args and isinstance(mark.args[0], str)):
        pytest.fail("The mark unseeded needs a reason and the probability of a false alarm.")
    sampler._system_words = _SYSTEM_WORDS
