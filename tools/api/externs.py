"""`te.extern`: tensors by a loop script, or by a Python function on numpy arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from xdsl.dialects.builtin import StringAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.formula import bindings_of, sizes_attr
from stepwell.dialects.sched_kernel import symbols_of
from stepwell.dialects.types import tensor_type
from stepwell.frontend.script.functions import kernel_of
from stepwell.frontend.te.functions import dtype_named
from stepwell.frontend.te.opaque import OpaqueStage
from stepwell.frontend.te.places import FormulaError, user_place
from stepwell.frontend.te.scalar_code import element_named
from stepwell.frontend.te.tensors import SizeLike, Tensor, dim_of
from stepwell.runtime.dims import Dim
from stepwell.runtime.ffi.python_functions import payload, register
from stepwell.runtime.host import PYTHON
from stepwell.tools.api.loop_scripts import Script

Shape = Sequence[SizeLike]


def extern(
    shapes: Sequence[Shape] | Shape | None,
    inputs: Sequence[Tensor],
    f: Script | Callable[..., Any],
    *,
    dtype: str | Sequence[str] = "float32",
    name: str | None = None,
) -> Any:
    """
    Tensors that no formula says.

    Args: `f` is a loop script, whose parameters are the inputs and the results, and which is a kernel; or a
    function on numpy arrays that returns an array of each shape, and is called between kernels. `shapes` is a
    shape, or a list of several; None for a script. `dtype` is the type of a function's results, or the types.
    Raises: StepwellError `te-type`, `te-operator`.
    """
    if isinstance(f, Script):
        stage: OpaqueStage = _ScriptStage(name or f.name, f, inputs)
        _expect_shapes(shapes, stage)
    else:
        given = _shapes(shapes)
        types = [dtype] * len(given) if isinstance(dtype, str) else list(dtype)
        if not callable(f) or len(types) != len(given):
            raise FormulaError(
                "te-operator", f"te.extern has {len(given)} shapes, {len(types)} types and {f!r}"
            )
        results = [(dims, dtype_named(each)) for dims, each in zip(given, types, strict=True)]
        stage = _HostStage(name or getattr(f, "__name__", "extern"), f, inputs, results)
    return stage.outputs[0] if len(stage.outputs) == 1 else stage.outputs


def _shapes(shapes: Sequence[Shape] | Shape | None) -> list[tuple[Dim, ...]]:
    """The shapes of results, of which a single one need not be in a list."""
    if shapes is None:
        raise FormulaError("te-operator", "the results of a function have shapes: te.extern((8,), …)")
    several = [each for each in shapes if isinstance(each, tuple | list)]
    given = several if several and len(several) == len(shapes) else [shapes]
    return [tuple(dim_of(size) for size in cast("Sequence[object]", each)) for each in given]


def _expect_shapes(shapes: Sequence[Shape] | Shape | None, stage: OpaqueStage) -> None:
    found = [tensor.dims for tensor in stage.outputs]
    if shapes is not None and _shapes(shapes) != found:
        text = ["x".join(map(str, dims)) for dims in found]
        raise FormulaError("te-operator", f"the results of {stage.name} are {', '.join(text)}")


class _ScriptStage(OpaqueStage):
    """A computation by a loop script."""

    def __init__(self, name: str, script: Script, inputs: Sequence[Tensor]):
        self._script, self._inputs = script, inputs
        _, self._parameters, self._results = kernel_of(script.source)
        bound = self._bound()
        results = [
            (tuple(dim.substitute(bound) for dim in tensor.dims), tensor.dtype) for tensor in self._results
        ]
        super().__init__(name, inputs, results, user_place())

    def _bound(self) -> dict[str, Dim]:
        """The sizes of the script as those of the inputs. Raises: StepwellError `te-type`."""
        wanted, given = self._parameters, self._inputs
        if len(wanted) != len(given):
            names = ", ".join(tensor.name for tensor in wanted)
            raise FormulaError("te-type", f"{self._script.name} takes {names}, found {len(given)} tensors")
        bound: dict[str, Dim] = {}
        for parameter, tensor in zip(wanted, given, strict=True):
            fits = parameter.dtype == tensor.dtype and parameter.ndim == tensor.ndim
            for own, dim in zip(parameter.dims, tensor.dims, strict=False):
                known = bound.setdefault(str(own), dim) if not own.is_static else own
                fits = fits and known == dim
            if not fits:
                raise FormulaError("te-type", f"{parameter!r} of {self._script.name} is no {tensor!r}")
        return bound

    def op(self, values: Mapping[Tensor, SSAValue]) -> Operation:
        module = self._script.lower().op
        kernel = next(op for op in module.ops if isinstance(op, FuncOp) and op.sym_name.data != "main")
        names, body = list(symbols_of(kernel)), kernel.detach_region(kernel.body)
        last = body.block.last_op
        assert last is not None
        results = list(last.operands)
        last.detach()
        last.erase()
        body.block.add_op(graph.YieldOp(results))
        return graph.NestOp(
            self.name,
            [values[tensor] for tensor in self._inputs],
            [tensor.dims for tensor in self._parameters],
            names,
            [(element_named(tensor.dtype), tensor.dims) for tensor in self._results],
            body,
        )


class _HostStage(OpaqueStage):
    """A computation by a function on numpy arrays."""

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        inputs: Sequence[Tensor],
        results: Sequence[tuple[tuple[Dim, ...], str]],
    ):
        super().__init__(name, inputs, results, user_place())
        self._inputs, self._callee = inputs, register(function)

    def op(self, values: Mapping[Tensor, SSAValue]) -> Operation:
        given = [values[tensor] for tensor in self._inputs]
        bound = bindings_of(given, [sizes_attr(tensor.dims) for tensor in self._inputs])
        types = [
            tensor_type(element_named(tensor.dtype), [dim.substitute(bound) for dim in tensor.dims])
            for tensor in self.outputs
        ]
        return graph.HostCallOp(PYTHON, self.name, StringAttr(payload(self._callee)), given, types)
