"""The explorer's page: the data in chunks, small enough to be opened."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import cast

from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.page import self_contained_page

FOLDER = Path(__file__).with_name("page")
MAX_BYTES = 20_000_000
_IN_CHUNKS = ("steps", "asm")


def explorer_page(data: Mapping[str, object], max_bytes: int = MAX_BYTES, *, connects: bool = False) -> str:
    """
    The page as HTML, a pure function of the data.

    Above `max_bytes` the texts after the middle passes of the kernels with the shortest times are left out,
    as many as needed; the page names the kernels. `connects` is for the page of a server, which tries edits.
    """
    kernels = cast("list[Data]", data["kernels"])
    text = _page(data, kernels, "", connects)
    left_out: list[str] = []
    for kernel in sorted(kernels, key=lambda kernel: _time(data, kernel)):
        if len(text) <= max_bytes:
            break
        left_out.append(str(kernel["id"]))
        kernels = [_without_middle(each) if each["id"] == kernel["id"] else each for each in kernels]
        note = f"left out to keep the page small: the middle passes of {', '.join(left_out)}"
        text = _page(data, kernels, note, connects)
    return text


def _page(data: Mapping[str, object], kernels: list[Data], left_out: str, connects: bool) -> str:
    listed = [{key: value for key, value in kernel.items() if key not in _IN_CHUNKS} for kernel in kernels]
    index = {**data, "kernels": listed, "left_out": left_out}
    chunks = {"index": index, **{str(kernel["id"]): kernel for kernel in kernels}}
    return self_contained_page(str(data["title"]), FOLDER, chunks, connects=connects)


def _time(data: Mapping[str, object], kernel: Data) -> float:
    """The microseconds of all calls of a kernel; 0 where they are not known."""
    calls = cast("list[Data]", data["calls"])
    us = [cast("Mapping[str, float] | None", call["us"]) for call in calls if call["kernel"] == kernel["id"]]
    return sum(each["median"] for each in us if each is not None)


def _without_middle(kernel: Data) -> Data:
    """A kernel with the text after the last pass of each level alone."""
    steps = cast("list[Data]", kernel["steps"])
    with_text = {str(step["level"]): i for i, step in enumerate(steps) if "text" in step}.values()
    kept = [
        step if i in with_text or "text" not in step else {key: step[key] for key in ("level", "pass", "ms")}
        for i, step in enumerate(steps)
    ]
    return {**kernel, "steps": kept}
