"""Attributes of a symbol, which are text, as values of a signature; element types of results."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from stepwell.dialects.foreign import Argument, Signature
from stepwell.dialects.types import element_of
from stepwell.runtime.interface import dtype_from_name

MAX_TEXT = 256
_LIST = re.compile(r"[(\[]?((?:\s*-?\d+L?\s*,?)*)[)\]]?")
_FLAGS = {"True": True, "False": False, "1": True, "0": False}
_IGNORED = frozenset(
    (
        "workspace cudnn_tune cudnn_off cudnn_algo_fwd cudnn_algo_bwd_data cudnn_algo_bwd_filter num_args "
        "ctx num_weights min_calib_range max_calib_range dtype_id"
    ).split()
)
"""Attributes that change how an operator computes, and not what."""


def arguments_of(attributes: Mapping[str, str], signature: Signature) -> dict[str, object]:
    """
    The arguments of an operator from its attributes.

    Raises: ValueError for one that the signature does not have, or of another form.
    """
    found: dict[str, object] = {}
    for name, text in attributes.items():
        if name in _IGNORED or name.startswith("__"):
            continue
        argument = signature.by_name.get(name)
        if argument is None or argument.is_tensor:
            if text in ("None", "False"):
                continue
            raise ValueError(f"{signature.name} has no argument `{name}`")
        if text == "None" and argument.base != "str":
            continue
        found[name] = _value(argument, text)
    return found


def _value(argument: Argument, text: str) -> object:
    """The value of an attribute. Raises: ValueError."""
    if len(text) > MAX_TEXT:
        raise ValueError(f"`{argument.name}` has more than {MAX_TEXT} characters")
    if argument.is_list:
        return integers(text, argument.name)
    match argument.base:
        case "bool":
            if text not in _FLAGS:
                raise ValueError(f"`{argument.name}` must be True or False, found {text!r}")
            return _FLAGS[text]
        case "int":
            return int(text)
        case "float" | "Scalar":
            return float(text)
        case _:
            return text


def integers(text: str, name: str) -> tuple[int, ...]:
    """The whole numbers of a text such as `(3, 3)`, or of one number. Raises: ValueError."""
    match = _LIST.fullmatch(text.strip())
    if match is None:
        raise ValueError(f"`{name}` must be whole numbers, found {text!r}")
    return tuple(int(part.strip().rstrip("L")) for part in match[1].split(",") if part.strip())


def result_element(target: str, arguments: Mapping[str, object], operands: Sequence[Attribute]) -> Attribute:
    """The element type of the results: of the attribute `dtype`, else of an operand."""
    if target in ("argmax", "argmin"):
        return f32
    asked = arguments.get("dtype")
    if isinstance(asked, str) and asked != "None":
        return element_of(dtype_from_name(asked))
    if target in ("one_hot", "topk", "_arange", "_zeros", "_ones"):
        return f32
    if target in ("Embedding", "where") and len(operands) > 1:
        return operands[1]
    return operands[0] if operands else f32
