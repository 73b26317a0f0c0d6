"""Plans of a quantization: the quantized operands of nodes, their scales and zero points; JSON files."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from math import isfinite, prod
from pathlib import Path
from typing import Any, TypeAlias

import ml_dtypes
import numpy as np
import numpy.typing as npt

from stepwell.dialects.quantization.json_files import VERSION, read_json
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import write_text
from stepwell.runtime.json_values import as_list, as_mapping, as_size, as_text

FORMAT = "stepwell-quantization-plan"
MAX_FILE_BYTES = 256 << 20
RESULT = "result"
"""The operand of an entry that is of a node's first output."""
TYPES: Mapping[str, npt.DTypeLike] = {
    "u8": np.uint8,
    "s8": np.int8,
    "s32": np.int32,
    "u4": ml_dtypes.uint4,
    "s4": ml_dtypes.int4,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8": ml_dtypes.float8_e4m3fn,
}
STORED = ("f16", "bf16")
"""The types of weights that are cast, without a scale."""
FORMS = ("qdq", "matmulnbits", "dynamic")
Array: TypeAlias = npt.NDArray[np.generic]


@dataclass(frozen=True)
class PlanEntry:
    """
    A quantized operand of a node: its type, and a scale and a zero point for each index of `axis`.

    Without `axis` there is a single scale; with `block`, one for each block of so many indices. `operand` is
    a position, or `result`.
    """

    node: str
    operand: str
    role: str
    to: str
    scale: Sequence[float]
    zero_point: Sequence[int] = ()
    axis: int | None = None
    block: int = 0
    form: str = "qdq"

    @property
    def dtype(self) -> np.dtype[np.generic]:
        """The element type of the codes."""
        return np.dtype(TYPES[self.to])

    def scales(self, shape: Sequence[int] = ()) -> npt.NDArray[np.float32]:
        """The scales of a tensor of `shape`: a scalar, with `axis` a vector, with `block` of its rank."""
        return self._shaped(np.asarray(self.scale, np.float32), shape)

    def zero_points(self, shape: Sequence[int] = ()) -> Array | None:
        """The zero points as an array like the scales; None where they are zero."""
        if not self.zero_point:
            return None
        return self._shaped(np.asarray(self.zero_point, np.int32).astype(self.dtype), shape)

    def _shaped(self, numbers: npt.NDArray[Any], shape: Sequence[int]) -> npt.NDArray[Any]:
        """Scales or zero points reshaped for a tensor of `shape`. Raises: StepwellError `bad-data`."""
        wanted: list[int] = []
        if self.axis is not None:
            if self.axis >= len(shape):
                raise self._wrong(f"axis {self.axis} is none of a tensor of shape {list(shape)}")
            wanted = [
                -(-size // self.block) if i == self.axis and self.block else size
                for i, size in enumerate(shape)
            ]
            wanted = wanted if self.block else [shape[self.axis]]
        if numbers.size != prod(wanted):
            raise self._wrong(f"{prod(wanted)} scales or zero points are expected, found {numbers.size}")
        return numbers.reshape(wanted)

    def spread(self, numbers: npt.NDArray[Any], shape: Sequence[int]) -> npt.NDArray[Any]:
        """Scales or zero points in a shape that broadcasts to the tensor's; those of blocks are repeated."""
        if self.axis is None:
            return numbers
        if not self.block:
            return numbers.reshape([-1 if i == self.axis else 1 for i in range(len(shape))])
        repeated = np.repeat(numbers, self.block, self.axis)
        return repeated[(*[slice(None)] * self.axis, slice(shape[self.axis]))]

    def _wrong(self, message: str) -> StepwellError:
        return StepwellError("bad-data", f'plan: node "{self.node}", operand {self.operand}', message)

    def to_json(self) -> dict[str, Any]:
        """The entry as JSON, without what is the default."""
        defaults = {"zero_point": (), "axis": None, "block": 0, "form": "qdq"}
        return {k: v for k, v in asdict(self).items() if k not in defaults or v != defaults[k]}


def write_plan(path: Path, entries: Sequence[PlanEntry]) -> None:
    """Write a plan. Raises: StepwellError `cannot-write`."""
    lines = ",\n".join(f"  {json.dumps(each.to_json())}" for each in entries)
    head = json.dumps({"format": FORMAT, "version": VERSION})
    write_text(path, head[:-1] + f', "entries": [\n{lines}\n]}}\n')


def read_plan(path: Path) -> list[PlanEntry]:
    """The entries of a plan. Raises: StepwellError `no-file`, `bad-data`."""

    def entries(about: Mapping[str, object]) -> list[PlanEntry]:
        return [_entry(as_mapping(each)) for each in as_list(about.get("entries"))]

    return read_json(path, FORMAT, MAX_FILE_BYTES, "plan of quantization", entries)


def _entry(about: Mapping[str, object]) -> PlanEntry:
    """The entry in a JSON object. Raises: TypeError, ValueError."""
    axis = about.get("axis")
    to = as_text(about.get("to"))
    if to not in TYPES:
        raise ValueError(f"there is no type {to!r}, only {', '.join(TYPES)}")
    operand = as_text(about.get("operand"))
    if operand != RESULT and not operand.isdecimal():
        raise ValueError(f"an operand is a number or `{RESULT}`, found {operand!r:.40}")
    if (form := as_text(about.get("form", "qdq"))) not in FORMS:
        raise ValueError(f"there is no form {form!r}, only {', '.join(FORMS)}")
    return PlanEntry(
        as_text(about.get("node")),
        operand,
        as_text(about.get("role", "activation")),
        to,
        [_scale(each) for each in as_list(about.get("scale"))],
        [_code(each, to) for each in as_list(about.get("zero_point", []))],
        None if axis is None else as_size(axis),
        as_size(about.get("block", 0)),
        form,
    )


def _scale(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not isfinite(value):
        raise TypeError(f"a scale is a finite number, found {value!r:.40}")
    return float(value)


def _code(value: object, to: str) -> int:
    if to in ("f8", *STORED):
        raise ValueError(f"{to} has no zero point")
    info: Any = ml_dtypes.iinfo(np.dtype(TYPES[to]))
    if type(value) is not int or not info.min <= value <= info.max:
        raise ValueError(f"a zero point of {to} is from {info.min} to {info.max}, found {value!r:.40}")
    return value
