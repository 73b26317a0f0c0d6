"""Programs of the accelerator as bytes, and back: a header of JSON, instructions, micro-ops."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import Config, config_of
from stepwell.runtime.npu.instructions import (
    INSTRUCTION_BYTES,
    UOP_BYTES,
    Instruction,
    Uop,
    decode,
    decode_uops,
    encode,
    encode_uops,
)

MAGIC = b"NPU\x01"
_MOST_HEADER, _MOST_ARGUMENTS, _MOST_RANK = 1 << 16, 254, 16
_DTYPES = ("i8", "i32")


@dataclass(frozen=True)
class Encoded:
    """A program as instructions, with the name, the configuration, and the types of the arrays."""

    name: str
    config: str
    arguments: tuple[tuple[tuple[int, ...], str], ...]
    instructions: tuple[Instruction, ...]
    uops: tuple[Uop, ...]

    def sizes(self) -> Config:
        """The configuration. Raises: StepwellError `bad-target`."""
        return config_of(self.config)

    def to_bytes(self) -> bytes:
        """The program as bytes. Raises: StepwellError `bad-npu-program` for a field that does not fit."""
        facts = {"name": self.name, "config": self.config, "arguments": self.arguments}
        header = json.dumps(facts, separators=(",", ":")).encode()
        counts = (len(header), len(self.instructions), len(self.uops))
        sizes = b"".join(count.to_bytes(4, "little") for count in counts)
        return b"".join([MAGIC, sizes, header, encode(self.instructions), encode_uops(self.uops)])

    @staticmethod
    def from_bytes(data: bytes) -> Encoded:
        """The program of bytes. Raises: StepwellError `bad-npu-program` for anything else."""
        sizes = [int.from_bytes(data[start : start + 4], "little") for start in (4, 8, 12)]
        header, instructions, uops = sizes
        place = 16 + header
        end = place + instructions * INSTRUCTION_BYTES
        if data[:4] != MAGIC or header > _MOST_HEADER or len(data) != end + uops * UOP_BYTES:
            raise StepwellError(
                "bad-npu-program", None, f"no program of an npu, or a cut one: {len(data)} bytes"
            )
        try:
            facts = cast("dict[str, Any]", json.loads(data[16:place]))
            arguments = tuple((_shape(shape), _dtype(dtype)) for shape, dtype in facts["arguments"])
            name, config = facts["name"], facts["config"]
        except (ValueError, KeyError, TypeError, RecursionError):
            raise StepwellError("bad-npu-program", None, "the header of the program is wrong") from None
        if len(arguments) > _MOST_ARGUMENTS or not isinstance(name, str) or not isinstance(config, str):
            raise StepwellError("bad-npu-program", None, "the header of the program is wrong")
        return Encoded(
            name, config, arguments, tuple(decode(data[place:end])), tuple(decode_uops(data[end:]))
        )


def _shape(dims: Any) -> tuple[int, ...]:
    found = tuple(dims)
    if len(found) > _MOST_RANK or not all(type(dim) is int and 0 < dim < 1 << 31 for dim in found):
        raise ValueError
    return found


def _dtype(name: Any) -> str:
    if name not in _DTYPES:
        raise ValueError
    return name
