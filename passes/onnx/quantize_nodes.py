"""`quantize-nodes`: operands of a model's nodes are quantized as a plan says, and nothing else changes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.locations import adopt_location, node_name
from stepwell.dialects.onnx.constants import constant_of
from stepwell.dialects.onnx.marks import INITIALIZER, NODE
from stepwell.dialects.quantization.codes import codes_of
from stepwell.dialects.quantization.plan import RESULT, STORED, PlanEntry, read_plan
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.onnx.initializers import erase_unused, insert_initializer, set_value_names, value_name
from stepwell.passes.onnx.matmul_bits import replace_by_matmul_bits
from stepwell.passes.onnx.weight_forms import WeightForm
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.weight_file import read_weights
from stepwell.runtime.files.weights import WeightStore

Array = npt.NDArray[np.generic]
ANY = onnx.AnyType()


@dataclass(frozen=True)
class QuantizeNodesPass(Pass):
    """
    Put `QuantizeLinear` and `DequantizeLinear` before operands of nodes, and codes in place of weights.

    ```mlir
    %y = "onnx.MatMul"(%x, %w) {onnx.values = ["y"]} : (…) -> tensor<8x32xf32>
    // ->
    %q = "onnx.QuantizeLinear"(%x, %x_scale, %x_zero_point) : (…) -> !onnx.any
    %d = "onnx.DequantizeLinear"(%q, %x_scale, %x_zero_point) : (…) -> !onnx.any
    %v = "onnx.DequantizeLinear"(%w_quantized, %w_scale) <{axis = 1 : i64}> : (…) -> !onnx.any
    %y = "onnx.MatMul"(%d, %v) {onnx.values = ["y"]} : (…) -> tensor<8x32xf32>
    ```
    The `plan` is a file of JSON (`dialects/quantization/plan.py`): for each operand of a node its type, axis,
    block, scales and zero points. Readers of one value with the same numbers share a pair. All other nodes,
    names, functions and metadata stay as they are. `arrays` is a weight file with arrays to encode in place
    of weights, under keys `node:operand`.

    Class: approximate: the plan rounds numbers to steps, so it is in no default pipeline. Fails for a node
    that `@main` does not have, and for weights that are no initializers.
    """

    name = "quantize-nodes"
    numerics = Numerics.APPROXIMATE

    plan: str
    arrays: str = ""
    """A weight file with arrays in place of weights."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = next((f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None)
        if main is None:
            raise StepwellError(
                "no-main", op, "a quantization plan needs a function @main, and the module has none"
            )
        entries: dict[str, list[PlanEntry]] = defaultdict(list)
        for entry in read_plan(Path(self.plan)):
            entries[entry.node].append(entry)
        arrays = read_weights(self.arrays) if self.arrays else {}
        writer = _Writer(main, weights_of(ctx), arrays)
        for node in [each for each in main.body.block.ops if _name_of(each) in entries]:
            for entry in entries.pop(cast(str, _name_of(node)), ()):
                writer.quantize(node, entry)
        if entries:
            known = [name for each in main.body.block.ops if (name := _name_of(each)) is not None]
            missing = next(iter(entries))
            message = f"the plan quantizes a node {missing!r}, which @main does not have"
            raise StepwellError("bad-data", self.plan, message, help=did_you_mean(missing, known) or None)
        erase_unused(writer.replaced)


def _name_of(op: Operation) -> str | None:
    """The name of a node; None for initializers and the end of the graph."""
    if INITIALIZER in op.attributes or isinstance(op, ReturnOp):
        return None
    return node_name(op) or None


@dataclass
class _Writer:
    """Quantizes operands of one function, and remembers what can be shared."""

    main: FuncOp
    weights: WeightStore
    arrays: Mapping[str, Array]
    """Arrays to encode in place of weights, by node and operand."""
    pairs: dict[tuple[SSAValue, str, str], SSAValue] = field(
        default_factory=dict[tuple[SSAValue, str, str], SSAValue]
    )
    """Dequantized values by the value, and the type and numbers of the entry."""
    sources: dict[SSAValue, SSAValue] = field(default_factory=dict[SSAValue, SSAValue])
    """Of a dequantized value the value before quantization."""
    replaced: list[SSAValue] = field(default_factory=list[SSAValue])

    def quantize(self, node: Operation, entry: PlanEntry) -> None:
        """Quantize an operand, or the result, of a node."""
        if entry.operand == RESULT:
            self._quantize_result(node, entry)
            return
        index = int(entry.operand)
        if index >= len(node.operands):
            message = f"the plan quantizes operand {index}, and there are {len(node.operands)}"
            raise StepwellError("bad-data", node, message)
        value = self.sources.get(node.operands[index], node.operands[index])
        if entry.form == "matmulnbits":
            array = self._weight(node, value, entry)
            replace_by_matmul_bits(node, array, value_name(value), entry, self.main, self.weights)
            self.replaced.append(value)
        elif entry.form == "dynamic":
            self._form(node, value, entry).replace_by_dynamic()
            self.replaced.append(value)
        elif entry.to in STORED:
            key = value, entry.to, ""
            if key not in self.pairs:
                self.pairs[key] = self._form(node, value, entry).cast()
            node.operands[index] = self.pairs[key]
            self.replaced.append(value)
        elif entry.role in ("weight", "bias"):
            node.operands[index] = self._dequantized_weight(node, value, entry)
        else:
            node.operands[index] = self._pair(value, entry, InsertPoint.before(node), node)

    def _quantize_result(self, node: Operation, entry: PlanEntry) -> None:
        """Let all readers of a node's result but the model's outputs read it quantized."""
        value = node.results[0]
        uses = [use for use in value.uses if not isinstance(use.operation, ReturnOp)]
        made = self._pair(value, entry, InsertPoint.after(node), node)
        for use in uses:
            use.operation.operands[use.index] = made

    def _pair(self, value: SSAValue, entry: PlanEntry, point: InsertPoint, node: Operation) -> SSAValue:
        """A value quantized and dequantized, once for all readers with the same numbers."""
        key = value, entry.to, _numbers(entry)
        if key not in self.pairs:
            name = value_name(value)
            zero = entry.zero_points()
            parameters = [self._initializer(entry.scales(), f"{name}_scale")]
            zero = np.zeros((), entry.dtype) if zero is None else zero
            parameters.append(self._initializer(zero, f"{name}_zero_point"))
            codes = onnx.QuantizeLinearOp.build(
                operands=[[value], *([each] for each in parameters)], result_types=[[ANY]]
            )
            real = onnx.DequantizeLinearOp.build(
                operands=[[codes.results[0]], *([each] for each in parameters)], result_types=[[value.type]]
            )
            for made, suffix in ((codes, "quantized"), (real, "dequantized")):
                set_value_names(made, [f"{name}_{suffix}"])
                made.attributes[NODE] = StringAttr(f"{name}_{suffix}")
                adopt_location(made, node.location)
            Rewriter.insert_op([codes, real], point)
            self.pairs[key] = real.results[0]
            self.sources[real.results[0]] = value
        return self.pairs[key]

    def _dequantized_weight(self, node: Operation, value: SSAValue, entry: PlanEntry) -> SSAValue:
        """The codes of a weight, dequantized."""
        other = _key(entry) if _key(entry) in self.arrays else ""
        key = value, entry.to, _numbers(entry) + other
        if key in self.pairs:
            return self.pairs[key]
        array = self._weight(node, value, entry)
        name = value_name(value)
        operands = [
            self._initializer(codes_of(array.astype(np.float32), entry), f"{name}_quantized"),
            self._initializer(entry.scales(array.shape), f"{name}_scale"),
        ]
        if (zero := entry.zero_points(array.shape)) is not None:
            operands.append(self._initializer(zero, f"{name}_zero_point"))
        properties: dict[str, Attribute] = {}
        if entry.axis is not None:
            properties["axis"] = IntegerAttr(entry.axis, i64)
        if entry.block:
            properties["block_size"] = IntegerAttr(entry.block, i64)
        made = onnx.DequantizeLinearOp.build(
            operands=[[each] for each in operands] + [[]] * (3 - len(operands)),
            result_types=[[value.type]],
            properties=properties,
        )
        set_value_names(made, [f"{name}_dequantized"])
        made.attributes[NODE] = StringAttr(f"{name}_dequantized")
        adopt_location(made, node.location)
        Rewriter.insert_op(made, InsertPoint.before(node))
        self.pairs[key] = made.results[0]
        self.replaced.append(value)
        return made.results[0]

    def _form(self, node: Operation, value: SSAValue, entry: PlanEntry) -> WeightForm:
        """A weight to write in another form."""
        array = self._weight(node, value, entry)
        return WeightForm(node, array, value_name(value), entry, self.main, self.weights)

    def _weight(self, node: Operation, value: SSAValue, entry: PlanEntry) -> Array:
        """The array of a weight. Raises: StepwellError `unsupported` for one that is computed."""
        if (array := constant_of(value, self.weights)) is None:
            message = f"the plan quantizes operand {entry.operand} as a weight, and it is computed"
            raise StepwellError("unsupported", node, message, help="quantize it as an activation")
        other = self.arrays.get(_key(entry), array)
        if other.shape != array.shape or other.dtype != array.dtype:
            message = f"the array of {_key(entry)!r} is {other.dtype}{list(other.shape)}"
            raise StepwellError("bad-data", node, f"{message}, the weight {array.dtype}{list(array.shape)}")
        return other

    def _initializer(self, array: Array, name: str) -> SSAValue:
        return insert_initializer(self.main, array, name, self.weights)


def _key(entry: PlanEntry) -> str:
    """The key of an entry's array in a weight file."""
    return f"{entry.node}:{entry.operand}"


def _numbers(entry: PlanEntry) -> str:
    """The numbers of an entry, to compare entries."""
    return f"{entry.axis} {entry.block} {list(entry.scale)} {list(entry.zero_point)}"
