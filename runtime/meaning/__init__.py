"""
The numpy meaning of each graph op: the reference that every pass and lowering is checked against.

`evaluate(name, operands, properties)` runs one op: None for an absent optional operand, results as a tuple.
Families register their functions with `@meaning("graph.relu")`, one file a family, imported when one of its
ops is asked for. Some ops have a second, quicker form in the folder `quick`, for answers before there is
compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]
Meaning: TypeAlias = Callable[..., object]
Form = TypeVar("Form", bound=Meaning)

_MEANINGS: dict[str, Meaning] = {}
_QUICK_FORMS: dict[str, Meaning] = {}

GRAPH_OPS: Mapping[str, str] = {
    "attention": "attention",
    "binary": (
        "add subtract multiply maximum minimum equal not_equal less less_equal and or xor divide "
        "remainder power shift_left shift_right where"
    ),
    "casts": "bitcast cast",
    "contraction": "matmul matmul_integer einsum bias_add conv conv_transpose",
    "detection": "non_max_suppression join_parts",
    "elementwise": (
        "neg abs sign not exp expm1 log log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh acosh "
        "atanh floor ceil trunc round is_nan erf rsqrt is_inf relu sigmoid softplus leaky_relu elu silu "
        "gelu clip"
    ),
    "indexing": "gather gather_elements gather_nd scatter_elements scatter_nd one_hot",
    "layout": "layout_transform",
    "movement": "transpose concat split slice insert_slice pad tile reverse",
    "norm": "batch_norm layer_norm rms_norm instance_norm group_norm lp_norm lrn",
    "ordering": "top_k reverse_sequence",
    "packed_codes": "matmul_nbits",
    "quantized": "quantize dequantize requantize observe words conv_integer",
    "random_numbers": "random_bits",
    "recurrent": "rnn",
    "reduction": "reduce argmax argmin scan softmax log_softmax",
    "resize": "resize",
    "shape": "reshape expand_dims squeeze broadcast_to shape_of extents full iota range",
    "trees": "tree_ensemble",
    "window": "pool",
    "winograd": "winograd_conv",
}
"""The ops of level 1 by file: a model has a few, and importing all files takes 8 ms."""

HOST_FUNCTIONS: Mapping[str, str] = {
    "chances": "couple_chances",
    "images": "image_decoder",
    "linear_algebra": "inverse lu triangular_solve cholesky qr householder_product svd eigh",
    "maps": "map_values cast_map",
    "random_numbers": "draw_key",
    "quantized": "histogram",
    "sequences": (
        "identity sequence_construct sequence_at sequence_insert sequence_erase sequence_length "
        "split_to_sequence concat_from_sequence optional optional_has_element optional_get_element "
        "zip_map"
    ),
    "strings": (
        "strings string_concat string_equal regex_full_match string_split tokenizer string_normalizer "
        "string_to_number number_to_string positions string_where tf_idf take_string take encode_labels"
    ),
}
"""The functions for host calls by file."""


def meaning(name: str) -> Callable[[Meaning], Meaning]:
    """Register the numpy meaning of the op `name`: operands by position, properties by keyword."""

    def register(function: Meaning) -> Meaning:
        _MEANINGS[name] = function
        return function

    return register


def quick_form(name: str) -> Callable[[Form], Form]:
    """
    Register a quicker form of the meaning of `name`: of the same signature, for operands in f32 and of any
    strides; within 1e-5 of the result's range. It may return NotImplemented to leave a case to the meaning.
    """

    def register(function: Form) -> Form:
        _QUICK_FORMS[name] = function
        return function

    return register


def has_meaning(name: str) -> bool:
    """Whether an op has a numpy meaning."""
    if name not in _MEANINGS:
        _load(name)
    return name in _MEANINGS


def evaluate(
    name: str, operands: Sequence[Array | None], properties: Mapping[str, object], *, quick: bool = False
) -> tuple[Array, ...]:
    """
    The results of an op on arrays; with `quick`, by a quicker form of its meaning where there is one.

    Raises: KeyError for an op without a meaning.

    Operands are made dense before: the order in which numpy adds, and so the digits, depends on strides, and
    a constant must give the same digits as the view that it was folded from. (Operands of host functions can
    be lists.)
    """
    if not has_meaning(name):
        raise KeyError(name)
    if quick and (results := _quick_results(name, operands, properties)) is not None:
        return results
    dense = [np.asarray(x, order="C") if isinstance(x, np.ndarray) else x for x in operands]
    results = _MEANINGS[name](*dense, **properties)
    return cast("tuple[Array, ...]", results if isinstance(results, tuple) else (results,))


def _quick_results(
    name: str, operands: Sequence[Array | None], properties: Mapping[str, object]
) -> tuple[Array, ...] | None:
    """The results by the quicker form of an op's meaning; None if there is none for these operands."""
    _load_quick_forms()
    form = _QUICK_FORMS.get(name)
    if form is None or not all(x is None or x.dtype == np.float32 for x in operands):
        return None
    results = form(*operands, **properties)
    if results is NotImplemented:
        return None
    return cast("tuple[Array, ...]", results if isinstance(results, tuple) else (results,))


def _load(name: str) -> None:
    """Import the file of an op or a function."""
    dialect, _, title = name.partition(".")
    for file, names in {"graph": GRAPH_OPS, "host": HOST_FUNCTIONS}.get(dialect, {}).items():
        if title in names.split():
            import_module(f"{__name__}.{file}")


@cache
def _load_quick_forms() -> None:
    import_module(f"{__name__}.quick")
