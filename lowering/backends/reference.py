"""
The reference backend: partitions as lists of ops, run by their numpy meanings. Slow, and always available.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from stepwell.lowering.backends.base import Arrays, Backend, Constants
from stepwell.lowering.backends.program_bytes import decoded
from stepwell.runtime.backends import fill
from stepwell.runtime.dims import Dim
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.meaning import evaluate

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation

    from stepwell.runtime.machine.target import TargetDescription


class ReferenceBackend(Backend):
    """Computes every op that has a numpy meaning and no effect."""

    name = "reference"

    def supports(self, op: Operation) -> bool:
        """Whether an op has a numpy meaning, or contains only ops that do."""
        from stepwell.lowering.backends.program import is_computable

        return is_computable(op)

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """The ops as JSON, then the bytes of their constants."""
        from stepwell.lowering.backends.program import program_of

        return program_of(func, constants)

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """A function that runs the program step by step."""
        program, arrays = decoded(code)
        steps = cast("Sequence[Mapping[str, object]]", program["steps"])
        sources = cast("Mapping[str, tuple[int, int, bool]]", program["symbols"])
        results = cast("Sequence[int]", program["results"])

        def call(inputs: Arrays, outputs: list[Array]) -> None:
            symbols = {
                name: int(cast("int", inputs[value].item(index))) if element else inputs[value].shape[index]
                for name, (value, index, element) in sources.items()
            }
            values: list[Array] = [*inputs, *arrays]
            for step in steps:
                operands = [
                    None if at is None else values[at] for at in cast("list[int | None]", step["operands"])
                ]
                properties = cast("Mapping[str, object]", step["properties"])
                plain = {name: _plain(value, symbols) for name, value in properties.items()}
                values += evaluate(str(step["op"]), operands, plain)
            fill(outputs, [values[at] for at in results])

        return call


def _plain(value: object, symbols: Mapping[str, int]) -> object:
    """A property as the meanings expect it: tuples for lists, dtypes by name, dimensions as numbers."""
    if isinstance(value, list):
        return tuple(_plain(item, symbols) for item in cast("list[object]", value))
    if not isinstance(value, dict):
        return value
    tagged = cast("Mapping[str, object]", value)
    if "dtype" in tagged:
        return dtype_from_name(str(tagged["dtype"]))
    return tuple(Dim.of(text).evaluate(symbols) for text in cast("list[str]", tagged["dims"]))
