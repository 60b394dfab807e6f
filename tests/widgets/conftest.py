"""What the tests of the widgets share."""

import pytest

from course_lib.viz import figures


@pytest.fixture
def displayed(monkeypatch) -> list[dict]:
    """What is displayed from now on: data by MIME type, and the metadata under "metadata"."""
    found: list[dict] = []

    def display(data, raw, metadata=None):
        found.append({**data, "metadata": metadata} if metadata else data)

    monkeypatch.setattr(figures, "display", display)
    return found
