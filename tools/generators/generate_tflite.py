"""
Writes `frontend/tflite/schema.txt` and `dialects/tflite/signatures.txt` from the schema of LiteRT.

Run `python -m stepwell.tools.generators.generate_tflite` after choosing another version of ai-edge-litert.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple, cast

import stepwell.dialects.tflite
import stepwell.frontend.tflite
from stepwell.runtime.packages import needed

SIGNATURES = Path(stepwell.dialects.tflite.__file__).with_name("signatures.txt")
SCHEMA = Path(stepwell.frontend.tflite.__file__).with_name("schema.txt")
OPERANDS = Path(__file__).with_name("tflite_operands.txt")
_HEAD = "# Written by stepwell/tools/generators/generate_tflite.py"
_ENUMS: Mapping[str, str] = {
    "padding": "Padding",
    "fused_activation_function": "ActivationFunctionType",
    "in_data_type": "TensorType",
    "out_data_type": "TensorType",
    "output_type": "TensorType",
    "idx_out_type": "TensorType",
    "out_type": "TensorType",
    "mode": "MirrorPadMode",
    "reduce_function": "ReduceWindowFunction",
    "weights_format": "FullyConnectedOptionsWeightsFormat",
    "kernel_type": "LSTMKernelType",
    "asymmetric_quantize_inputs": "bool",
}
"""The types of fields by their name: the schema as Python has numbers only."""
_WRITTEN = (
    "TensorType",
    "BuiltinOperator",
    "BuiltinOptions",
    "BuiltinOptions2",
    *sorted(set(_ENUMS.values())),
)
_PLAIN: Mapping[str, str] = {
    "i8": "int",
    "i16": "int",
    "i32": "int",
    "i64": "int",
    "f32": "float",
    "u8": "int",
    "u32": "int",
}
"""The types of signatures by those of fields."""
_COMPOSITE = "StableHLOCompositeOptions"
"""The table of StableHLO that is read: of calls of a subgraph under a name."""
_FLAGS = re.compile(r"number_types\.(Bool|Int\d+|Uint\d+|Float\d+)Flags")
_WORD = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_SLOT = re.compile(r"self\._tab\.Offset\((\d+)\)")


class Field(NamedTuple):
    """A field of a table: its number, name, type, and default as text."""

    slot: int
    name: str
    type: str
    default: str

    def __str__(self) -> str:
        return f"{self.type} {self.name}" + (f"={self.default}" if self.default else "")


def main() -> None:
    """Write both files."""
    schema = _schema()
    SCHEMA.write_text(schema_text(schema), encoding="utf-8")
    SIGNATURES.write_text(signatures_text(schema), encoding="utf-8")


def _schema() -> Any:
    """The module of the schema. Raises: StepwellError `missing-package`."""
    with needed("the schema of TFLite", install="ai-edge-litert"):
        return import_module("ai_edge_litert.schema_py_generated")


def schema_text(schema: Any) -> str:
    """The enumerations and the tables of the schema that are read, one a line."""
    lines = [f"{_HEAD}. Enumerations, then tables with their fields in the order of their slots."]
    for name in dict.fromkeys(_WRITTEN):
        if name != "bool":
            lines.append(
                f"enum {name}: {' '.join(f'{key}={value}' for key, value in _enum(schema, name).items())}"
            )
    for name in _tables(schema):
        fields = {field.slot: field for field in _fields(schema, name)}
        slots = range(max(fields, default=-1) + 1)
        lines.append(f"table {name}: {', '.join(str(fields.get(slot, '_')) for slot in slots)}".rstrip())
    return "\n".join(lines) + "\n"


def signatures_text(schema: Any) -> str:
    """The signatures of the builtin operators."""
    tables = set(_tables(schema))
    lines = [f"{_HEAD}. Builtin operators of TFLite:"]
    for line in OPERANDS.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            lines.append(_signature(schema, line, tables))
    return "\n".join(lines) + "\n"


def _signature(schema: Any, line: str, tables: set[str]) -> str:
    head, _, table = line.partition(" :")
    operands, _, results = head.partition("->")
    name, *inputs = operands.split()
    table = table.strip() or "".join(part.capitalize() for part in name.split("_"))
    arguments = [_operand(each) for each in inputs]
    if f"{table}Options" in tables:
        arguments += _options(schema, f"{table}Options")
    elif table != "-":
        raise ValueError(f"{name}: no table {table}Options")
    outputs = ", ".join("Tensor[]" if each.endswith("*") else "Tensor" for each in results.split())
    returned = outputs if len(results.split()) == 1 else f"({outputs})"
    return f"{name.lower()}({', '.join(arguments)}) -> {returned}"


def _operand(text: str) -> str:
    name = text.rstrip("?*")
    kind = text.removeprefix(name)
    return {
        "": f"Tensor {name}",
        "?": f"Tensor? {name}=None",
        "*": f"Tensor[] {name}",
        "?*": f"Tensor?[] {name}",
    }[kind]


def _options(schema: Any, table: str) -> Iterator[str]:
    """The options of a table as arguments."""
    for field in _fields(schema, table):
        is_list, base = field.type.startswith("["), field.type.strip("[]")
        kind = _PLAIN.get(base, base)
        if kind == "TensorType":
            kind, default = "ScalarType?", "None"
        elif kind in _ENUMS.values() and kind != "bool":
            kind, default = "str", f'"{field.default}"'
        else:
            default = {"0": "False", "1": "True"}[field.default] if kind == "bool" else field.default
        yield f"{kind}[] {field.name}=[]" if is_list else f"{kind} {field.name}={default or 'None'}"


def _tables(schema: Any) -> list[str]:
    """The names of the tables that are read."""
    found = [
        name
        for name, value in _items(schema)
        if inspect.isclass(value)
        and hasattr(value, "Init")
        and (name == _COMPOSITE or not name.startswith(("Stablehlo", "StableHLO")))
    ]
    return [name for name in found if hasattr(schema, f"{name}T")]


def _items(space: Any) -> list[tuple[str, Any]]:
    """The names of a module or class with what they stand for."""
    return list(cast("dict[str, Any]", vars(space)).items())


def _enum(schema: Any, name: str) -> dict[str, int]:
    return {key: value for key, value in _items(getattr(schema, name)) if isinstance(value, int)}


def _fields(schema: Any, table: str) -> Iterator[Field]:
    """The fields of a table, from the accessors' source."""
    for title, accessor in _items(getattr(schema, table)):
        is_plain = inspect.isfunction(accessor) and title not in ("Init",)
        if not is_plain or re.search(r"(AsNumpy|Length|IsNone)$", title):
            continue
        text = inspect.getsource(accessor)
        if (slot := _SLOT.search(text)) is None:
            continue
        name = _WORD.sub("_", title).lower()
        yield Field((int(slot[1]) - 4) // 2, name, *_type_of(schema, name, text))


def _type_of(schema: Any, name: str, text: str) -> tuple[str, str]:
    """The type and the default of a field."""
    is_list = "self._tab.Vector(o)" in text
    found = re.search(r"obj = (\w+)\(\)", text)
    if found is not None:
        title = str(found[1])
        return (f"[{title}]" if is_list else title), ""
    if "self._tab.String(" in text:
        return "[str]" if is_list else "str", ""
    if "self._tab.Union(" in text or "Table(bytearray()" in text:
        return "union", ""
    flags = _FLAGS.search(text)
    assert flags is not None, text
    title = str(flags[1])
    kind = "bool" if title == "Bool" else title[0].lower() + re.sub(r"\D", "", title)
    if is_list:
        return f"[{kind}]", ""
    default = str(re.findall(r"return ([-\w.]+)\n?$", text.rstrip())[-1])
    if (enum := _ENUMS.get(name)) is not None and enum != "bool" and kind in ("i8",):
        names = {value: key for key, value in _enum(schema, enum).items()}
        return enum, names[int(default)]
    return kind, {"False": "0", "True": "1"}.get(default, default)


if __name__ == "__main__":
    main()
