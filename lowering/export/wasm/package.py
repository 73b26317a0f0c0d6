"""
A package of npm: modules, weights, scripts that call them, and types for one model.

Its files have neither a time nor an owner, so a model gives the same bytes everywhere.
"""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from math import prod
from string import Template

from stepwell.lowering.export.entry_object import is_allocated
from stepwell.lowering.export.names import caller_symbols, joined_name
from stepwell.lowering.export.parts import Chunk
from stepwell.lowering.export.wasm.modules import STACK_BYTES, Module
from stepwell.runtime.dims import Dim
from stepwell.runtime.image import Entry
from stepwell.runtime.integers.expression_text import Algebra
from stepwell.runtime.interface import Interface, TensorSpec

_SCRIPTS = ("index.js", "instance.js", "worker.js")
_ARRAYS: Mapping[str, str] = {
    "float16": "Uint16Array",
    "bfloat16": "Uint16Array",
    "bool": "Uint8Array",
    "int64": "BigInt64Array",
    "uint64": "BigUint64Array",
    **{f"float{bits}": f"Float{bits}Array" for bits in (32, 64)},
    **{f"int{bits}": f"Int{bits}Array" for bits in (8, 16, 32)},
    **{f"uint{bits}": f"Uint{bits}Array" for bits in (8, 16, 32)},
}
"""The typed array of each element type; halves are their bits."""


@dataclass(frozen=True)
class PackagedModule:
    """A module of a package: its role there (`fixed`, `relaxedThreads`), and its weights."""

    role: str
    name: str
    module: Module
    weights_name: str
    weights: Sequence[Chunk]


def package_file(
    name: str, version: str, entries: Mapping[str, Entry], modules: Sequence[PackagedModule]
) -> bytes:
    """The `.tgz` file of functions by name; that of a model has none."""
    contents: dict[str, bytes] = {}
    for each in modules:
        contents[each.name] = b"".join(map(bytes, each.module.file))
        contents[each.weights_name] = b"".join(map(bytes, each.weights))
    contents = {file: data for file, data in contents.items() if data}
    facts = dict(name=name, version=version, **_example(*next(iter(entries.items()))))
    texts = {
        "package.json": _manifest(name, version, sorted(contents)),
        "model.js": model_script(name, entries, modules),
        "index.d.ts": types_text({function: entry.interface for function, entry in entries.items()}),
        "README.md": Template(_text("README.md")).substitute(facts),
        "demo/index.html": Template(_text("demo.html")).substitute(facts),
        **{script: _text(script) for script in _SCRIPTS},
    }
    return _archive(contents | {file: text.encode() for file, text in texts.items()})


def _text(name: str) -> str:
    """A file of the folder `package`."""
    return files("stepwell.lowering.export.wasm").joinpath("package", name).read_text(encoding="utf-8")


def _archive(contents: Mapping[str, bytes]) -> bytes:
    """A compressed archive as npm reads it."""
    raw = io.BytesIO()
    with tarfile.open(fileobj=raw, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, data in sorted(contents.items()):
            info = tarfile.TarInfo(f"package/{name}")
            info.size, info.mode = len(data), 0o644
            archive.addfile(info, io.BytesIO(data))
    # Level 9 takes six times as long (4.3 in place of 0.7 s for 8 MB of weights) and saves 8 %.
    return gzip.compress(raw.getvalue(), 6, mtime=0)


def _manifest(name: str, version: str, modules: Sequence[str]) -> str:
    """`package.json`."""
    scripts = [*_SCRIPTS, "model.js", "index.d.ts", "demo"]
    about = {
        "name": name.lower().replace("_", "-").strip("-") or "model",
        "version": version,
        "description": f"The model {name}, compiled to WebAssembly by Stepwell",
        "type": "module",
        "exports": {".": {"types": "./index.d.ts", "default": "./index.js"}, "./*": "./*"},
        "types": "./index.d.ts",
        "files": [*modules, *scripts],
        "sideEffects": False,
    }
    return json.dumps(about, indent=2) + "\n"


# What calls need to know


def model_script(name: str, entries: Mapping[str, Entry], modules: Sequence[PackagedModule]) -> str:
    """`model.js`: names, sizes and files of a model or library."""
    rows = [
        f"    {each.role}: {{ wasm: {_url(each.name)}, heap: {each.module.heap}, "
        f"weights: {_url(each.weights_name) if each.weights else 'null'}, "
        f"weightBytes: {sum(map(len, each.weights))} }},"
        for each in modules
    ]
    return "\n".join(
        [
            "// The interface of the model, as compiled code expects it. Written by Stepwell.",
            "export const model = {",
            f"  name: {json.dumps(name)},",
            f"  stackBytes: {STACK_BYTES},",
            "  files: {",
            *rows,
            "  },",
            *_functions(name, entries),
            "};",
            "",
        ]
    )


def _functions(name: str, entries: Mapping[str, Entry]) -> list[str]:
    """The members for the functions of a library, or for that of a model."""
    if "" in entries:
        return _sides(entries[""])
    lines = ["  functions: {"]
    for function, entry in entries.items():
        head = f"    {json.dumps(function)}: {{ name: {json.dumps(joined_name(name, function))},"
        lines += [head, *(f"    {line}" for line in _sides(entry)), "    },"]
    return [*lines, "  },"]


def _sides(entry: Entry) -> list[str]:
    """The members for sizes, inputs and outputs."""
    interface = entry.interface
    return [
        f"  symbols: {json.dumps(caller_symbols(entry))},",
        f"  published: {json.dumps(interface.published)},",
        "  inputs: [",
        *(f"    {_spec(spec, False)}," for spec in interface.inputs),
        "  ],",
        "  outputs: [",
        *(f"    {_spec(spec, is_allocated(spec, interface))}," for spec in interface.outputs),
        "  ],",
    ]


def _url(name: str) -> str:
    """The address of a file beside the script, as bundlers look for it."""
    return f"new URL({json.dumps(f'./{name}')}, import.meta.url)"


def _spec(spec: TensorSpec, allocated: bool) -> str:
    """An input or output as an object of JavaScript."""
    dims = ", ".join(map(_dim, spec.dims))
    shown = json.dumps(", ".join(map(str, spec.dims)))
    known = (
        f"name: {json.dumps(spec.name)}, type: {json.dumps(spec.dtype.name)}, dims: [{dims}], shown: {shown}"
    )
    return f"{{ {known}{', allocated: true' if allocated else ''} }}"


def _dim(dim: Dim) -> str:
    """A number, the name of a symbol, or a function of the values of symbols."""
    if dim.is_static:
        return str(dim.value)
    if str(dim) in dim.symbols():
        return json.dumps(str(dim))
    return f"(s) => {dim.build(lambda name: f's[{json.dumps(name)}]', _EXPRESSIONS)}"


def _of_two(pattern: str) -> Callable[[str, str], str]:
    return lambda a, b: pattern.format(a=a, b=b)


_EXPRESSIONS = Algebra[str](
    number=str,
    add=_of_two("({a} + {b})"),
    multiply=_of_two("{a} * {b}"),
    floordiv=_of_two("Math.floor({a} / {b})"),
    ceildiv=_of_two("Math.ceil({a} / {b})"),
    minimum=_of_two("Math.min({a}, {b})"),
    maximum=_of_two("Math.max({a}, {b})"),
)
"""Sizes as expressions of JavaScript: sums have parentheses, and quotients are exact below 2^53."""


# Types


_OF_A_MODEL = """\
export interface Inputs {
$inputs
}

export interface Outputs {
$outputs
}

export type Model = Callable<Inputs, Outputs> & Loaded;"""
_OF_A_LIBRARY = """\
export interface Functions {
$functions
}

export interface Model extends Loaded {
  readonly functions: Functions;
}"""


def types_text(interfaces: Mapping[str, Interface]) -> str:
    """`index.d.ts`, for the names and element types of a model, or of the functions of a library."""
    if "" in interfaces:
        inputs, outputs = ("\n".join(f"  {line}" for line in side) for side in _members(interfaces[""]))
        own = Template(_OF_A_MODEL).substitute(inputs=inputs, outputs=outputs)
    else:
        lines: list[str] = []
        for function, interface in interfaces.items():
            inputs, outputs = ([f"    {line}" for line in side] for side in _members(interface))
            lines += [f"  {json.dumps(function)}: Callable<{{", *inputs, "  }, {", *outputs, "  }>;"]
        own = Template(_OF_A_LIBRARY).substitute(functions="\n".join(lines))
    return Template(_text("index.d.ts")).substitute(own=own)


def _members(interface: Interface) -> tuple[list[str], list[str]]:
    """The lines for inputs, and for outputs."""
    inputs = [line for spec in interface.inputs for line in _member(spec, "{array} | Tensor<{array}>")]
    return inputs, [line for spec in interface.outputs for line in _member(spec, "Tensor<{array}>")]


def _member(spec: TensorSpec, type: str) -> list[str]:
    dims = ", ".join(map(str, spec.dims))
    about = f"/** {spec.dtype.name}[{dims}] */"
    return [about, f"{json.dumps(spec.name)}: {type.format(array=_ARRAYS[spec.dtype.name])};"]


def _example(function: str, entry: Entry) -> dict[str, str]:
    """Call and feeds as JavaScript, with 1 for open sizes, and the name of the first output."""
    interface = entry.interface
    feeds: list[str] = []
    for spec in interface.inputs:
        ones = dict.fromkeys({symbol for dim in spec.dims for symbol in dim.symbols()}, 1)
        sizes = [dim.evaluate(ones) for dim in spec.dims]
        data = f"new {_ARRAYS[spec.dtype.name]}({prod(sizes)})"
        feeds.append(f"{json.dumps(spec.name)}: {{ data: {data}, dims: {json.dumps(sizes)} }}")
    return {
        "call": f"model.functions.{function}.run" if function else "model.run",
        "feeds": ", ".join(feeds),
        "output": json.dumps(interface.outputs[0].name) if interface.outputs else '""',
    }
