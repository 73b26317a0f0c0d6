"""
Model images: the functions of a compiled model with their code, and its weights, in memory or mapped.

Records that loading a model needs are named tuples: to make the class of a frozen dataclass takes 0.6 ms.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_check import WeightCheck
from stepwell.runtime.host import Callee
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.json_values import as_list, as_mapping, as_size, as_sizes, as_text, as_texts
from stepwell.runtime.link.code import Code
from stepwell.runtime.timing import TimedCall

MAIN = "main"
"""The name of the function that calling a model runs."""
VERSION = "main["
"""The beginning of the names of functions that `main` is for fixed sizes: `main[S=1]`."""
TARGET = "main for "
"""The beginning of the names of functions that `main` is for other targets, in order of preference."""
GREEDY = "tokens"
"""
The name of the function that `main` is with the most probable tokens in place of logits; after it come
`tokens[S=1]` and the like, as after `main`.
"""
LIBRARY = "functions of the library"
"""The key in a library's summary of the names of its functions; others have `main` or a program."""
NATIVE = "native functions"
"""The name of the entry with the native functions of a program, which no function of the IR has."""


ARRAY_CALLS = "calls on arrays"
"""The name of the entry with the function by which the machine calls segments."""
_NO_SEGMENTS = (NATIVE, ARRAY_CALLS)


class RuntimeErrorRow(NamedTuple):
    """The meaning of a nonzero return code of compiled code: error code, message, and the node at fault."""

    code: str
    message: str
    where: str

    def error(self, found: int, other: int) -> StepwellError:
        """The error of a call; `other` is the limit of a size, or what `found` must be equal to or below."""
        rest = f", possible are 0 to {other}" if self.code == "bad-size" else f" and {other}"
        return StepwellError(self.code, self.where, self.message, note=f"found {found}{rest}")


class Variant(NamedTuple):
    """The code of a function for one target, and maybe for fixed sizes."""

    triple: str
    features: tuple[str, ...]
    """CPU features that the code uses."""
    code: Code
    symbol: str = MAIN
    """The name of the function in the code."""
    pool: Code | None = None
    """The code of the thread pool; without it, calls use one thread."""
    tile_check: Code | None = None
    """The code that tries the tile registers, of a target that has them."""
    sizes: Mapping[str, int] = {}
    """The symbols of the interface that the code fixes, with their values."""


class Entry(NamedTuple):
    """A function of a model: interface, weights, callees, and code in variants, the preferred one first."""

    interface: Interface
    variants: tuple[Variant, ...] = ()
    weights: tuple[int, ...] = ()
    """The numbers of its weights in the image, in the order of its globals."""
    errors: tuple[RuntimeErrorRow, ...] = ()
    callees: tuple[Callee, ...] = ()
    """The functions outside of compiled code that it calls."""
    slots: int = 0
    """The number of slots, allocations whose size depends on data; those of outputs come first."""
    objects_per_call: int = 0
    """The number of Python objects of a call; inputs come first."""
    output_objects: tuple[int | None, ...] = ()
    """The index among these objects for each output, None for an array; empty when all outputs are arrays."""
    timed: tuple[TimedCall, ...] = ()
    """Its calls of kernels and of the host, in order, when it records their times."""
    pools: Mapping[str, int] = {}
    """The memories of the caller's that make up the arena, each with the bytes used; none for one memory."""

    def to_json(self) -> dict[str, object]:
        """All but variants and the code of callees as plain JSON values."""
        return {
            "interface": self.interface.to_json(),
            "weights": list(self.weights),
            "errors": [[row.code, row.message, row.where] for row in self.errors],
            "callees": [callee.to_json() for callee in self.callees],
            "host": [self.slots, self.objects_per_call, list(self.output_objects)],
            "timed": [call.to_json() for call in self.timed],
            **({"pools": [[name, size] for name, size in self.pools.items()]} if self.pools else {}),
        }

    @staticmethod
    def from_json(
        data: Mapping[str, object], codes: Sequence[bytes | memoryview], variants: tuple[Variant, ...]
    ) -> Entry:
        """
        The function that `to_json` described.

        Args: `codes` are the codes of its callees.
        Raises: ValueError, KeyError or TypeError when `data` is no such description.
        """
        slots, objects_per_call, output_objects = as_list(data["host"], 3)
        callees = map(as_mapping, as_list(data["callees"]))
        objects = as_size(objects_per_call)
        interface = Interface.from_json(as_mapping(data["interface"]))
        pools = {
            as_text(name): as_size(size)
            for name, size in (as_list(row, 2) for row in as_list(data.get("pools", ())))
        }
        if pools and sum(pools.values()) != interface.arena_bytes:
            raise ValueError(f"the memories have {sum(pools.values())} bytes, not {interface.arena_bytes}")
        return Entry(
            interface,
            variants,
            as_sizes(data["weights"]),
            tuple(RuntimeErrorRow(*map(as_text, as_list(row, 3))) for row in as_list(data["errors"])),
            tuple(Callee.from_json(c, code) for c, code in zip(callees, codes, strict=True)),
            as_size(slots),
            objects,
            tuple(None if n is None else _below(as_size(n), objects) for n in as_list(output_objects)),
            tuple(TimedCall.from_json(as_list(call)) for call in as_list(data["timed"])),
            pools,
        )


def _below(index: int, count: int) -> int:
    """The index of one of `count` things. Raises: ValueError for another."""
    if index >= count:
        raise ValueError(f"expected an index below {count}, found {index}")
    return index


class KeptBuffer(NamedTuple):
    """The memory of a value of `main` after a call, of a model compiled with kept values."""

    value: str
    """The name that the value has in the IR; empty for one that is in no buffer, a size or an object."""
    memory: str
    """`arena`; `slot`, allocated by the call; `output`, the caller's array; `host`, which is gone by then."""
    number: int
    """That of the slot or output."""
    offset: Dim
    """Bytes from the begin of the arena."""
    dims: tuple[Dim, ...]
    dtype: str


def kept_buffers(facts: Mapping[str, object]) -> tuple[KeptBuffer, ...]:
    """
    The memory of kept values, as the facts of a planned `main` describe it; empty without facts.

    Raises: ValueError, TypeError, KeyError.
    """
    parts = map(Dim.of, as_texts(facts.get("parts", ())))
    begins = tuple(accumulate(parts, initial=Dim.of(0)))
    return tuple(_kept_buffer(as_mapping(entry), begins) for entry in as_list(facts.get("values", ())))


def _kept_buffer(entry: Mapping[str, object], begins: Sequence[Dim]) -> KeptBuffer:
    if not entry:
        return KeptBuffer("", "", 0, Dim.of(0), (), "")
    value, memory, dtype = (as_text(entry[key]) for key in ("value", "memory", "dtype"))
    dims = tuple(map(Dim.of, as_texts(entry["dims"])))
    offset = begins[as_size(entry["part"])] + as_size(entry["offset"])
    return KeptBuffer(value, memory, as_size(entry["index"]), offset, dims, dtype)


class ModelImage(NamedTuple):
    """The contents of a compiled model: functions by name, weights, and facts about both."""

    functions: Mapping[str, Entry]
    weights: tuple[Array, ...]
    """The weights of all functions, each at 64-byte alignment."""
    summary: Mapping[str, object] = {}
    """Facts for users: nodes, kernels, sizes."""
    effort: Mapping[str, object] = {}
    """The effort of this compilation: `seconds` of each step, `cached kernels`. Not stored."""
    ir: Mapping[str, str] = {}
    """The IR at each level as text, if asked for."""
    buffers: tuple[KeptBuffer, ...] = ()
    """
    The memory of the results of all calls in `main`, in order, those in branches and loops included; empty
    without `keep_values`. Not stored.
    """
    weight_check: WeightCheck | None = None
    """The check of weights that come from a file, to wait for before their first use."""
    program: bytes = b""
    """Bytecode, of a model that is a program: its functions are then segments, and it needs no `main`."""

    @property
    def versions(self) -> Mapping[str, Entry]:
        """The functions for fixed sizes, which calls of these sizes run instead of `main`."""
        return {name: entry for name, entry in self.functions.items() if name.startswith(VERSION)}

    @property
    def greedy(self) -> ModelImage | None:
        """The image whose `main` returns tokens in place of logits, on the same states."""
        if GREEDY not in self.functions or self.is_library:
            return None
        own = {n: entry for n, entry in self.functions.items() if n == GREEDY or n.startswith(f"{GREEDY}[")}
        functions = {name.replace(GREEDY, MAIN, 1): entry for name, entry in own.items()}
        return self._replace(functions=functions, buffers=())

    @property
    def targets(self) -> tuple[Entry, ...]:
        """`main` for each target of the file, the preferred one first; empty for programs and libraries."""
        others = (entry for name, entry in self.functions.items() if name.startswith(TARGET))
        return (self.functions[MAIN], *others) if MAIN in self.functions else ()

    @property
    def segments(self) -> Mapping[str, Entry]:
        """The functions of a program that its bytecode calls."""
        return {name: entry for name, entry in self.functions.items() if name not in _NO_SEGMENTS}

    @property
    def is_library(self) -> bool:
        """Whether these are functions of a library, of which none is called by default."""
        return MAIN not in self.functions and not self.program

    @property
    def main(self) -> Entry:
        """The function that calling the model runs. Raises: StepwellError `no-main` for a program."""
        if self.is_library:
            message = f"the artifact is a library of {', '.join(self.functions)}"
            help = "`stepwell.load(path)[NAME]` is a model"
            raise StepwellError("no-main", None, message, help=help)
        if MAIN not in self.functions:
            help = "`stepwell.load` and `stepwell run` run its bytecode"
            raise StepwellError(
                "no-main", None, "the model is a program: it has no compiled @main", help=help
            )
        return self.functions[MAIN]
