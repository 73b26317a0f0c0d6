"""The base class of patterns whose shapes or axes may be data."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import SSAValue

from stepwell.dialects import onnx
from stepwell.dialects.advice import on_open_size
from stepwell.lowering.onnx_to_graph.run_time_numbers import Numbers
from stepwell.lowering.onnx_to_graph.shape_values import ShapeLowering
from stepwell.lowering.onnx_to_graph.support import normalized_axis, shape_of
from stepwell.lowering.to_graph import Value
from stepwell.passes.analysis.symbolic_values import symbolic_dims
from stepwell.runtime.errors import StepwellError


class RunTimeLowering(ShapeLowering):
    """A pattern with a second conversion for parameters that are data."""

    def is_data(self, op: onnx.OnnxOp, value: SSAValue) -> bool:
        """
        Whether an integer parameter is known at run time only.

        Raises: StepwellError `unsupported-dynamic-rank` when not even its length is known before.
        """
        dims = symbolic_dims(value, self.weights)
        if dims is not None and not any(dim.is_unknown for dim in dims):
            return False
        if not all(dim.is_static for dim in shape_of(value, op)):
            raise StepwellError(
                "unsupported-dynamic-rank",
                op,
                f"{op.op_type}: a parameter has a length that is known at run time only",
                help=f"simplify the model's shape arithmetic, or {on_open_size(op)}",
            )
        return True

    def axes(
        self, op: onnx.OnnxOp, given: SSAValue | None, count: int, rank: int, numbers: Numbers
    ) -> tuple[Value, Sequence[int]]:
        """Axes as data, and the axes that they may be; the first `count` ones if none are given."""
        if given is None:
            return numbers.of(list(range(count))), range(count)
        known = self.integers(given)
        touched = range(rank) if known is None else [normalized_axis(axis, rank, op) for axis in known]
        return numbers.of(given), touched
