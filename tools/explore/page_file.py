"""The explorer's page: the data in chunks, small enough to be opened."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.page import packed, self_contained_page

FOLDER = Path(__file__).with_name("page")
MAX_BYTES = 20_000_000
_IN_CHUNKS = ("steps", "asm")
_MOST_OF_A_NAME = 16
"""Bytes by which the id of a kernel lengthens the note on what is left out."""
_NUMBERED = re.compile(r"%(-?[1-9]\d{0,7}|0)(?!\d)")
"""A numbered value; one at the beginning of a line is the line's own. `data.js` has the same expression."""


def explorer_page(data: Mapping[str, object], max_bytes: int = MAX_BYTES, *, connects: bool = False) -> str:
    """
    The page as HTML, a pure function of the data.

    Above `max_bytes` the texts after the middle passes of the kernels with the shortest times are left out,
    as many as needed; the page names the kernels. `connects` is for the page of a server, which tries edits.
    """
    kernels = cast("list[Data]", data["kernels"])
    chunks = {str(kernel["id"]): packed(_renumbered(kernel)) for kernel in kernels}
    page, left_out = _page(data, chunks, [], connects), list[str]()
    excess = len(page) - max_bytes
    for kernel in sorted(kernels, key=lambda kernel: _time(data, kernel)) if excess > 0 else ():
        if excess <= 0:
            break
        left_out.append(id := str(kernel["id"]))
        small = packed(_renumbered(_without_middle(kernel)))
        excess -= len(chunks[id]) - len(small) - _MOST_OF_A_NAME
        chunks[id] = small
    return _page(data, chunks, left_out, connects) if left_out else page


def _page(
    data: Mapping[str, object], chunks: Mapping[str, str], left_out: Sequence[str], connects: bool
) -> str:
    kernels = cast("list[Data]", data["kernels"])
    listed = [{key: value for key, value in kernel.items() if key not in _IN_CHUNKS} for kernel in kernels]
    note = f"left out to keep the page small: the middle passes of {', '.join(left_out)}" if left_out else ""
    index = packed({**data, "kernels": listed, "left_out": note})
    return self_contained_page(str(data["title"]), FOLDER, {"index": index, **chunks}, connects=connects)


def _renumbered(kernel: Data) -> Data:
    """
    A kernel whose texts have the numbers of values relative to that of their line, which `data.js` undoes.

    Unrolled code is then equal lines, and deflates to half of the size.
    """
    steps = cast("list[Data]", kernel["steps"])
    return {**kernel, "steps": [_with_relative_numbers(step) if "text" in step else step for step in steps]}


def _with_relative_numbers(step: Data) -> Data:
    parts, last = _NUMBERED.split(str(step["text"])), 0
    for at in range(1, len(parts), 2):
        number = int(parts[at])
        parts[at] = f"%{number - last}"
        if parts[at - 1].rstrip(" ").endswith("\n"):
            last = number
    return {**step, "text": "".join(parts)}


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
