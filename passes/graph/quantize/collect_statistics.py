"""`collect-statistics`: ranges, histograms or moments of observed activations, as results of `@main`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.host import numpy_call
from stepwell.dialects.graph.observers import observers_of
from stepwell.dialects.graph_ir.state import named
from stepwell.dialects.locations import adopt_location
from stepwell.dialects.quantization.ranges import BINS
from stepwell.dialects.quantization.table import CalibrationTable, read_table
from stepwell.dialects.types import dims_of, tensor_type
from stepwell.passes.base import FunctionPass
from stepwell.passes.graph.quantize.candidates import source_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

KINDS = ("range", "histogram", "channels", "moments")
_REDUCTIONS = ("min", "max", "mean")


@dataclass(frozen=True)
class CollectStatisticsPass(FunctionPass):
    """
    Return the statistics of each observed activation after the results, and drop the observers.

    ```mlir
    %0 = graph.observe %x key "a:0" role "activation" to ui8 : tensor<8xf32> -> tensor<8xf32>
    %y = graph.relu %0 : tensor<8xf32> -> tensor<8xf32>
    // ->
    %1 = graph.reduce %x kind "min" axes [0] keep_dims false : tensor<8xf32> -> tensor<f32>
    %2 = graph.reduce %x kind "max" axes [0] keep_dims false : tensor<8xf32> -> tensor<f32>
    %3 = graph.reduce %x kind "mean" axes [0] keep_dims false : tensor<8xf32> -> tensor<f32>
    %y = graph.relu %x : tensor<8xf32> -> tensor<8xf32>
    ```
    The results are named `min a:0`, `max a:0` and `mean a:0`. With `of=histogram` each activation has one
    result, `counts a:0`: the number of elements in each of 2048 bins, over the range in the `table`. An
    activation that only moves the elements of an observed one has the same statistics.

    With `of=channels` there are results for each index of the dimension that the user of the activation sums
    over: `greatest a:0` and `magnitude a:0`, the greatest and the mean magnitude, and `average a:0`, the
    mean. With `of=moments` each activation of a product has one result, `moments a:0`: `XᵀX`, the sums of the
    products of any two channels.

    Class: exact.
    """

    name = "collect-statistics"

    of: str = "range"
    table: str = ""
    """A calibration file with the ranges of histograms."""
    keys: tuple[str, ...] = ()
    """The keys of the only observers to collect statistics of."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.of not in KINDS:
            message = f"of is {self.of!r}"
            raise StepwellError("bad-option", self.name, message, help=f"it is one of {', '.join(KINDS)}")
        if self.of == "histogram" and not self.table:
            message = "a histogram is over a range, and no `table` says which"
            raise StepwellError("bad-option", self.name, message, help="collect ranges first")
        table = read_table(Path(self.table)) if self.table else CalibrationTable()
        made: dict[tuple[SSAValue, int], Sequence[tuple[str, SSAValue]]] = {}
        results: list[tuple[str, SSAValue]] = []
        observed = {op.input for op in observers_of(func)}
        is_whole = self.of in ("range", "histogram")
        for op in observers_of(func):
            if self._is_wanted(op):
                source = source_of(op.input) if is_whole else op.input
                value = source if source in observed else op.input
                known = value, 0 if is_whole else _channel_axis(op)
                if known not in made:
                    made[known] = self._statistics(op, value, table, weights_of(ctx))
                results += [(f"{kind} {op.key.data}", each) for kind, each in made[known]]
            Rewriter.replace_op(op, [], [op.input])
        _return(func, results)

    def _is_wanted(self, op: graph.ObserveOp) -> bool:
        """Whether statistics of an observer are asked for."""
        if op.role.data not in ("activation", "result") or (self.keys and op.key.data not in self.keys):
            return False
        return self.of != "moments" or _reads_in_product(op)

    def _statistics(
        self, op: graph.ObserveOp, value: SSAValue, table: CalibrationTable, weights: WeightStore
    ) -> list[tuple[str, SSAValue]]:
        """The statistics of a value for an observer, by kind."""

        def inserted(new: Operation) -> SSAValue:
            adopt_location(new, op.location)
            Rewriter.insert_op(new, InsertPoint.before(op))
            return new.results[0]

        if self.of == "range":
            axes = range(len(dims_of(value.type)))
            return [(kind, inserted(graph.ReduceOp(value, kind, axes))) for kind in _REDUCTIONS]
        if self.of == "channels":
            axes = [i for i in range(len(dims_of(value.type))) if i != _channel_axis(op)]
            sizes = inserted(graph.AbsOp(value))
            return [
                ("greatest", inserted(graph.ReduceOp(sizes, "max", axes))),
                ("magnitude", inserted(graph.ReduceOp(sizes, "mean", axes))),
                ("average", inserted(graph.ReduceOp(value, "mean", axes))),
            ]
        if self.of == "moments":
            product = inserted(graph.MatmulOp(value, value, transpose_a=True))
            axes = range(len(dims_of(value.type)) - 2)
            return [("moments", inserted(graph.ReduceOp(product, "sum", axes)) if axes else product)]
        known = table.of(op.key.data, op)
        ends = inserted(graph.ConstantOp.of(np.array([known.min, known.max], np.float64), weights))
        type = tensor_type(i64, [BINS])
        call = numpy_call("host.histogram", {"bins": BINS}, [value, ends], [type])
        return [("counts", inserted(call))]


def _channel_axis(op: graph.ObserveOp) -> int:
    """The dimension of an activation that its readers sum over: 1 of convolutions, the last of products."""
    is_conv = any(isinstance(use.operation, graph.ConvOp | graph.ConvTransposeOp) for use in op.result.uses)
    return 1 if is_conv else len(dims_of(op.input.type)) - 1


def _reads_in_product(op: graph.ObserveOp) -> bool:
    """Whether a product reads an observer as its first factor."""
    return any(isinstance(use.operation, graph.MatmulOp) and use.index == 0 for use in op.result.uses)


def _return(func: FuncOp, results: Sequence[tuple[str, SSAValue]]) -> None:
    """Let a function return more results with names."""
    last = func.body.block.last_op
    assert isinstance(last, ReturnOp)
    attributes = list(func.res_attrs.data) if func.res_attrs is not None else []
    attributes += [DictionaryAttr({})] * (len(last.operands) - len(attributes))
    last.operands = [*last.operands, *(value for _, value in results)]
    func.properties["res_attrs"] = ArrayAttr([*attributes, *(named(name) for name, _ in results)])
    types = func.function_type.inputs.data, last.operand_types
    func.properties["function_type"] = FunctionType.from_lists(*types)
