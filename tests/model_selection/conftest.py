"""What all searches of a test release."""

import pytest

from tests.world import everywhere, release


@pytest.fixture
def seen(monkeypatch):
    """The releases of all that a test fits, in their order."""
    found = []

    def noted(*arguments):
        found.append(release(*arguments))
        return found[-1]

    everywhere(monkeypatch, "release", noted)
    return found
