"""The functions by which programs call a model that is C: sizes, the call, messages, the description."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from stepwell.lowering.export.entry_object import is_allocated, located
from stepwell.lowering.export.names import caller_symbols, identifiers
from stepwell.lowering.export.parts import Chunk
from stepwell.lowering.export.weights_check import weights_sum
from stepwell.runtime.abi import ARENA_ALIGNMENT, ENTRY_MESSAGES, FAILED_CHECK, MAX_ENTRY_SIZE
from stepwell.runtime.dims import Dim
from stepwell.runtime.image import Entry
from stepwell.runtime.integers.expression_text import Algebra
from stepwell.runtime.interface import MAX_TENSOR_BYTES, Interface, TensorSpec

_CHECKED = """
static int64_t checked_sum(int64_t a, int64_t b, int *bad) {
  if (b > 0 ? a > INT64_MAX - b : a < INT64_MIN - b) {
    *bad = 1;
    return 1;
  }
  return a + b;
}

static int64_t checked_product(int64_t a, int64_t b, int *bad) {
  const int64_t limit = INT64_C(1) << 62;
  int64_t most;
  if (a < -limit || a > limit) {
    *bad = 1;
    return 1;
  }
  most = a == 0 ? limit : limit / (a < 0 ? -a : a);
  if (b < -most || b > most) {
    *bad = 1;
    return 1;
  }
  return a * b;
}

static int64_t checked_quotient(int64_t a, int64_t b, int *bad) {
  if (b <= 0) {
    *bad = 1;
    return 1;
  }
  return a % b < 0 ? a / b - 1 : a / b;
}

static int64_t checked_ceiling(int64_t a, int64_t b, int *bad) {
  if (b <= 0) {
    *bad = 1;
    return 1;
  }
  return a % b > 0 ? a / b + 1 : a / b;
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t greater(int64_t a, int64_t b) { return a > b ? a : b; }
"""
_WORKSPACE_CHECKS = (
    "if (bytes != 0 && call->workspace == NULL) return STEPWELL_BAD_ARGUMENT;",
    "if ((uint64_t)call->workspace_bytes < (uint64_t)bytes) return STEPWELL_SMALL_WORKSPACE;",
    f"if ((uintptr_t)call->workspace % {ARENA_ALIGNMENT} != 0) return STEPWELL_BAD_ALIGNMENT;",
)
_LONGEST_LITERAL = 4000
_COLUMNS = 100


class EntryText:
    """
    The C of an entry.

    Args: `types` are those of the parameters of `main`, the function's `@main`, for inputs and outputs;
    `file` is the name of the whole file.
    """

    def __init__(self, name: str, entry: Entry, weights: str, types: Sequence[str], main: str, file: str):
        self._name, self._entry, self._weights, self._types = name, entry, weights, types
        self._main, self._file = main, file
        self._pools = list(entry.pools.values())
        self._workspace = Dim.of(0) if entry.pools else entry.interface.arena_bytes
        self._symbols = caller_symbols(entry)
        self._rows = [located(f"{row.code}: {row.message}", row.where) for row in entry.errors]
        self._checks = [
            (c.left, c.right, located(f"shape-mismatch: {c.left} must equal {c.right}", c.where))
            for c in entry.interface.checks
        ]

    @property
    def _interface(self) -> Interface:
        return self._entry.interface

    def helpers(self) -> list[str]:
        """The functions that compute sizes with checks, as far as they are called."""
        text = self._workspace_bytes()
        return [part for part in _CHECKED.strip().split("\n\n") if f"{_name_of(part)}(" in text]

    def text(self, description: str) -> str:
        """All functions but those of `helpers`; `description` is what the last one returns."""
        parts = [self._workspace_bytes(), self._run(), self._message()]
        return "\n".join([*parts, constant_text(f"{self._name}_json", description)])

    # Sizes

    def _workspace_bytes(self) -> str:
        name, symbols = self._name, self._symbols
        argument = f"const {name}_dims *dims" if symbols else "void"
        lines = [f"int64_t {name}_workspace_bytes({argument}) {{"]
        values = dict(zip(symbols, identifiers(symbols), strict=True))
        algebra = _algebra()

        def size(dim: Dim) -> str:
            return dim.build(lambda symbol: f"dims->{values[symbol]}", algebra)

        arena = size(self._workspace)
        sizes = [size(_bytes(spec)) for spec in self._fixed_specs()]
        checks = [(size(left), size(right)) for left, right, _ in self._checks]
        body: list[str] = []
        if symbols:
            body.append("if (dims == NULL) return STEPWELL_BAD_ARGUMENT;")
        for value in values.values():
            place = f"dims->{value}"
            body.append(
                f"if ({place} < 0 || {place} > INT64_C({MAX_ENTRY_SIZE})) return STEPWELL_BAD_ARGUMENT;"
            )
        open_sizes = [text for text in dict.fromkeys((*sizes, arena)) if not text.lstrip("-").isdigit()]
        for text in open_sizes:
            body.append(f"bytes = {text};")
            body.append(f"if (bytes < 0 || bytes > INT64_C({MAX_TENSOR_BYTES})) bad = 1;")
        for number, (left, right) in enumerate(checks):
            status = FAILED_CHECK - (len(self._rows) + 1 + number)
            body.append(f"if ({left} != {right}) failed_check = {status};")
        if open_sizes or checks:
            body.append("if (bad) return STEPWELL_BAD_ARGUMENT;")
        if checks:
            body.append("if (failed_check != 0) return failed_check;")
        is_open = bool(open_sizes or checks)
        declared = ["int bad = 0;"] if is_open else []
        declared += ["int64_t bytes;"] if open_sizes else []
        declared += ["int64_t failed_check = 0;"] if checks else []
        result = "bytes" if arena in open_sizes and open_sizes[-1] == arena else arena
        lines += [f"  {line}" for line in (*declared, *body, f"return {result};")]
        return "\n".join([*lines, "}"]) + "\n"

    def _fixed_specs(self) -> list[TensorSpec]:
        """Inputs and outputs whose size does not depend on data."""
        specs = (*self._interface.inputs, *self._interface.outputs)
        return [spec for spec in specs if not is_allocated(spec, self._interface)]

    # The call

    def _run(self) -> str:
        name, interface = self._name, self._interface
        arguments = [f"const {name}_inputs *inputs", f"const {name}_outputs *outputs"]
        arguments += [f"const {name}_dims *dims"] if self._symbols else []
        arguments += [f"{name}_shapes *shapes"] if interface.published else []
        arguments.append(f"{name}_call *call")
        pointers = ["inputs", "outputs", "call"] + (["shapes"] if interface.published else [])
        inputs = [f"inputs->{each}" for each in identifiers([spec.name for spec in interface.inputs])]
        outputs = [f"outputs->{each}" for each in identifiers([spec.name for spec in interface.outputs])]
        dims = "dims" if self._symbols else ""
        body = [
            _require(pointers),
            *([_require([*inputs, *outputs])] if inputs or outputs else []),
            f"bytes = {name}_workspace_bytes({dims});",
            f"if (bytes <= {FAILED_CHECK}) return (int32_t)({FAILED_CHECK} - bytes);",
            "if (bytes < 0) return (int32_t)bytes;",
            *(self._pool_checks() if self._pools else _WORKSPACE_CHECKS),
            *self._weight_checks(),
            "call->values[0] = 0;",
            "call->values[1] = 0;",
            *self._call(inputs, outputs),
        ]
        head = f"int32_t {name}_run({', '.join(arguments)}) {{"
        declared = ["int64_t bytes;", "int32_t status;"]
        declared += ["void *allocated[MODEL_OUTPUTS];"] if self._entry.slots else []
        declared += [f"int64_t found[{len(interface.published)}];"] if interface.published else []
        return "\n".join([head, *(f"  {line}" for line in (*declared, *body)), "}"]) + "\n"

    def _pool_checks(self) -> list[str]:
        places = [f"call->memories[{number}]" for number, size in enumerate(self._pools) if size]
        lines = [f"if ({place} == NULL) return STEPWELL_BAD_ARGUMENT;" for place in places]
        bad = f"% {ARENA_ALIGNMENT} != 0) return STEPWELL_BAD_ALIGNMENT;"
        return [*lines, *(f"if ((uintptr_t){place} {bad}" for place in places)]

    def _weight_checks(self) -> list[str]:
        if not self._entry.weights or self._weights == "embed":
            return []
        if self._weights == "file":
            return [
                "if (call->weights == NULL) return STEPWELL_NO_WEIGHTS;",
                f"if ((uintptr_t)call->weights % {ARENA_ALIGNMENT} != 0) return STEPWELL_BAD_ALIGNMENT;",
            ]
        base = f"{self._file}_weights"
        return [f"if ((uintptr_t){base} % {ARENA_ALIGNMENT} != 0) return STEPWELL_BAD_ALIGNMENT;"]

    def _call(self, inputs: Sequence[str], outputs: Sequence[str]) -> list[str]:
        interface = self._interface
        arguments = ["call"]
        arguments += ["found"] if interface.published else []
        arguments += ["allocated"] if self._entry.slots else []
        places: list[str] = []
        specs = (*interface.inputs, *interface.outputs)
        for spec, place, type in zip(specs, (*inputs, *outputs), self._types, strict=True):
            places.append("NULL" if is_allocated(spec, interface) else f"({type}){place}")
        names = dict(zip(self._symbols, identifiers(self._symbols), strict=True))
        sizes = [f"(ptrdiff_t)dims->{names[symbol]}" for symbol in interface.symbols]
        memories = [f"(uint8_t *)call->memories[{number}]" for number in range(len(self._pools))]
        arguments += [*places, *(memories or ["(uint8_t *)call->workspace"]), *sizes]
        lines = [f"status = {self._main}({', '.join(arguments)});", "if (status != 0) return status;"]
        for number, (spec, place) in enumerate(zip(interface.outputs, outputs, strict=True)):
            if is_allocated(spec, interface):
                lines.append(f"*{place} = allocated[{number}];")
        for number, symbol in enumerate(identifiers(interface.published)):
            lines.append(f"shapes->{symbol} = found[{number}];")
        return [*lines, "return 0;"]

    # Messages

    def _message(self) -> str:
        rows = [*self._rows, *(message for _, _, message in self._checks)]
        lines = [f"const char *{self._name}_message(int32_t status) {{"]
        if rows:
            lines += ["  static const char *const rows[] = {"]
            lines += [f"    {c_string(row[:_LONGEST_LITERAL])}," for row in rows]
            lines += ["  };", f"  if (status <= {FAILED_CHECK}) status = {FAILED_CHECK} - status;"]
            lines.append(f"  if (status > 0 && status <= {len(rows)}) return rows[status - 1];")
        lines.append("  switch (status) {")
        lines.append('    case 0: return "ok";')
        for status, message in ENTRY_MESSAGES.items():
            lines.append(f"    case STEPWELL_{status.name}: return {c_string(message)};")
        lines += ['    default: return "unknown status";', "  }", "}"]
        return "\n".join(lines) + "\n"


def _name_of(function: str) -> str:
    return function.partition("(")[0].split()[-1].lstrip("*")


def _bytes(spec: TensorSpec) -> Dim:
    total = Dim.of(spec.dtype.itemsize)
    for dim in spec.dims:
        total = total * dim
    return total


def _algebra() -> Algebra[str]:
    """Dimension expressions as C, in which overflow and bad divisors are noted in `bad`."""
    return Algebra[str](
        number=lambda number: str(number) if abs(number) < 1 << 31 else f"INT64_C({number})",
        add=lambda a, b: f"checked_sum({a}, {b}, &bad)",
        multiply=lambda a, b: f"checked_product({a}, {b}, &bad)",
        floordiv=lambda a, b: f"checked_quotient({a}, {b}, &bad)",
        ceildiv=lambda a, b: f"checked_ceiling({a}, {b}, &bad)",
        minimum=lambda a, b: f"lesser({a}, {b})",
        maximum=lambda a, b: f"greater({a}, {b})",
    )


def _require(pointers: Sequence[str]) -> str:
    """A test that pointers are there."""
    tests = " || ".join(f"{pointer} == NULL" for pointer in pointers)
    return f"if ({tests}) return STEPWELL_BAD_ARGUMENT;"


_ESCAPES: Mapping[str, str] = {'"': '\\"', "\\": "\\\\", "?": "\\?"}


def c_string(text: str) -> str:
    """A string literal of C, without trigraphs."""
    parts: list[str] = []
    for byte in text.encode():
        char = chr(byte)
        parts.append(_ESCAPES.get(char, char) if 32 <= byte < 127 else f"\\{byte:03o}")
    return f'"{"".join(parts)}"'


def constant_text(function: str, text: str) -> str:
    """A function that returns a text of any length: C99 promises literals of 4,095 characters only."""
    if len(text) < _LONGEST_LITERAL:
        return f"const char *{function}(void) {{\n  return {c_string(text)};\n}}\n"
    lines, line = [f"const char *{function}(void) {{", "  static const unsigned char text[] = {"], "   "
    for byte in (*text.encode(), 0):
        if len(line) > _COLUMNS - 5:
            lines.append(line)
            line = "   "
        line += f" {byte},"
    lines += [line, "  };", "  return (const char *)text;", "}"]
    return "\n".join(lines) + "\n"


def weights_check_function(name: str, weights: Sequence[Chunk]) -> str:
    """The function that compares weights in a file of their own with those of the model."""
    data = np.frombuffer(b"".join(weights), np.uint8)
    whole = data.size // 8 * 8
    return f"""\
int32_t {name}_check_weights(const void *base, size_t bytes) {{
  const unsigned char *p = (const unsigned char *)base;
  uint64_t sum = 0, word;
  size_t i, j;
  if (base == NULL || bytes != {data.size}) return STEPWELL_NO_WEIGHTS;
  for (i = 0; i < {whole}; i += 8) {{
    word = 0;
    for (j = 8; j > 0; j--) word = word << 8 | p[i + j - 1];
    sum += word * ((uint64_t)(i / 8) * 2 + 1);
  }}
  for (i = {whole}; i < {data.size}; i++) sum = (sum << 8) + p[i];
  return sum == UINT64_C({weights_sum(data)}) ? 0 : STEPWELL_NO_WEIGHTS;
}}
"""
