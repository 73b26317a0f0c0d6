"""
Generate `dialects/onnx/ops.py` and `dialects/onnx/versions.py` from the operator schemas of the installed
onnx.

Run `python -m stepwell.tools.generators.generate_onnx` after changing the pinned onnx; a test fails when the
files are stale.
"""

from __future__ import annotations

import keyword
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import cast

from onnx import AttributeProto, defs, helper
from onnx.defs import OpSchema

from stepwell.dialects.onnx.base import PREFIXES, OnnxOp

FOLDER = Path(__file__).resolve().parents[2] / "dialects" / "onnx"

# Formal names that later versions of an operator spell differently: (operator, "input" or "output") -> old:
# new.
RENAMED: dict[tuple[str, str], dict[str, str]] = {
    ("BatchNormalization", "input"): {"mean": "input_mean", "var": "input_var"},
    ("BatchNormalization", "output"): {"mean": "running_mean", "var": "running_var"},
    ("Split", "output"): {"outputs...": "outputs"},
}

# Kind of an attribute -> its constraint in the op class; any attribute for the others.
CONSTRAINTS = {
    "int": "IntegerAttr",
    "float": "FloatAttr",
    "string": "STRING",
    "ints": "INTS",
    "floats": "FLOATS",
    "strings": "STRINGS",
}

Schemas = Sequence[OpSchema]


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


def union(versions: Schemas, what: str) -> dict[str, str]:
    """
    The inputs or outputs of all versions: name -> `single`, `opt` or `var`. The newest version's come first,
    in order; those of older versions follow.
    """
    names: dict[str, None] = {}
    for schema in reversed(versions):
        names |= dict.fromkeys(formal_name(schema, what, p) for p in parameters(schema, what))
    found: dict[str, list[OpSchema.FormalParameterOption]] = defaultdict(list)
    for schema in versions:
        for parameter in parameters(schema, what):
            found[formal_name(schema, what, parameter)].append(parameter.option)
    kinds: dict[str, str] = {}
    for name in names:
        options = found[name]
        if OpSchema.FormalParameterOption.Variadic in options:
            kinds[name] = "var"
        elif len(options) < len(versions) or OpSchema.FormalParameterOption.Optional in options:
            kinds[name] = "opt"
        else:
            kinds[name] = "single"
    return kinds


def op_class(op_name: str, versions: Schemas) -> list[str]:
    """The lines of one op class."""
    newest = versions[-1]
    operands, results = union(versions, "input"), union(versions, "output")
    attributes = {name: kind for schema in versions for name, kind in attribute_kinds(schema).items()}
    mixed = {
        name
        for schema in versions
        for name, kind in attribute_kinds(schema).items()
        if kind != attributes[name]
    }
    # Operands and results, then attributes: as regions for graphs, else as optional properties.
    fields = [(name, definition("operand", kind)) for name, kind in operands.items()]
    fields += [(name, definition("result", kind)) for name, kind in results.items()]
    taken = set(dir(OnnxOp)) | {name for name, _ in fields}
    regions = [name for name, kind in sorted(attributes.items()) if kind == "graph"]
    required = all(schema.attributes[name].required for schema in versions for name in regions)
    for name, kind in sorted(attributes.items()):
        if kind == "graph":
            fields.append((name, "region_def()" if required else "opt_region_def()"))
            continue
        arguments = [CONSTRAINTS[kind]] if kind in CONSTRAINTS and name not in mixed else []
        if clash := name in taken or keyword.iskeyword(name):
            arguments.append(f"prop_name={name!r}")
        fields.append((f"{name}_attr" if clash else name, f"opt_prop_def({', '.join(arguments)})"))
    assert len({name for name, _ in fields}) == len(fields), op_name
    assert not {name for name, _ in fields} & set(dir(OnnxOp)), op_name
    # The text of the class.
    since = ", ".join(str(schema.since_version) for schema in versions)
    lines = [
        "@irdl_op_definition",
        f"class {newest.name}Op(OnnxOp):",
        f'    """ONNX `{newest.name}`{f" of `{newest.domain}`" if newest.domain else ""}, since {since}."""',
        "",
        f"    name = {op_name!r}",
        *(f"    {name} = {text}" for name, text in fields),
    ]
    options = segment_options(operands, results, regions if not required else [])
    return lines + (
        [f"    irdl_options = ({''.join(f'{o}, ' for o in options).rstrip()})"] if options else []
    )


def attribute_kinds(schema: OpSchema) -> dict[str, str]:
    """Name -> kind of the attributes of one version."""
    return {name: kind_of(attribute) for name, attribute in schema.attributes.items()}


def definition(what: str, kind: str) -> str:
    """The field definition of an operand or result."""
    return f"{'' if kind == 'single' else kind + '_'}{what}_def()"


def segment_options(operands: dict[str, str], results: dict[str, str], regions: list[str]) -> list[str]:
    """The xDSL options for operands, results or regions of several optional groups."""
    options: list[str] = []
    if sum(kind != "single" for kind in operands.values()) > 1:
        options.append("OPERAND_SEGMENTS")
    if sum(kind != "single" for kind in results.values()) > 1:
        options.append("RESULT_SEGMENTS")
    if len(regions) > 1:
        options.append("REGION_SEGMENTS")
    return options


def ops_source() -> str:
    """The text of `ops.py`."""
    header = '''# fmt: off
# ruff: noqa: E501, E741, I001
"""One op class for each operator of onnx {version}. Made by `tools.generators.generate_onnx`: do not edit."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.irdl import (
    irdl_op_definition,
{imports}
)

from stepwell.dialects.onnx.base import {base}
'''
    bodies = [op_class(op_name, versions) for op_name, versions in all_schemas().items()]
    text = "\n\n\n".join("\n".join(lines) for lines in bodies)
    names = [f"{versions[-1].name}Op" for versions in all_schemas().values()]
    assert len(set(names)) == len(names)
    definitions = ("operand", "opt_operand", "opt_prop", "opt_region", "opt_result", "region", "result")
    definitions = sorted(f"{d}_def" for d in (*definitions, "var_operand", "var_result"))
    imports = "\n".join(f"    {d}," for d in definitions if f" {d}(" in text)
    base = sorted(
        n
        for n in (
            "FLOATS",
            "INTS",
            "STRING",
            "STRINGS",
            "OPERAND_SEGMENTS",
            "RESULT_SEGMENTS",
            "REGION_SEGMENTS",
        )
        if any(f"{n}{end}" in text for end in ",)")
    )
    head = header.format(version=onnx_version(), imports=imports, base=", ".join([*base, "OnnxOp"]))
    listed = "\n".join(f"    {name}," for name in names)
    exported = "\n".join(f'    "{name}",' for name in [*names, "OPS"])
    return f"{head}\n\n{text}\n\n\nOPS = (\n{listed}\n)\n\n__all__ = [\n{exported}\n]\n"


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
    """Write both files."""
    FOLDER.joinpath("versions.py").write_text(versions_source())
    FOLDER.joinpath("ops.py").write_text(ops_source())


if __name__ == "__main__":
    main()
