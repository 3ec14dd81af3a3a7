"""Marks every test with the layer of the folder it lives in."""

from pathlib import Path

import pytest

LAYERS = ("unit", "property", "kernel", "integration", "e2e")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        for layer in LAYERS:
            if layer in Path(item.path).relative_to(Path(__file__).parent).parts:
                item.add_marker(layer)
