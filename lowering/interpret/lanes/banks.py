"""Bank conflicts: threads of a warp that access different addresses of one bank of memory at once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from stepwell.lowering.interpret.lanes.state import Group, Lanes

CHECK = "banks"
"""The check's name; it is off unless asked for, since a conflict costs time, and no result is wrong."""
_BANKS = 32
_WORD_BYTES = 4


def conflict(group: Group, lanes: Lanes, places: Lanes, nbytes: int) -> tuple[int, int] | None:
    """
    Two lanes whose accesses wait for each other, or None.

    Args: `lanes` access elements of `nbytes` at `places`. Those of more than 4 bytes are served in turn.
    """
    if nbytes > _WORD_BYTES or not lanes.size:
        return None
    words = places * nbytes // _WORD_BYTES
    blocks, threads = group.block_number[lanes], group.thread_number[lanes]
    warps = blocks * -(-group.threads // group.warp) + threads // group.warp
    banks = words % _BANKS
    order = np.lexsort((words, banks, warps))
    warps, banks, words = warps[order], banks[order], words[order]
    meet = (warps[1:] == warps[:-1]) & (banks[1:] == banks[:-1]) & (words[1:] != words[:-1])
    if not meet.any():
        return None
    first = int(np.argmax(meet))
    return int(lanes[order[first]]), int(lanes[order[first + 1]])


def conflict_text(group: Group, pair: tuple[int, int], name: str, at: Callable[[int], str], op: str) -> str:
    """The message of a conflict. Args: `at` is the text of a lane's indices."""
    numbers: Any = group.lane_numbers
    threads = group.pair_text(int(numbers[pair[0]]), int(numbers[pair[1]]))
    return f"{threads} access {name}{at(pair[0])} and {name}{at(pair[1])}, words of one bank, at once: {op}"
