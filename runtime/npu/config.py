"""The sizes of an accelerator: elements of its blocks and buffers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import cast

from stepwell.runtime.errors import StepwellError

_MOST_BYTES = 1 << 16
_MOST_BLOCK = 256
BUFFERS = ("uop", "inp", "wgt", "acc")


@dataclass(frozen=True)
class Config:
    """
    The sizes of an accelerator.

    An element of `inp` is `batch` x `block_in` bytes, of `wgt` `block_out` x `block_in` bytes, of `acc`
    `batch` x `block_out` sums of 32 bits, of `uop` one micro-op. Source: Moreau et al., "A Hardware-Software
    Blueprint for Flexible Deep Learning Specialization" (2018), whose configuration on a Pynq is the default.
    """

    batch: int = 1
    block_in: int = 16
    block_out: int = 16
    uop: int = 8192
    """The number of elements of each buffer."""
    inp: int = 2048
    wgt: int = 1024
    acc: int = 2048

    def element(self, buffer: str) -> tuple[int, ...]:
        """The shape of an element of a buffer: `inp`, `wgt` or `acc`; `out` are bytes of `acc`."""
        return {
            "inp": (self.batch, self.block_in),
            "wgt": (self.block_out, self.block_in),
            "acc": (self.batch, self.block_out),
            "out": (self.batch, self.block_out),
        }[buffer]


CONFIGS: Mapping[str, Config] = {"pynq": Config(), "ultra96": Config(inp=4096, wgt=2048, acc=4096)}
"""Configurations by name. Those of other boards are files of JSON."""
MOST_ELEMENTS: Mapping[str, int] = {"uop": 8192, "inp": 4096, "wgt": 2048, "acc": 4096}
"""The most elements of buffers, which fit the fields of instructions."""


def config_of(text: str) -> Config:
    """
    The configuration of a name, or of a file of JSON with the fields of `Config`.

    Raises: StepwellError `bad-target` for anything else, and for sizes that instructions cannot say.
    """
    if text in CONFIGS:
        return CONFIGS[text]
    names = ", ".join(CONFIGS)
    try:
        with Path(text).open("rb") as file:
            content = file.read(_MOST_BYTES + 1)
        found = json.loads(content) if len(content) <= _MOST_BYTES else None
    except (OSError, ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise StepwellError(
            "bad-target", None, f"config must be one of {names}, or a file of JSON, found {text!r}"
        )
    return _checked(cast("dict[str, object]", found))


def _checked(given: Mapping[str, object]) -> Config:
    known = {field.name for field in fields(Config)}
    for name, value in given.items():
        if name not in known:
            raise StepwellError(
                "bad-target", None, f"an npu has no size {name!r}: it has {', '.join(sorted(known))}"
            )
        if type(value) is not int or value < 1:
            raise StepwellError(
                "bad-target", None, f"{name} of an npu must be a positive number, found {value!r}"
            )
    config = Config(**cast("dict[str, int]", given))
    for name, value in asdict(config).items():
        most = MOST_ELEMENTS.get(name, _MOST_BLOCK)
        if value > most:
            raise StepwellError("bad-target", None, f"{name} of an npu is at most {most}, found {value}")
    return config
