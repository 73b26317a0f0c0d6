"""Meanings of kernels: the body of a kernel at each level, run by the interpreter on arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.ir import Attribute, Block, Region, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.graph.host import is_opaque
from stepwell.lowering.interpret import Noise, Program, interpret
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.runtime.interface import Array

LEVELS = ("native", "graph", "linalg", "vector", "loops")
"""Levels that a kernel can be run at: compiled, and those of the interpreter."""
_TO_LEVEL: Mapping[str, Sequence[str]] = {
    "linalg": (),
    "vector": (SCHEDULE_PIPELINE,),
    "loops": (SCHEDULE_PIPELINE, LOOP_PIPELINE),
}
_NAME = "kernel"


class KernelBody:
    """The ops of a kernel of level 1, each with its numpy meaning."""

    def __init__(self, kernel: graph.FusedOp, ctx: StepwellContext, changed: Sequence[SSAValue] = ()):
        """
        The body of a kernel, as a function.

        Args: `changed` are values of the body that are inputs too, after the kernel's own.
        Raises: StepwellError `unsupported-op` for an op that the interpreter cannot run.
        """
        types = [*kernel.body.block.arg_types, *(value.type for value in changed)]
        block = Block(arg_types=types)
        own, given = block.args[: -len(changed) or None], block.args[len(types) - len(changed) :]
        cloned: dict[SSAValue, SSAValue] = dict(zip(kernel.body.block.args, own, strict=True))
        for op in kernel.body.block.ops:
            if not isinstance(op, graph.YieldOp):
                block.add_op(copy := op.clone(cloned))
                cloned |= zip(op.results, copy.results, strict=True)
                cloned |= {old: new for old, new in zip(changed, given, strict=True) if old.owner is op}
        yielded = kernel.body.block.last_op
        assert yielded is not None
        self.values = [
            result for op in kernel.body.block.ops for result in op.results if _is_array(result.type)
        ]
        """The values of the body that are arrays, in order."""
        self.outputs = yielded.operands
        returned = [*self.values, *self.outputs]
        block.add_op(func.ReturnOp(*(cloned[value] for value in returned)))
        types = block.arg_types, [value.type for value in returned]
        function = func.FuncOp(_NAME, types, Region(block))
        self._module, self._ctx = ModuleOp([function]), ctx
        self._program = Program(self._module, ctx, _NAME)

    def __call__(
        self, inputs: Sequence[Array], sizes: Mapping[str, int]
    ) -> tuple[dict[SSAValue, Array], list[Array]]:
        """
        The values of the body by result, and the kernel's outputs.

        Args: `inputs` are the kernel's, then the changed values; `sizes` are the values of symbols.
        Raises: StepwellError `run-time` of an op.
        """
        found = self._program(inputs, sizes)
        count = len(self.values)
        return dict(zip(self.values, found[:count], strict=True)), found[count:]

    def with_noise(self, inputs: Sequence[Array], sizes: Mapping[str, int], seed: int) -> list[Array]:
        """The outputs where each op rounds otherwise: a sum near a half may become another quantized step."""
        program = Program(self._module, self._ctx, _NAME, noise=Noise(seed))
        return program(inputs, sizes)[len(self.values) :]


def _is_array(type: Attribute) -> bool:
    return type.name == TensorType.name and not is_opaque(type)


def run_at_level(
    functions: ModuleOp, ctx: StepwellContext, name: str, level: str, inputs: Sequence[Array]
) -> list[Array]:
    """
    The outputs of a kernel function, lowered to a level and interpreted.

    Args: `functions` are those of level 2; they are not changed.
    Raises: StepwellError of a pass or op; `bad-inputs` for inputs that do not fit.
    """
    module = functions.clone()
    for op in list(module.ops):
        if isinstance(op, func.FuncOp) and op.sym_name.data == "main":
            op.detach()
            op.erase()
    for pipeline in _TO_LEVEL[level]:
        run_pipeline(module, pipeline, ctx)
    return interpret(module, ctx, name, inputs)
