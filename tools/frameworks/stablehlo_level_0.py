"""Programs of StableHLO on level 0 computed by JAX: the reference for their conversion."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, cast

import numpy as np
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

from stepwell.dialects.foreign import ForeignOp
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.frontend.stablehlo.jax_functions import jax_package
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.interface import Array
from stepwell.tools.frameworks.level_0 import Run

_SAME = (
    "abs add atan2 cbrt ceil clamp erf floor is_finite log logistic rsqrt select shift_left "
    "shift_right_arithmetic shift_right_logical sign sqrt tan tanh"
).split()
_OTHER_NAMES: Mapping[str, str] = {
    "and": "bitwise_and",
    "cosine": "cos",
    "divide": "div",
    "exponential": "exp",
    "exponential_minus_one": "expm1",
    "log_plus_one": "log1p",
    "maximum": "max",
    "minimum": "min",
    "multiply": "mul",
    "negate": "neg",
    "not": "bitwise_not",
    "or": "bitwise_or",
    "power": "pow",
    "remainder": "rem",
    "sine": "sin",
    "subtract": "sub",
    "xor": "bitwise_xor",
}
_ELEMENTWISE = {name: name for name in _SAME} | dict(_OTHER_NAMES)
"""The functions of `jax.lax` whose arguments are the operands alone."""
_COMBINED = {"add": "add", "mul": "mul", "max": "max", "min": "min", "and": "bitwise_and", "or": "bitwise_or"}
_GROUP = re.compile(r"\[([^\]]*)\]")


class JaxRun(Run):
    """A run whose values are arrays of JAX, computed op by op with types of 64 bits."""

    TOOL: ClassVar[str] = "jax"

    def __init__(self, function: FuncOp, weights: WeightStore):
        """Raises: StepwellError `missing-package`."""
        super().__init__(function, weights)
        self._jax = jax_package()

    def results(self, inputs: Sequence[Array]) -> list[Array]:
        """The values that the function returns."""
        with self._jax.enable_x64(True):
            return super().results(inputs)

    def value(self, array: Array) -> Any:
        """An array of JAX."""
        return self._jax.numpy.asarray(array)

    def array(self, value: Any) -> Array:
        """The elements of an array."""
        return np.asarray(value)

    def called(self, op: Operation, operands: Sequence[Any]) -> Sequence[Any]:
        """The results of an operator."""
        name = op.SIGNATURE.name if isinstance(op, ForeignOp) else ""
        if name in _ELEMENTWISE:
            return [getattr(self._jax.lax, _ELEMENTWISE[name])(*operands)]
        if not isinstance(op, ForeignOp) or name not in _CALLS:
            raise StepwellError("unsupported-op", op, f"jax does not run {op.name}")
        made = _CALLS[name](_Call(self, op, operands, self._jax))
        return cast("list[Any]", made) if isinstance(made, list) else [made]


class _Call:
    """A call under evaluation."""

    def __init__(self, run: JaxRun, op: ForeignOp, operands: Sequence[Any], jax: Any):
        self.operands, self.lax, self.numpy = operands, jax.lax, jax.numpy
        self.jax, self._op, self._run = jax, op, run

    @property
    def x(self) -> Any:
        """The first operand."""
        return self.operands[0]

    @property
    def shape(self) -> tuple[int, ...]:
        """The sizes of the first result."""
        return self._run.shape(self._op.results[0])

    @property
    def dtype(self) -> Any:
        """The type of the first result."""
        return dtype_of(tensor_of(self._op.results[0]).element_type)

    def dtypes(self) -> list[Any]:
        """The types of all results."""
        return [dtype_of(tensor_of(result).element_type) for result in self._op.results]

    def value(self, name: str) -> Any:
        """An argument that is no operand."""
        return self._op.value(name)

    def numbers(self, name: str) -> list[int]:
        """A list of numbers."""
        return [int(each) for each in self.value(name)]

    def given(self, name: str, count: int, default: int) -> list[int]:
        """A list of numbers, equal ones where the call has none."""
        return self.numbers(name) or [default] * count

    def pairs(self, name: str, count: int) -> list[tuple[int, int]]:
        """Numbers in pairs, zeros where the call has none."""
        found = self.given(name, 2 * count, 0)
        return list(zip(found[::2], found[1::2], strict=True))

    def tensors(self, name: str) -> list[Any]:
        """The operands of a list."""
        numbers = {value: number for number, value in enumerate(self._op.operands)}
        return [self.operands[numbers[value]] for value in self._op.tensors(name) if value is not None]

    def unsupported(self, what: str) -> StepwellError:
        """The error for a call that JAX's functions do not compute."""
        return StepwellError("unsupported-op", self._op, f"jax does not run {self._op.name} with {what}")


def _compare(call: _Call) -> Any:
    if str(call.value("compare_type")) == "TOTALORDER" and call.numpy.issubdtype(
        call.x.dtype, call.numpy.floating
    ):
        raise call.unsupported("a total order of floats")
    return getattr(call.lax, str(call.value("comparison_direction")).lower())(*call.operands)


def _convert(call: _Call) -> Any:
    return call.lax.convert_element_type(call.x, call.dtype)


def _cholesky(call: _Call) -> Any:
    factor = call.lax.linalg.cholesky
    if call.value("lower"):
        return factor(call.x, symmetrize_input=False)
    return call.numpy.swapaxes(factor(call.numpy.swapaxes(call.x, -1, -2), symmetrize_input=False), -1, -2)


def _convolution(call: _Call) -> Any:
    x, filter = call.operands
    groups = _GROUP.findall(str(call.value("dimension_numbers")))
    specs = [_axes(text, letters) for text, letters in zip(groups, ("bf", "oi", "bf"), strict=True)]
    flags = zip(specs[1][2:], call.value("window_reversal") or (), strict=False)
    if turned := [axis for axis, flag in flags if flag]:
        filter = call.lax.rev(filter, turned)
    spatial = x.ndim - 2
    return call.lax.conv_general_dilated(
        x,
        filter,
        call.given("window_strides", spatial, 1),
        call.pairs("padding", spatial),
        call.given("lhs_dilation", spatial, 1),
        call.given("rhs_dilation", spatial, 1),
        call.lax.ConvDimensionNumbers(*specs),
        int(call.value("feature_group_count")),
        int(call.value("batch_group_count")),
        preferred_element_type=call.dtype,
    )


def _axes(text: str, letters: str) -> tuple[int, ...]:
    """The positions of two letters, then of the spatial dimensions, in text such as `b, 0, 1, f`."""
    names = [each.strip() for each in text.split(",")]
    return tuple(map(names.index, [*letters, *map(str, range(len(names) - 2))]))


def _dot_general(call: _Call) -> Any:
    sides = [
        tuple(call.numbers(f"{side}_{kind}_dimensions") for side in ("lhs", "rhs"))
        for kind in ("contracting", "batching")
    ]
    return call.lax.dot_general(*call.operands, tuple(sides), preferred_element_type=call.dtype)


def _with_last(indices: Any, axis: int, numpy: Any) -> Any:
    """Indices whose last axis has the parts of each."""
    return indices[..., None] if axis == indices.ndim else numpy.moveaxis(indices, axis, -1)


def _gather(call: _Call) -> Any:
    numbers = call.lax.GatherDimensionNumbers(
        tuple(call.numbers("offset_dims")),
        tuple(call.numbers("collapsed_slice_dims")),
        tuple(call.numbers("start_index_map")),
        tuple(call.numbers("operand_batching_dims")),
        tuple(call.numbers("start_indices_batching_dims")),
    )
    indices = _with_last(call.operands[1], int(call.value("index_vector_dim")), call.numpy)
    return call.lax.gather(call.x, indices, numbers, call.numbers("slice_sizes"), mode="clip")


def _scatter(call: _Call) -> Any:
    kind = str(call.value("kind"))
    names = {"none": "scatter", "add": "scatter_add", "mul": "scatter_mul", "max": "scatter_max"}
    name = (names | {"min": "scatter_min"}).get(kind)
    if name is None:
        raise call.unsupported(f"a combination by {kind}")
    numbers = call.lax.ScatterDimensionNumbers(
        tuple(call.numbers("update_window_dims")),
        tuple(call.numbers("inserted_window_dims")),
        tuple(call.numbers("scatter_dims_to_operand_dims")),
        tuple(call.numbers("input_batching_dims")),
        tuple(call.numbers("scatter_indices_batching_dims")),
    )
    indices = _with_last(call.operands[1], int(call.value("index_vector_dim")), call.numpy)
    return getattr(call.lax, name)(call.x, indices, call.operands[2], numbers, mode="drop")


def _reduce(call: _Call) -> Any:
    axes, kind = tuple(call.numbers("dimensions")), str(call.value("kind"))
    if kind in ("argmax", "argmin"):
        position = getattr(call.lax, kind)(call.x, axes[0], call.dtypes()[1])
        extreme = call.numpy.max if kind == "argmax" else call.numpy.min
        return [extreme(call.x, axes), position]
    names = {"add": "reduce_sum", "mul": "reduce_prod", "max": "reduce_max", "min": "reduce_min"}
    function = getattr(call.lax, (names | {"and": "reduce_and", "or": "reduce_or"})[kind])
    if call.x.dtype == np.bool_:
        function = call.lax.reduce_or if kind in ("add", "max", "or") else call.lax.reduce_and
    return [function(x, axes) for x in call.operands]


def _reduce_window(call: _Call) -> Any:
    x, initial = call.operands
    window = call.numbers("window_dimensions")
    return call.lax.reduce_window(
        x,
        initial,
        getattr(call.lax, _COMBINED[str(call.value("kind"))]),
        window,
        call.given("window_strides", x.ndim, 1),
        call.pairs("padding", x.ndim),
        call.given("base_dilations", x.ndim, 1),
        call.given("window_dilations", x.ndim, 1),
    )


def _sort(call: _Call) -> Any:
    axis, key = int(call.value("dimension")), call.operands[int(call.value("key"))]
    order = call.numpy.argsort(key, axis, stable=True, descending=call.value("kind") == "descending")
    return [call.numpy.take_along_axis(each, order, axis) for each in call.operands]


def _triangular_solve(call: _Call) -> Any:
    return call.lax.linalg.triangular_solve(
        *call.operands,
        left_side=bool(call.value("left_side")),
        lower=bool(call.value("lower")),
        transpose_a=str(call.value("transpose_a")) != "NO_TRANSPOSE",
        unit_diagonal=bool(call.value("unit_diagonal")),
    )


def _pad(call: _Call) -> Any:
    parts = (call.numbers(name) for name in ("edge_padding_low", "edge_padding_high", "interior_padding"))
    return call.lax.pad(*call.operands, list(zip(*parts, strict=True)))


def _sizes(array: Any) -> list[int]:
    return [int(each) for each in np.asarray(array)]


def _dynamic_iota(call: _Call) -> Any:
    return call.lax.broadcasted_iota(call.dtype, _sizes(call.x), int(call.value("iota_dimension")))


def _dynamic_broadcast(call: _Call) -> Any:
    dims = call.numbers("broadcast_dimensions")
    return call.lax.broadcast_in_dim(call.x, _sizes(call.operands[1]), dims)


def _custom_call(call: _Call) -> Any:
    if call.value("call_target_name") == "shape_assertion":
        if not bool(np.asarray(call.x).all()):
            raise StepwellError("shape-mismatch", None, str(call.value("error_message")))
        return list[Any]()
    raise call.unsupported(f"a call of {call.value('call_target_name')}")


_CALLS: Mapping[str, Callable[[_Call], Any]] = {
    "bitcast_convert": lambda call: call.lax.bitcast_convert_type(call.x, call.dtype),
    "broadcast_in_dim": lambda call: call.lax.broadcast_in_dim(
        call.x, call.shape, call.numbers("broadcast_dimensions")
    ),
    "cholesky": _cholesky,
    "compare": _compare,
    "concatenate": lambda call: call.lax.concatenate(call.operands, int(call.value("dimension"))),
    "convert": _convert,
    "convolution": _convolution,
    "custom_call": _custom_call,
    "dot_general": _dot_general,
    "dynamic_broadcast_in_dim": _dynamic_broadcast,
    "dynamic_iota": _dynamic_iota,
    "dynamic_reshape": lambda call: call.lax.reshape(call.x, _sizes(call.operands[1])),
    "dynamic_slice": lambda call: call.lax.dynamic_slice(
        call.x, call.tensors("starts"), call.numbers("slice_sizes")
    ),
    "dynamic_update_slice": lambda call: call.lax.dynamic_update_slice(
        call.x, call.operands[1], call.tensors("starts")
    ),
    "gather": _gather,
    "get_dimension_size": lambda call: call.numpy.int32(call.x.shape[int(call.value("dimension"))]),
    "iota": lambda call: call.lax.broadcasted_iota(call.dtype, call.shape, int(call.value("iota_dimension"))),
    "optimization_barrier": lambda call: list(call.operands),
    "pad": _pad,
    "reduce": _reduce,
    "reduce_precision": lambda call: call.lax.reduce_precision(
        call.x, int(call.value("exponent_bits")), int(call.value("mantissa_bits"))
    ),
    "reduce_window": _reduce_window,
    "reshape": lambda call: call.lax.reshape(call.x, call.shape),
    "reverse": lambda call: call.lax.rev(call.x, call.numbers("dimensions")),
    "round_nearest_afz": lambda call: call.lax.round(call.x, call.lax.RoundingMethod.AWAY_FROM_ZERO),
    "round_nearest_even": lambda call: call.lax.round(call.x, call.lax.RoundingMethod.TO_NEAREST_EVEN),
    "scatter": _scatter,
    "slice": lambda call: call.lax.slice(
        call.x, call.numbers("start_indices"), call.numbers("limit_indices"), call.numbers("strides")
    ),
    "sort": _sort,
    "top_k": lambda call: list(call.lax.top_k(call.x, int(call.value("k")))),
    "transpose": lambda call: call.lax.transpose(call.x, call.numbers("permutation")),
    "triangular_solve": _triangular_solve,
}
