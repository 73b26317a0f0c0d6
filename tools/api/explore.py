"""The explorer from Python, and in notebooks: a page of a model, its data, and the page in a frame."""

from __future__ import annotations

from collections.abc import Mapping
from html import escape
from pathlib import Path
from typing import Unpack

from stepwell.runtime.files.whole_files import write_text
from stepwell.tools.driver.options import CompileKeywords, options_with

_HEIGHT = 600
"""Pixels of the frame in a notebook."""


class Page:
    """The explorer's page of a model; a notebook shows it in a frame without access to the notebook."""

    def __init__(self, data: Mapping[str, object]):
        """Args: `data` as `stepwell explore --format json` writes it."""
        self.data = data

    def save(self, path: str | Path) -> None:
        """Write the page as one file. Raises: StepwellError `cannot-write`."""
        write_text(Path(path), self._html())

    def _repr_html_(self) -> str:
        return (
            f'<iframe sandbox="allow-scripts" width="100%" height="{_HEIGHT}" '
            f'srcdoc="{escape(self._html())}"></iframe>'
        )

    def _html(self) -> str:
        from stepwell.tools.explore.page_file import explorer_page

        return explorer_page(self.data)


def explore(
    model: str | Path,
    feeds: Mapping[str, object] | None = None,
    *,
    against: str | None = None,
    **keywords: Unpack[CompileKeywords],
) -> Page:
    """
    Compile and run a model, and return the explorer's page of it.

    Args: `feeds` are arrays by input name (default: made up); `against` adds each kernel's differences from
    `reference`, `onnxruntime` or the arrays of an .npz file; `keywords` are options of `compile`.
    Raises: StepwellError as `compile`.
    """
    from stepwell.tools.explore.collect import collect

    options = options_with(None, {**keywords, "profile": True})
    data = collect(Path(model), options, feeds=feeds)
    if against is not None:
        from stepwell.tools.explore.differences import add_differences

        add_differences(data, Path(model), options, against, feeds=feeds)
    return Page(data)
