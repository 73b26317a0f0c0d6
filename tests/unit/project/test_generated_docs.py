"""The generated pages of the docs are what `make docs` would write."""

from functools import cache

import pytest

from stepwell.tools.generators.generate_docs import DOCS, pages


@cache
def fresh() -> dict[str, str]:
    """All pages, which are made together."""
    return dict(pages())


@pytest.mark.parametrize(
    "name", ["passes.md", "dialects.md", "errors.md", "lowering.md", "cli.md", "README.md"]
)
def test_generated_page_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == fresh()[name], "run `make docs`"
