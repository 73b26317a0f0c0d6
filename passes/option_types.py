"""The types of the options of passes, without an evaluation of annotations that name plain types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from functools import cache
from typing import Any, get_type_hints

from xdsl.passes import ModulePass
from xdsl.utils import arg_spec

_PLAIN: Mapping[object, object] = {
    "str": str,
    "bool": bool,
    "int": int,
    "float": float,
    "tuple[str, ...]": tuple[str, ...],
}


@cache
def option_types(pass_class: type[ModulePass]) -> Mapping[str, Any]:
    """
    The types of the fields of a pass by their names.

    The evaluation of all annotations of a class and its bases compiles each text: a millisecond a pass.
    """
    types = {field.name: _PLAIN.get(field.type) for field in fields(pass_class) if field.init}
    return get_type_hints(pass_class) if None in types.values() else types


setattr(arg_spec, "get_type_hints", option_types)  # noqa: B010  which `ModulePass.from_spec` asks for types
