"""Calls of the host, on the interpreter's values; the sizes that they define are symbols from then on."""

from __future__ import annotations

from typing import cast

from xdsl.dialects.builtin import TensorType

from stepwell.dialects import graph
from stepwell.dialects.graph.host import payload_bytes
from stepwell.dialects.graph.symbols import defined_symbols
from stepwell.dialects.types import Tensor, dims_of
from stepwell.lowering.interpret.engine import Compiler, Frame, Step, Value, implements_in_frame
from stepwell.lowering.main_to_buffers import signature_of
from stepwell.runtime.errors import describe_location
from stepwell.runtime.host import Callee, host_failure, load_callee


@implements_in_frame("graph.host_call")
def prepare_host_call(op: graph.HostCallOp, compiler: Compiler) -> Step:
    """A host call: its Python function computes every result and defines the symbols of their sizes."""
    code = payload_bytes(op, compiler.machine.weights)
    callee = Callee(op.kind.data, op.callee.data, code, (), (), describe_location(op))
    function = load_callee(callee)
    names = [name for name, _ in defined_symbols(op)]

    def run(frame: Frame, *values: Value) -> Value:
        outputs: list[object] = [None] * len(op.values)
        try:
            function(values, outputs)
        except Exception as error:
            failure = host_failure(callee, error)
            raise failure from (None if failure is error else error)
        sizes = _sizes_of(op, outputs)
        frame.scope.symbols |= {name: sizes[name] for name in names}
        results = [*outputs, *(sizes[name] for name in names)]
        return results[0] if len(results) == 1 else tuple(results)

    return run


def _sizes_of(op: graph.HostCallOp, outputs: list[object]) -> dict[str, int]:
    """The sizes of result dimensions that are plain names."""
    sizes: dict[str, int] = {}
    for type, output in zip(signature_of(op).outputs, outputs, strict=False):
        if isinstance(type, TensorType):
            shape = cast("tuple[int, ...]", getattr(output, "shape", ()))
            sizes |= {str(dim): n for dim, n in zip(dims_of(cast(Tensor, type)), shape, strict=True)}
    return sizes
