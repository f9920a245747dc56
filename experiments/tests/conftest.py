"""What stands here is research: it runs in `make verify`, and starts from what all tests do."""

import pytest

from starting import *  # noqa: F403

collect_ignore = ["conftest.py"]  # of the same name as that of the other tests


def pytest_itemcollected(item: pytest.Item) -> None:
    """Mark each test here."""
    item.add_marker("verify")
