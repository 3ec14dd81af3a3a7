"""What every end-to-end test needs."""

from collections.abc import Iterator

import pytest

from dspark_sglang.demo.processes import ended_by_signals


@pytest.fixture(scope="session", autouse=True)
def _servers_end_with_the_run() -> Iterator[None]:
    """A run that is told to end takes its servers with it."""
    with ended_by_signals():
        yield
