"""`te.operator`: operators of other ONNX domains by a formula, registered with `onnx_op`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

from stepwell.frontend.te.places import FormulaError
from stepwell.frontend.te.tensors import UNNAMED, Tensor
from stepwell.runtime.dims import Dim

if TYPE_CHECKING:
    import inspect

    from xdsl.ir import SSAValue
    from xdsl.pattern_rewriter import PatternRewriter

FormulaT = TypeVar("FormulaT", bound=Callable[..., object])


def operator(domain: str, name: str, *, since: int = 1, **defaults: object) -> Callable[[FormulaT], FormulaT]:
    """
    Register a function on tensors as an operator of another ONNX domain.

    It decorates a function whose positional parameters are the inputs, as `te.placeholder` makes them, and
    whose keyword-only parameters are the attributes of a node; it returns the tensors of the outputs.

    Args: `since` is the first opset of the domain with this meaning; `defaults` are the default values of
    attributes.
    Raises: StepwellError `bad-plugin`, `name-taken`.
    """

    from stepwell.dialects.plugins.operators import onnx_op

    def decorate(function: FormulaT) -> FormulaT:
        onnx_op(domain, name, since=since)(_lowering(function, name, defaults))
        return function

    return decorate


def _lowering(
    function: Callable[..., object], name: str, defaults: dict[str, object]
) -> Callable[..., list[SSAValue]]:
    """The lowering of a node: the function runs on tensors of the types of its inputs."""

    from stepwell.frontend.te.to_graph import emit

    @wraps(function)
    def lower(rewriter: PatternRewriter, *inputs: SSAValue | None, **attributes: object) -> list[SSAValue]:
        tensors = tensors_of(function, inputs)
        returned = function(*tensors, **{**defaults, **attributes})
        outputs = tensors_returned(returned, function, name)
        given = {t: v for t, v in zip(tensors, inputs, strict=True) if t is not None and v is not None}
        return emit(outputs, given, rewriter.insert)

    cast("Any", lower).__signature__ = _signature(function, defaults)
    return lower


def _signature(function: Callable[..., object], defaults: dict[str, object]) -> inspect.Signature:
    """The signature of a lowering: that of the function, with defaults, after the rewriter."""
    import inspect

    given = inspect.signature(function).parameters
    if unknown := [name for name in defaults if name not in given]:
        message = f"te.operator has a default for `{unknown[0]}`, which the function does not take"
        raise FormulaError("te-operator", message, where=place(function))
    first = inspect.Parameter("rewriter", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [p.replace(default=defaults[p.name]) if p.name in defaults else p for p in given.values()]
    return inspect.Signature([first, *own])


def place(function: object) -> str:
    """The file and line of a function."""
    from stepwell.runtime.plugins import place_of

    return place_of(function)


def tensors_of(function: Callable[..., object], inputs: Sequence[SSAValue | None]) -> list[Tensor | None]:
    """Placeholders for the inputs of a node; equal dimensions that are no symbols share a new one."""
    from inspect import signature

    from xdsl.dialects.builtin import TensorType

    from stepwell.dialects.types import dims_of, dtype_of, tensor_of

    names = [p.name for p in signature(function).parameters.values()]
    fresh: dict[Dim, str] = {}
    tensors: list[Tensor | None] = []
    for position, value in enumerate(inputs):
        if value is None:
            tensors.append(None)
            continue
        if not isinstance(value.type, TensorType):
            message = f"input {position} is no tensor of known rank: {value.type}"
            raise FormulaError("te-operator", message, where=place(function))
        name = names[min(position, len(names) - 1)]
        dims = [_own(dim, fresh, f"{name}_{axis}") for axis, dim in enumerate(dims_of(tensor_of(value)))]
        tensors.append(Tensor(name, tuple(dims), dtype_of(tensor_of(value).element_type).name))
    return tensors


def _own(dim: Dim, fresh: dict[Dim, str], name: str) -> Dim:
    """A dimension as the formula sees it: a number, or a symbol for any other."""
    if dim.is_static or (not dim.is_unknown and str(dim).isidentifier()):
        return dim
    if dim.is_unknown:
        return Dim.symbol(name)
    return Dim.symbol(fresh.setdefault(dim, name))


def tensors_returned(returned: object, function: Callable[..., object], name: str) -> list[Tensor]:
    """The tensors that a function returned. Raises: StepwellError `te-operator`."""
    outputs = cast("Sequence[object]", returned) if isinstance(returned, tuple | list) else [returned]
    wrong = next((output for output in outputs if not isinstance(output, Tensor)), None)
    if wrong is not None or not outputs:
        found = "nothing" if returned is None else repr(cast("object", returned))
        raise FormulaError(
            "te-operator",
            f"the function of {name} returns {found}, expected tensors of te.compute",
            where=place(function),
        )
    tensors = cast("list[Tensor]", list(outputs))
    for stage in (tensor.stage for tensor in tensors):
        if stage is not None and stage.name == UNNAMED:
            stage.rename(name)
    return tensors
