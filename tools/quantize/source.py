"""The model to quantize on level 0, at the opset of the scheme, and programs made of it."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation
from xdsl.passes import ModulePass

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.locations import node_name
from stepwell.dialects.onnx.marks import INITIALIZER
from stepwell.frontend import export_onnx, import_onnx
from stepwell.passes import run_pipeline
from stepwell.passes.registry import load_pass
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Interface
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.compile import TURN
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.model_interface import read_interface
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.program import Program

if TYPE_CHECKING:
    from onnx import ModelProto

_QUANTIZED = ("QuantizeLinear", "DequantizeLinear", "QLinearConv", "QLinearMatMul", "MatMulNBits")
_INTEGER = ("ConvInteger", "MatMulInteger", "DynamicQuantizeLinear")


class Source:
    """
    A model of level 0 with folded batch normalization.

    Args: `model` is a path, bytes or a message; `opset` is the least that is written.
    Raises: StepwellError of reading, `already-quantized`, `unknown-opset`.
    """

    def __init__(self, model: str | Path | bytes | ModelProto, opset: int, options: CompileOptions):
        self.options = options
        self.name = Path(model).name if isinstance(model, str | Path) else "model"
        file = Path(model).read_bytes() if isinstance(model, str | Path) and Path(model).is_file() else None
        data = file if file is not None else model
        self.hash = hashlib.blake2b(_bytes(data), digest_size=16).hexdigest()
        self._ctx = StepwellContext()
        self._module = import_onnx(model, self._ctx)
        _expect_floats(self._module)
        if (found := _opset(self._module)) < opset:
            self._module = import_onnx(_at_opset(model, found, opset), self._ctx)
        with TURN, collector_paused():
            run_pipeline(self._module, "fold-batch-norm", self._ctx)
        self.interface: Interface = read_interface(main_of(self._module))

    def level_0(self) -> Program:
        """A copy of the model on level 0."""
        return Program(self._module, self._ctx).copy()

    def level_1(self, *passes: ModulePass) -> Program:
        """A copy of the model on level 1, after passes."""
        program = self.level_0()
        with TURN, collector_paused():
            run_pipeline(program.module, ["convert-onnx-to-graph", *passes], program.ctx)
        return program

    @property
    def weights(self) -> WeightStore:
        """The store of the model's weights."""
        return self._ctx.weights

    def original(self) -> ModelProto:
        """The model without a plan, as a file has it."""
        return export_onnx(self._module, self._ctx)

    def with_factors(self, factors: Path) -> Source:
        """The model with activations of products divided by factors of channels (`scale-channels`)."""
        program = self.level_0()
        with TURN, collector_paused():
            run_pipeline(program.module, [made_pass("scale-channels", factors=str(factors))], program.ctx)
        made = copy(self)
        made._module, made._ctx = program.module, program.ctx
        return made

    def written(self, plan: Path, arrays: Path) -> ModelProto:
        """The model with a plan, and arrays in place of weights, as a file has it."""
        program = self.level_0()
        with TURN, collector_paused():
            quantize = made_pass("quantize-nodes", plan=str(plan), arrays=str(arrays))
            run_pipeline(program.module, [quantize], program.ctx)
            return export_onnx(program.module, program.ctx)

    def compiled(self, model: Program | ModelProto, threads: int | None, **options: Any) -> CompiledModel:
        """A program compiled to run."""
        chosen = self.options if not options else CompileOptions(**(vars(self.options) | options))
        return compile_model(cast("Any", model), chosen, threads=threads)

    def nodes(self) -> Mapping[str, Operation]:
        """The nodes of the main graph by name; those that share a name with another are left out."""
        found = [(node_name(op), op) for op in main_of(self._module).body.block.ops]
        nodes = [(name, op) for name, op in found if name and INITIALIZER not in op.attributes]
        counts = Counter(name for name, _ in nodes)
        return {name: op for name, op in nodes if counts[name] == 1}


def made_pass(name: str, **options: object) -> ModulePass:
    """A pass by name, with options as Python values."""
    maker: Callable[..., ModulePass] = load_pass(name)
    return maker(**options)


def operator_of(op: Operation) -> str:
    """The operator of a node, as ONNX calls it."""
    return op.op_type.data if isinstance(op, onnx.CallOp) else op.name.rpartition(".")[2]


def _bytes(data: object) -> bytes:
    return data if isinstance(data, bytes) else cast("ModelProto", data).SerializeToString()


def _opset(module: ModuleOp) -> int:
    from stepwell.frontend.functions import opsets_of

    return opsets_of(module.attributes).get("", 1)


def _expect_floats(module: ModuleOp) -> None:
    """Refuse a model that is quantized already. Raises: StepwellError `already-quantized`."""
    found: Sequence[Operation] = [
        op
        for op in module.walk()
        if op.name.startswith("onnx.") and operator_of(op) in (*_QUANTIZED, *_INTEGER)
    ]
    if found:
        kind = operator_of(found[0])
        count = sum(operator_of(op) == kind for op in found)
        message = f'{count} {kind} nodes, first "{node_name(found[0])}"'
        raise StepwellError("already-quantized", found[0], message, help="compile it as it is")


def _at_opset(model: str | Path | bytes | ModelProto, found: int, wanted: int) -> bytes:
    """The file at a newer opset. Raises: StepwellError `unknown-opset`."""
    import onnx as onnx_package
    from onnx import version_converter

    api: Any = onnx_package
    if isinstance(model, str | Path):
        model = cast("ModelProto", api.load(str(model)))
    elif isinstance(model, bytes):
        model = cast("ModelProto", api.load_from_string(model))
    try:
        converter: Any = version_converter
        return converter.convert_version(model, wanted).SerializeToString()
    except Exception as error:
        message = f"the model has opset {found}, and {wanted} is needed: onnx cannot convert it: {error}"
        raise StepwellError("unknown-opset", None, message, help=f"export it at opset {wanted}") from None
