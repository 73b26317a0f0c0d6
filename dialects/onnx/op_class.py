"""
The op class of each operator of ONNX, made from the version table when it is first used.

All 200 take 20 ms, and a model has operators of ten kinds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache
from keyword import iskeyword
from typing import Any, NamedTuple

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.irdl import (
    AttrSizedOperandSegments,
    AttrSizedRegionSegments,
    AttrSizedResultSegments,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    opt_result_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from stepwell.dialects._xdsl_speed.definitions import define_late
from stepwell.dialects.onnx.base import (
    FLOATS,
    INTS,
    STRING,
    STRINGS,
    OnnxOp,
    Parameter,
    domain_of,
    parameters,
)
from stepwell.dialects.onnx.versions import VERSIONS

_DEFINITIONS: Mapping[str, Callable[[], Any]] = {
    "operand": operand_def,
    "opt_operand": opt_operand_def,
    "var_operand": var_operand_def,
    "result": result_def,
    "opt_result": opt_result_def,
    "var_result": var_result_def,
    "region": region_def,
    "opt_region": opt_region_def,
}
_CONSTRAINTS: Mapping[str, Any] = {
    "int": IntegerAttr,
    "float": FloatAttr,
    "string": STRING,
    "ints": INTS,
    "floats": FLOATS,
    "strings": STRINGS,
}
_SEGMENTS = {
    "operand": AttrSizedOperandSegments(as_property=True),
    "result": AttrSizedResultSegments(as_property=True),
    "region": AttrSizedRegionSegments(as_property=True),
}
_OWN_NAMES = frozenset(dir(OnnxOp))


class Field(NamedTuple):
    """
    A field of an op class: a key of `_DEFINITIONS`, or the kind of an attribute (`tensor` for any) with its
    name in ONNX.
    """

    kind: str
    attribute: str = ""


def fields_of(op_name: str) -> dict[str, Field]:
    """
    The fields of an op class by name: operands, results, attributes, of all versions. Graphs are regions.
    """
    rows = VERSIONS[op_name]
    fields = {
        name: Field(kind)
        for what, column in (("operand", 2), ("result", 3))
        for name, kind in _union(what, [parameters(str(row[column])) for row in rows])
    }
    attributes = sorted({(name, kind) for row in rows for name, kind, _ in row[4]})
    kinds = dict(attributes)
    required = all(default is ... for row in rows for _, kind, default in row[4] if kind == "graph")
    for name, kind in kinds.items():
        if kind == "graph":
            fields[name] = Field("region" if required else "opt_region")
            continue
        is_mixed = sum(name == other for other, _ in attributes) > 1
        is_taken = name in fields or name in _OWN_NAMES or iskeyword(name)
        fields[f"{name}_attr" if is_taken else name] = Field("tensor" if is_mixed else kind, name)
    return fields


def _union(what: str, versions: list[tuple[Parameter, ...]]) -> Iterator[tuple[str, str]]:
    """The parameters of all versions, those of the newest first, with the kinds of their fields."""
    for name in dict.fromkeys(each.name for row in reversed(versions) for each in row):
        found = [each for row in versions for each in row if each.name == name]
        if any(each.variadic for each in found):
            yield name, f"var_{what}"
        elif len(found) < len(versions) or any(each.optional for each in found):
            yield name, f"opt_{what}"
        else:
            yield name, what


@cache
def op_class(op_name: str) -> type[OnnxOp]:
    """The op class of an operator (`"onnx.Conv"`); its fields are made at its first use. Raises: KeyError."""
    title, domain = op_name.rpartition(".")[2], domain_of(op_name)
    since = ", ".join(str(row[0]) for row in VERSIONS[op_name])
    body = {
        "__doc__": f"ONNX `{title}`{domain and f' of `{domain}`'}, since {since}.",
        "__module__": __name__.replace("op_class", "ops"),
        "name": op_name,
    }
    return define_late(type(f"{title}Op", (OnnxOp,), body), _add_fields)


def _add_fields(cls: type[OnnxOp]) -> None:
    """Add the definitions of an op class's operands, results, attributes and regions."""
    groups = dict.fromkeys(_SEGMENTS, 0)
    for name, (kind, attribute) in fields_of(cls.name).items():
        if attribute:
            given = {"prop_name": attribute} if attribute != name else {}
            setattr(cls, name, opt_prop_def(*filter(None, [_CONSTRAINTS.get(kind)]), **given))
            continue
        setattr(cls, name, _DEFINITIONS[kind]())
        size, _, what = kind.rpartition("_")
        groups[what] += bool(size)
    options = tuple(option for what, option in _SEGMENTS.items() if groups[what] > 1)
    setattr(cls, "irdl_options", options)  # noqa: B010  # xDSL reads it from the class
