"""
The numpy meaning of each graph op: the reference that every pass and lowering is checked against.

`evaluate(name, operands, properties)` runs one op: None for an absent optional operand, results as a tuple.
Families register their functions with `@meaning("graph.relu")`, one file a family. A call of a function for
host calls imports its file; any other imports all files. Some ops have a second, quicker form in the folder
`quick`, for answers before there is compiled code.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.generic]
Meaning: TypeAlias = Callable[..., object]
Form = TypeVar("Form", bound=Meaning)

_MEANINGS: dict[str, Meaning] = {}
_QUICK_FORMS: dict[str, Meaning] = {}

# The functions for host calls by file: an artifact calls one or two, and importing all files takes 50 ms.
HOST_FUNCTIONS: Mapping[str, str] = {
    "chances": "couple_chances",
    "images": "image_decoder",
    "linear_algebra": "inverse",
    "maps": "map_values cast_map",
    "random_numbers": "random_normal random_uniform bernoulli dropout_mask multinomial",
    "resize_at_run_time": "resize",
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
    _load_all()
    return name in _MEANINGS


def evaluate(
    name: str, operands: Sequence[Array | None], properties: Mapping[str, object], *, quick: bool = False
) -> tuple[Array, ...]:
    """
    Run an op on arrays; `quick` takes a quicker form of the meaning where there is one.

    Raises: KeyError for an op without a meaning.

    Operands are dense first: the order in which numpy adds, and so the digits, depends on their strides, and
    a constant must give the same digits as the view that it was folded from. (Operands of host functions may
    be lists.)
    """
    if name not in _MEANINGS:
        _load(name)
    if quick and (results := _quick_results(name, operands, properties)) is not None:
        return results
    dense = [np.asarray(x, order="C") if isinstance(x, np.ndarray) else x for x in operands]
    results = _MEANINGS[name](*dense, **properties)
    return cast("tuple[Array, ...]", results if isinstance(results, tuple) else (results,))


def _quick_results(
    name: str, operands: Sequence[Array | None], properties: Mapping[str, object]
) -> tuple[Array, ...] | None:
    """The results by an op's quicker form; None where it has none for these operands."""
    _load_quick_forms()
    form = _QUICK_FORMS.get(name)
    if form is None or not all(x is None or x.dtype == np.float32 for x in operands):
        return None
    results = form(*operands, **properties)
    if results is NotImplemented:
        return None
    return cast("tuple[Array, ...]", results if isinstance(results, tuple) else (results,))


def _load(name: str) -> None:
    """Import the file of a function."""
    for file, names in HOST_FUNCTIONS.items():
        if name.removeprefix("host.") in names.split():
            import_module(f"{__name__}.{file}")
            return
    _load_all()


@cache
def _load_all() -> None:
    for module in iter_modules(__path__):
        if not module.ispkg:
            import_module(f"{__name__}.{module.name}")


@cache
def _load_quick_forms() -> None:
    import_module(f"{__name__}.quick")
