"""`convert-graph-to-npu`: the layers of the accelerator's partitions → programs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph_ir.annotations import BACKEND
from stepwell.lowering.backends.base import Constants
from stepwell.lowering.backends.npu.layers import Layer, layer_of
from stepwell.passes.base import Pass
from stepwell.passes.context import count


@dataclass(frozen=True)
class ConvertGraphToNpuPass(Pass):
    """
    Add an `npu.program` for each composite of each function of the backend `npu`.

    ```mlir
    func.func private @npu_0(…) … attributes {graph.backend = "npu"} {
      %y = graph.composite (…) … attributes {pattern = "npu.conv2d", …} { … }
      func.return %y : tensor<1x16x6x6xui8>
    }
    // ->
    npu.program @npu_0_layer0(%x: memref<64x1x16xi8>, …) config "pynq" { … npu.finish … }
    ```
    Runs after `partition-graph`; the functions stay. Class: exact.
    """

    name = "convert-graph-to-npu"

    config: str = "pynq"
    """The configuration: pynq, ultra96, or a file of JSON."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = Constants(weights_of(ctx))
        for func in [each for each in op.ops if isinstance(each, FuncOp)]:
            if func.attributes.get(BACKEND) == StringAttr("npu"):
                for layer in layers_of(func, constants, self.config):
                    op.body.block.add_op(layer.program)
                    count("programs")


def layers_of(func: FuncOp, constants: Constants, config: str) -> Iterator[Layer]:
    """The layers of a partition in their order. Raises: StepwellError `unsupported`."""
    composites = [op for op in func.body.block.ops if isinstance(op, graph.CompositeOp)]
    for number, op in enumerate(composites):
        yield layer_of(op, constants, config, f"{func.sym_name.data}_layer{number}")
