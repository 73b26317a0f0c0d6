"""The part of a header for models with states: their struct, and functions on it, which calls need."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from stepwell.lowering.export.names import caller_symbols, identifiers
from stepwell.runtime.abi import ARENA_ALIGNMENT
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry
from stepwell.runtime.integers.expression_text import Algebra
from stepwell.runtime.interface import Interface, StateSpec, TensorSpec

_FUNCTIONS = """\
/* The memory of all states, or a status. */
static inline int64_t @NAME@_states_bytes(@DIMS_ALONE@) {
  int64_t bytes = @NAME@_workspace_bytes(@PASSED_ALONE@);
  if (bytes < 0) return bytes;
  return @TOTAL@;
}

/* Places states in memory aligned to @ALIGN@, as zeros. */
static inline int32_t @NAME@_states_init(@NAME@_states *states, void *memory@DIMS@) {
  unsigned char *at = (unsigned char *)memory;
  int64_t bytes = @NAME@_states_bytes(@PASSED_ALONE@), i;
  if (states == NULL || memory == NULL) return STEPWELL_BAD_ARGUMENT;
  if ((uintptr_t)memory % @ALIGN@ != 0) return STEPWELL_BAD_ALIGNMENT;
  if (bytes < 0) return STEPWELL_BAD_ARGUMENT;
  for (i = 0; i < bytes; i++) at[i] = 0;
@PLACED@  (void)at;
  return STEPWELL_OK;
}

/* Copies states to others of the same sizes, which @NAME@_states_init has placed. */
static inline int32_t @NAME@_states_copy(@NAME@_states *to, const @NAME@_states *from@DIMS@) {
  int64_t bytes = @NAME@_states_bytes(@PASSED_ALONE@), i;
  if (to == NULL || from == NULL || bytes < 0) return STEPWELL_BAD_ARGUMENT;
@COPIED@  (void)i;
  return STEPWELL_OK;
}

/* A call on states, which it changes; the members of inputs and outputs that are states may be unset. */
static inline int32_t @NAME@_step(const @NAME@_inputs *inputs, const @NAME@_outputs *outputs@DIMS@,
                                  @SHAPES@@NAME@_states *states, @NAME@_call *call) {
  @NAME@_inputs in;
  @NAME@_outputs out;
  int32_t status;
  if (inputs == NULL || outputs == NULL || states == NULL || call == NULL) return STEPWELL_BAD_ARGUMENT;
  in = *inputs;
  out = *outputs;
@BOUND@  status = @NAME@_run(&in, &out@PASSED@@FOUND@, call);
  if (status != STEPWELL_OK) return status;
@NEXT@  return STEPWELL_OK;
}
"""
_ROOM = """\
  if (@NAME@_workspace_bytes(@PASSED_ALONE@) >= 0) { /* else the call says why not */
    call->values[0] = states->@LENGTH@ + @NEW@;
    call->values[1] = @CAPACITY@;
    if (states->@LENGTH@ < 0 || call->values[0] > call->values[1]) return STEPWELL_STATE_FULL;
  }
"""


def expect_zero_states(entry: Entry) -> None:
    """Require states that begin with zeros. Raises: StepwellError `unsupported-interface`."""
    for state in entry.interface.states:
        if state.initial is not None:
            message = f"the state {state.name!r} begins with other values than zeros, and a header has none"
            help = "a .stepwell file has them; without the mark graph.state it is an input and an output"
            raise StepwellError("unsupported-interface", None, message, help=help)


def states_text(name: str, entry: Entry, types: Mapping[str, str]) -> str:
    """
    The struct of states of a function, and the functions on it; nothing for a model without.

    Args: `types` are the types in C of element types.
    """
    return _States(name, entry, types).text() if entry.interface.states else ""


class _States:
    """The C of the states of a function."""

    def __init__(self, name: str, entry: Entry, types: Mapping[str, str]):
        self._name, self._types = name, types
        self._interface: Interface = entry.interface
        symbols = caller_symbols(entry)
        self._symbols = dict(zip(symbols, identifiers(symbols), strict=True))
        states = self._interface.states
        self._names = dict(zip([s.name for s in states], identifiers([s.name for s in states]), strict=True))
        self._inputs = identifiers([spec.name for spec in self._interface.inputs])
        self._outputs = identifiers([spec.name for spec in self._interface.outputs])
        self._arrays = [state for state in states if state.adds is None]
        self._lengths = [self._names[state.name] for state in states if state.adds is not None]

    def text(self) -> str:
        """The struct and the functions."""
        name, has_dims = self._name, bool(self._symbols)
        declared = f"const {name}_dims *dims"
        words = {
            "@PLACED@": "".join(self._placed()),
            "@COPIED@": "".join(self._copied()),
            "@BOUND@": "".join(self._bound()),
            "@NEXT@": "".join(self._next()),
            "@DIMS_ALONE@": declared if has_dims else "void",
            "@PASSED_ALONE@": "dims" if has_dims else "",
            "@DIMS@": f", {declared}" if has_dims else "",
            "@PASSED@": ", dims" if has_dims else "",
            "@SHAPES@": f"{name}_shapes *shapes, " if self._interface.published else "",
            "@FOUND@": ", shapes" if self._interface.published else "",
            "@TOTAL@": " + ".join(map(self._room, self._buffers())) or "0",
            "@ALIGN@": str(ARENA_ALIGNMENT),
            "@NAME@": name,
        }
        return f"{self._struct()}\n{_filled_in(_FUNCTIONS, words)}"

    def _struct(self) -> str:
        lines = ["typedef struct { /* values that live between calls */"]
        for state in self._interface.states:
            spec, member = self._spec(state), self._names[state.name]
            if state.adds is not None:
                lines.append(f"  int64_t {member}; /* positions so far: less of them is a step back */")
                continue
            type = self._type(spec)
            other = f", *{self._spare(state)}" if self._is_exchanged(state) else ""
            note = "; each call exchanges both" if other else ""
            lines.append(f"  {type} *{member}{other}; /* {spec}{note} */")
        return "\n".join([*lines, f"}} {self._name}_states;"])

    def _spec(self, state: StateSpec) -> TensorSpec:
        return self._interface.inputs[state.input]

    def _type(self, spec: TensorSpec) -> str:
        return self._types.get(spec.dtype.name, "uint8_t")

    @staticmethod
    def _is_exchanged(state: StateSpec) -> bool:
        """Whether code writes the next value elsewhere."""
        return state.output is not None and not state.is_in_place

    def _spare(self, state: StateSpec) -> str:
        """The member for the next value of a state that is not written in place."""
        return f"{self._names[state.name]}_next"

    def _buffers(self) -> list[StateSpec]:
        """The state of each buffer: twice where two are exchanged."""
        return [s for s in self._arrays for _ in range(1 + self._is_exchanged(s))]

    def _bytes(self, state: StateSpec) -> str:
        """The bytes of a state."""
        spec = self._spec(state)
        return self._size(prod(spec.dims, start=Dim.of(spec.dtype.itemsize)))

    def _room(self, state: StateSpec) -> str:
        """The bytes of a state up to the next multiple of the alignment."""
        return f"(({self._bytes(state)}) + {ARENA_ALIGNMENT - 1}) / {ARENA_ALIGNMENT} * {ARENA_ALIGNMENT}"

    def _size(self, dim: Dim) -> str:
        return dim.build(lambda symbol: f"dims->{self._symbols[symbol]}", _ALGEBRA)

    def _placed(self) -> list[str]:
        lines: list[str] = []
        for state in self._arrays:
            names = [self._names[state.name]]
            names += [self._spare(state)] if self._is_exchanged(state) else []
            for member in names:
                lines.append(f"  states->{member} = ({self._type(self._spec(state))} *)(void *)at;\n")
                lines.append(f"  at += {self._room(state)};\n")
        return [*lines, *(f"  states->{member} = 0;\n" for member in self._lengths)]

    def _copied(self) -> list[str]:
        lines: list[str] = []
        for state in self._arrays:
            own = self._names[state.name]
            source = f"((const unsigned char *)from->{own})[i]"
            lines.append(
                f"  for (i = 0; i < {self._bytes(state)}; i++) ((unsigned char *)to->{own})[i] = {source};\n"
            )
        return [*lines, *(f"  to->{member} = from->{member};\n" for member in self._lengths)]

    def _bound(self) -> list[str]:
        """The test of room, and the members of inputs and outputs that are states."""
        lines: list[str] = []
        for state in self._interface.states:
            member = self._names[state.name]
            place = f"&states->{member}" if state.adds is not None else f"states->{member}"
            lines.append(f"  in.{self._inputs[state.input]} = {place};\n")
            if state.adds is not None:
                lines.insert(0, self._test_of_room(state.adds, member))
            if state.output is not None:
                written = f"states->{self._spare(state)}" if self._is_exchanged(state) else place
                lines.append(f"  out.{self._outputs[state.output]} = {written};\n")
        return lines

    def _test_of_room(self, adds: Dim, length: str) -> str:
        growing = next(s for s in self._interface.states if s.axis is not None)
        assert growing.axis is not None
        words = {
            "@NEW@": self._size(adds),
            "@CAPACITY@": self._size(self._spec(growing).dims[growing.axis]),
            "@LENGTH@": length,
        }
        return _filled_in(_ROOM, words)

    def _next(self) -> list[str]:
        """The exchange of buffers, and the new length."""
        lines: list[str] = []
        for state in self._interface.states:
            member = self._names[state.name]
            if state.adds is not None:
                lines.append(f"  states->{member} += {self._size(state.adds)};\n")
            elif self._is_exchanged(state):
                assert state.output is not None
                lines.append(f"  states->{self._spare(state)} = states->{member};\n")
                lines.append(f"  states->{member} = out.{self._outputs[state.output]};\n")
        return lines


def _filled_in(text: str, words: Mapping[str, str]) -> str:
    """A text with words replaced, one after the other: the values of the first may have the others."""
    for word, value in words.items():
        text = text.replace(word, value)
    return text


_ALGEBRA = Algebra[str](
    number=str,
    add=lambda a, b: f"({a} + {b})",
    multiply=lambda a, b: f"({a} * {b})",
    floordiv=lambda a, b: f"(({a}) / ({b}))",
    ceildiv=lambda a, b: f"(({a}) + ({b}) - 1) / ({b})",
    minimum=lambda a, b: f"(({a}) < ({b}) ? ({a}) : ({b}))",
    maximum=lambda a, b: f"(({a}) > ({b}) ? ({a}) : ({b}))",
)
"""Sizes that `workspace_bytes` has checked, none of them negative, as C."""
