"""
Generate `dialects/onnx/ops.pyi` and `dialects/onnx/versions.py` from the operator schemas of the installed
onnx.

Run `python -m stepwell.tools.generators.generate_onnx` after changing the pinned onnx; a test fails when the
files are stale.
"""

from __future__ import annotations

import keyword
from collections import defaultdict
from importlib import import_module, reload
from pathlib import Path
from typing import cast

from onnx import AttributeProto, defs, helper
from onnx.defs import OpSchema

from stepwell.dialects.onnx.base import PREFIXES
from stepwell.dialects.onnx.op_class import fields_of, op_class
from stepwell.dialects.onnx.versions import VERSIONS

FOLDER = Path(__file__).resolve().parents[2] / "dialects" / "onnx"

# Formal names that later versions of an operator spell differently: (operator, "input" or "output") -> old:
# new.
RENAMED: dict[tuple[str, str], dict[str, str]] = {
    ("BatchNormalization", "input"): {"mean": "input_mean", "var": "input_var"},
    ("BatchNormalization", "output"): {"mean": "running_mean", "var": "running_var"},
    ("Split", "output"): {"outputs...": "outputs"},
}

TYPES = {
    "operand": "SSAValue",
    "opt_operand": "SSAValue | None",
    "var_operand": "VarOperand",
    "result": "OpResult",
    "opt_result": "OpResult | None",
    "var_result": "VarOpResult",
    "region": "Region",
    "opt_region": "Region | None",
    "int": "IntegerAttr | None",
    "float": "FloatAttr[AnyFloat] | None",
    "string": "StringAttr | BytesAttr | None",
    "ints": "DenseArrayBase[IntegerType] | None",
    "floats": "DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None",
    "strings": "ArrayAttr[Attribute] | None",
    **dict.fromkeys(("tensor", "type", "sparse_tensor"), "Attribute | None"),
}
"""The types of the fields of op classes by their kind."""


def all_schemas() -> dict[str, list[OpSchema]]:
    """Every operator by its name in the IR, with all its versions from the oldest on."""
    operators: dict[str, list[OpSchema]] = defaultdict(list)
    for schema in defs.get_all_schemas_with_history():
        operators[PREFIXES[schema.domain] + schema.name].append(schema)
    for versions in operators.values():
        versions.sort(key=lambda schema: schema.since_version)
    return dict(sorted(operators.items()))


def formal_name(schema: OpSchema, what: str, parameter: OpSchema.FormalParameter) -> str:
    """The name of an input or output in the op class."""
    name = RENAMED.get((schema.name, what), {}).get(parameter.name, parameter.name)
    assert name.isidentifier() and not keyword.iskeyword(name), (schema.name, name)
    return name


def parameters(schema: OpSchema, what: str) -> list[OpSchema.FormalParameter]:
    """The inputs or outputs of one version."""
    return list(schema.inputs if what == "input" else schema.outputs)


def kind_of(attribute: OpSchema.Attribute) -> str:
    """The kind of an attribute in the version table."""
    kind = str(attribute.type).rpartition(".")[2].lower()
    return "type" if kind == "type_proto" else kind


def default_text(attribute: OpSchema.Attribute) -> str:
    """A default as Python source: `...` when the attribute is required, `None` without a default."""
    if attribute.required:
        return "..."
    proto = attribute.default_value
    if proto.type == AttributeProto.UNDEFINED:
        return "None"
    value = helper.get_attribute_value(proto)
    if isinstance(value, bytes):
        return repr(value.decode())
    if isinstance(value, list):
        values = cast("list[int | float | bytes]", value)
        return repr(tuple(v.decode() if isinstance(v, bytes) else v for v in values))
    assert isinstance(value, int | float), (attribute.name, value)
    return repr(value)


def version_row(schema: OpSchema) -> str:
    """The row of the version table for a schema."""

    def formal(what: str) -> str:
        words: list[str] = []
        for parameter in parameters(schema, what):
            suffix = {
                OpSchema.FormalParameterOption.Single: "",
                OpSchema.FormalParameterOption.Optional: "?",
                OpSchema.FormalParameterOption.Variadic: f"*{parameter.min_arity}",
            }[parameter.option]
            words.append(formal_name(schema, what, parameter) + suffix)
        return repr(" ".join(words))

    attributes = "".join(
        f"({name!r}, {kind_of(attribute)!r}, {default_text(attribute)}), "
        for name, attribute in sorted(schema.attributes.items())
    )
    fields = (str(schema.since_version), str(int(schema.deprecated)), formal("input"), formal("output"))
    return f"        ({', '.join(fields)}, ({attributes.rstrip(' ')})),"


def ops_source() -> str:
    """The text of `ops.pyi`: the type of each field of the op classes."""
    lines = [
        "# ruff: noqa: E501, E741, I001",
        f'"""The op classes of onnx {onnx_version()}, for type checkers.',
        "",
        "Made by `tools.generators.generate_onnx`: do not edit.",
        '"""',
        "",
        "from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BytesAttr, DenseArrayBase, Float32Type",
        "from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, StringAttr",
        "from xdsl.ir import Attribute, OpResult, Region, SSAValue",
        "from xdsl.irdl import VarOperand, VarOpResult",
        "",
        "from stepwell.dialects.onnx.base import OnnxOp",
        "",
        "OPS: tuple[type[OnnxOp], ...]",
    ]
    assert len({name.rpartition(".")[2] for name in VERSIONS}) == len(VERSIONS)
    for op_name in VERSIONS:
        lines += ["", f"class {op_class(op_name).__name__}(OnnxOp):"]
        lines += [f"    {name}: {TYPES[field.kind]}" for name, field in fields_of(op_name).items()]
    return "\n".join(lines) + "\n"


def versions_source() -> str:
    """The text of `versions.py`."""
    rows: list[str] = []
    for op_name, versions in all_schemas().items():
        rows += [f"    {op_name!r}: (", *(version_row(schema) for schema in versions), "    ),"]
    table = "\n".join(rows)
    latest: dict[str, int] = {}
    for versions in all_schemas().values():
        for schema in versions:
            latest[schema.domain] = max(latest.get(schema.domain, 1), schema.since_version)
    for domain in latest:
        latest[domain] = max(latest[domain], defs.onnx_opset_version() if domain == "" else 1)
    return f'''# fmt: off
# ruff: noqa: E501, E741, I001
"""
Every version of every ONNX operator. Generated by `tools.generators.generate_onnx` from onnx
{onnx_version()}: do not edit.

A row is (since version, deprecated, inputs, outputs, attributes). Inputs and outputs are named as in the op
class, `?` marks an optional one, `*n` a variadic one of at least n values. An attribute is (name, kind,
default), where `...` marks a required one and None one without default.
"""

from types import EllipsisType
from typing import TypeAlias

Default: TypeAlias = int | float | str | tuple[int | float | str, ...] | EllipsisType | None
Row: TypeAlias = tuple[int, int, str, str, tuple[tuple[str, str, Default], ...]]

LATEST: dict[str, int] = {latest!r}

VERSIONS: dict[str, tuple[Row, ...]] = {{
{table}
}}
'''


def onnx_version() -> str:
    """Version of the installed onnx package."""
    from onnx import __version__

    return __version__


def main() -> None:
    """Write both files; the classes are those of the new table."""
    FOLDER.joinpath("versions.py").write_text(versions_source())
    VERSIONS.clear()
    VERSIONS.update(reload(import_module("stepwell.dialects.onnx.versions")).VERSIONS)
    FOLDER.joinpath("ops.pyi").write_text(ops_source())


if __name__ == "__main__":
    main()
