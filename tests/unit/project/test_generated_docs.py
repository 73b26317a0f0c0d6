"""The generated pages of the docs are what `make docs` would write."""

import pytest

from stepwell.tools.generators.generate_docs import DOCS, pages


@pytest.mark.parametrize(
    "name", ["passes.md", "dialects.md", "errors.md", "lowering.md", "cli.md", "README.md"]
)
def test_generated_page_is_fresh(name: str) -> None:
    assert (DOCS / name).read_text(encoding="utf-8") == pages()[name], "run `make docs`"
