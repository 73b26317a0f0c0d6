"""What the tests of the sources share, for as long as they run."""

from __future__ import annotations

from collections.abc import Generator

import pytest

from tests.support.imports import tree_of


@pytest.fixture(scope="package", autouse=True)
def _trees_are_freed() -> Generator[None]:  # pyright: ignore[reportUnusedFunction]
    """The syntax trees of all sources take 300 MB."""
    yield
    tree_of.cache_clear()
