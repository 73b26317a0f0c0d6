"""A program in C that calls an exported model once, as an example of its header."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from stepwell.lowering.export.entry_object import is_allocated
from stepwell.lowering.export.header import C_TYPES
from stepwell.lowering.export.names import caller_symbols, identifiers
from stepwell.runtime.dims import Dim
from stepwell.runtime.image import Entry
from stepwell.runtime.interface import TensorSpec

_SHOWN = 8  # values of an output
_HEAD = """\
/* Calls the model once, with zeros and ones and open sizes of 1, and prints the begin of its outputs. */
#include "@FILE@.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *allocate(void *user, int64_t slot, int64_t bytes) { /* freed by the end of the program */
  char *memory = malloc((size_t)bytes + 64);
  (void)user;
  (void)slot;
  return memory == NULL ? NULL : memory + (64 - (uintptr_t)memory % 64) % 64;
}

static int failed(const char *why) {
  fprintf(stderr, "%s\\n", why);
  return 1;
}
"""
_WEIGHTS = """\
  FILE *file = argc > 1 ? fopen(argv[1], "rb") : NULL;
  void *weights = allocate(NULL, 0, @UPPER@_WEIGHT_BYTES);
  if (file == NULL || fread(weights, 1, @UPPER@_WEIGHT_BYTES, file) != @UPPER@_WEIGHT_BYTES)
    return failed("expected the path of @FILE@.weights");
  if (@FILE@_check_weights(weights, @UPPER@_WEIGHT_BYTES) != STEPWELL_OK)
    return failed("these are the weights of another model");
"""
_STATES = """\
  @NAME@_states states;
  void *memory = allocate(NULL, 0, @NAME@_states_bytes(@DIMS@));
"""
_PLACED = """\
  if (@NAME@_states_init(&states, memory@DIMS@) != STEPWELL_OK) return failed("no memory for states");
"""
_WORKSPACE = """\
  call.workspace = allocate(NULL, 0, bytes);
  call.workspace_bytes = (size_t)bytes;"""
_CALL = """\
  if (!@FILE@_supported()) return failed("this CPU lacks what the code needs");
  if (bytes < 0) return failed(@NAME@_message((int32_t)bytes));
  memset(&call, 0, sizeof call);
@MEMORY@
  call.allocate = allocate;
"""


def example_program(name: str, entry: Entry, weights: str, file: str) -> str:
    """
    The program of a function.

    Args: `weights` is their place, `embed` or `file`; `file` is the name of header and weights.
    """
    interface, symbols = entry.interface.public, caller_symbols(entry)
    has_states = bool(entry.interface.states)
    inputs = _members(interface.inputs, entry.interface.inputs)
    outputs = _members(interface.outputs, entry.interface.outputs)
    sizes = {symbol: 1 for spec in entry.interface.inputs for dim in spec.dims for symbol in dim.symbols()}
    made = [is_allocated(spec, interface) for spec in interface.outputs]
    out = [("&" if is_made else "") + f"out_{each}" for each, is_made in zip(outputs, made, strict=True)]
    arguments = ["&in", "&out", *(["&dims"] if symbols else [])]
    arguments += [*(["&shapes"] if interface.published else []), *(["&states"] if has_states else [])]
    arguments.append("&call")
    call = "step" if has_states else "run"
    given = [f".{each} = in_{each}" if has_states else f"in_{each}" for each in inputs]
    taken = [f".{n} = {each}" if has_states else each for n, each in zip(outputs, out, strict=True)]
    body = [
        f"  {name}_inputs in = {{{', '.join(given) or '0'}}};",
        f"  {name}_outputs out = {{{', '.join(taken) or '0'}}};",
        *([f"  {name}_dims dims = {{{', '.join('1' for _ in symbols)}}};"] if symbols else []),
        *([f"  {name}_shapes shapes;"] if interface.published else []),
        f"  {name}_call call;",
        f"  int64_t bytes = {name}_workspace_bytes({'&dims' if symbols else ''});",
        "  int32_t status;",
        *([_STATES.rstrip().replace("@DIMS@", "&dims" if symbols else "")] if has_states else []),
        *([_WEIGHTS.rstrip()] if weights == "file" else []),
        *[_filled(spec, each) for spec, each in zip(interface.inputs, inputs, strict=True)],
        _CALL.replace("@MEMORY@", _memories(entry))
        + ("  call.weights = weights;" if weights == "file" else "  (void)argc, (void)argv;"),
        *([_PLACED.rstrip().replace("@DIMS@", ", &dims" if symbols else "")] if has_states else []),
        f"  status = {name}_{call}({', '.join(arguments)});",
        f"  if (status != STEPWELL_OK) return failed({name}_message(status));",
        *[_shown(each) for each, is_made in zip(outputs, made, strict=True) if not is_made],
        "  return 0;",
    ]
    text = "\n".join(
        [
            _HEAD,
            *_arrays("in", interface.inputs, inputs, sizes, [False] * len(inputs)),
            *_arrays("out", interface.outputs, outputs, sizes, made),
            "",
            "int main(int argc, char **argv) {",
            *body,
            "}\n",
        ]
    )
    return text.replace("@NAME@", name).replace("@FILE@", file).replace("@UPPER@", file.upper())


def _memories(entry: Entry) -> str:
    """The lines of a call for the workspace, or for the memory pools."""
    sizes = enumerate(entry.pools.values())
    return "\n".join(f"  call.memories[{i}] = allocate(NULL, 0, {size});" for i, size in sizes) or _WORKSPACE


def _members(specs: Sequence[TensorSpec], all: Sequence[TensorSpec]) -> list[str]:
    """The members of a struct for some of its arrays."""
    names = dict(zip([spec.name for spec in all], identifiers([spec.name for spec in all]), strict=True))
    return [names[spec.name] for spec in specs]


def _arrays(
    side: str,
    specs: Sequence[TensorSpec],
    names: Sequence[str],
    sizes: Mapping[str, int],
    made: Sequence[bool],
) -> list[str]:
    """The definitions of arrays; of pointers for those that the call allocates."""
    lines: list[str] = []
    for spec, name, is_made in zip(specs, names, made, strict=True):
        declared = f"*{side}_{name}" if is_made else f"{side}_{name}[{_elements(spec, sizes)}]"
        lines.append(f"static {_type(spec)} {declared};")
    return lines


def _filled(spec: TensorSpec, name: str) -> str:
    """The loop that fills an input."""
    return (
        f"  for (size_t i = 0; i < sizeof in_{name} / sizeof *in_{name}; i++)\n"
        f"    in_{name}[i] = ({_type(spec)})(i % 2);"
    )


def _shown(name: str) -> str:
    """The lines that print an output."""
    return (
        f'  printf("{name}:");\n'
        f"  for (size_t i = 0; i < {_SHOWN} && i < sizeof out_{name} / sizeof *out_{name}; i++)\n"
        f'    printf(" %g", (double)out_{name}[i]);\n'
        '  printf("\\n");'
    )


def _type(spec: TensorSpec) -> str:
    return C_TYPES.get(spec.dtype.name, "uint8_t")


def _elements(spec: TensorSpec, sizes: Mapping[str, int]) -> int:
    """The number of elements, at least 1, as C has no empty arrays."""
    return max(1, prod(_size(dim, sizes) for dim in spec.dims))


def _size(dim: Dim, sizes: Mapping[str, int]) -> int:
    return dim.evaluate(dict(sizes)) if dim.symbols() <= sizes.keys() else 1
