"""The header of an exported model, for C99 and C++: types of inputs and outputs, functions, limits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from stepwell.lowering.export.cpu_check import CPUID, needs_cpuid, supported_function
from stepwell.lowering.export.elf_parts import pool_links
from stepwell.lowering.export.entry_object import is_allocated
from stepwell.lowering.export.names import caller_symbols, identifiers
from stepwell.lowering.export.states_header import states_text
from stepwell.lowering.kernels.exported_pool import POOL_BYTES
from stepwell.runtime.abi import ARENA_ALIGNMENT, EntryStatus
from stepwell.runtime.image import Entry
from stepwell.runtime.interface import TensorSpec

C_TYPES: Mapping[str, str] = {
    "float32": "float",
    "float64": "double",
    "bool": "uint8_t",
    "float16": "uint16_t",
    "bfloat16": "uint16_t",
    **{f"{sign}int{bits}": f"{sign}int{bits}_t" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}
"""The type in C of each element type; halves and int4 are their bits."""
_SHORT: Mapping[str, str] = {"float": "f", "bfloat": "bf", "int": "i", "uint": "u"}

_STATUSES = ",\n       ".join(f"STEPWELL_{status.name} = {status.value}" for status in EntryStatus)
COMMON = f"""\
#ifndef STEPWELL_H
#define STEPWELL_H
/* What a function returns: 0, one of these, or a positive number of the model's own. */
enum {{ STEPWELL_OK = 0,
       {_STATUSES} }};

typedef struct stepwell_pool stepwell_pool;
#endif
"""
_POOL = f"""\
#ifndef STEPWELL_POOL_BYTES
/* A thread pool in memory of yours. No thread is made here: see stepwell_threads.h. */
#define STEPWELL_POOL_BYTES {POOL_BYTES}
@LINKS@
/* NULL: the memory is too small, or not aligned to 8. */
stepwell_pool *stepwell_pool_init(void *memory, size_t bytes, int32_t threads);
void stepwell_pool_hooks(stepwell_pool *, void (*wait)(const int32_t *word, int32_t value),
                         void (*wake)(const int32_t *word, int32_t count), void (*yield)(void));
void stepwell_pool_worker(stepwell_pool *); /* call it on threads that you made: it returns after stop */
void stepwell_pool_stop(stepwell_pool *);
#endif
"""


@dataclass(frozen=True)
class HeaderFacts:
    """The facts in a header besides the interface."""

    name: str
    weights: str
    """Their place: `embed`, `file` or `extern`."""
    weight_bytes: int
    stack_bytes: int
    host_calls: bool
    threads: bool = True
    """Whether the code has a pool for threads: C source and code for microcontrollers have none."""
    stacks: Mapping[str, int] = field(default_factory=dict[str, int])
    """The most stack of each function of a library, by its name in C."""
    pools: Mapping[str, int] = field(default_factory=dict[str, int])
    """The memories in place of one workspace, with the bytes that the largest user of each needs."""


def _pool(name: str, triple: str) -> str:
    """The declarations of the pool with the link names of its functions in a model's file."""
    links, _ = pool_links(name, triple)
    rows = zip(("init", "hooks", "worker", "stop"), links, strict=True)
    return _POOL.replace("@LINKS@", "\n".join(f"#define stepwell_pool_{own} {link}" for own, link in rows))


def header_text(entry: Entry, triple: str, features: Sequence[str], facts: HeaderFacts) -> str:
    """The header of a function's code for a target; C source has no threads."""
    constants = [*_constants(entry, facts), *_weights_constants(facts)]
    parts = ["\n".join(constants) + "\n", *_function(entry, facts, _call(facts.name, facts))]
    parts[-1] += _check_function(facts)
    return _whole(parts, triple, features, facts)


def library_header_text(
    functions: Mapping[str, Entry], triple: str, features: Sequence[str], facts: HeaderFacts
) -> str:
    """The header of a library, whose functions have the stacks `facts.stacks`."""
    name = facts.name
    constants = [*_pool_constants(name, facts.pools), *_weights_constants(facts)]
    parts = ["".join(f"{line}\n" for line in constants) + _call(name, facts) + "\n"]
    for function, entry in functions.items():
        own = replace(facts, name=f"{name}_{function}", stack_bytes=facts.stacks[f"{name}_{function}"])
        parts += ["\n".join([f"/* {function} */", *_constants(entry, own)]) + "\n"]
        parts += _function(entry, own, f"typedef {name}_call {own.name}_call;")
    about = f"const char *{name}_json(void); /* the description of the library */\n"
    return _whole([*parts, about + _check_function(facts)], triple, features, facts)


def _whole(parts: Sequence[str], triple: str, features: Sequence[str], facts: HeaderFacts) -> str:
    """A header with its begin and end."""
    name, guard = facts.name, f"STEPWELL_{facts.name.upper()}_H"
    first = [
        f"/* {name}: made by stepwell for {triple}. */",
        f"#ifndef {guard}\n#define {guard}\n#include <stddef.h>\n#include <stdint.h>",
        '#ifdef __cplusplus\nextern "C" {\n#endif\n',
        COMMON + _pool(name, triple) if facts.threads else COMMON,
    ]
    last = [CPUID] if needs_cpuid(triple, features) else []
    last += [supported_function(name, triple, features), "#ifdef __cplusplus\n}\n#endif\n#endif"]
    return "\n".join([*first, *parts, *last]) + "\n"


def _function(entry: Entry, facts: HeaderFacts, call: str) -> list[str]:
    """The types and functions of a function of the model; `call` declares the struct of a call."""
    name, interface, symbols = facts.name, entry.interface, caller_symbols(entry)
    parts: list[str] = []
    if symbols:
        members = "".join(f" int64_t {s};" for s in identifiers(symbols))
        parts.append(f"typedef struct {{{members} }} {name}_dims;")
    if interface.published:
        members = "".join(f" int64_t {s};" for s in identifiers(interface.published))
        parts.append(f"typedef struct {{{members} }} {name}_shapes; /* of outputs, after a call */")
    parts.append(_struct(f"{name}_inputs", interface.inputs, "const {type} *{name}"))
    allocated = ["{type} *" + "*" * is_allocated(spec, interface) + "{name}" for spec in interface.outputs]
    parts += [_struct(f"{name}_outputs", interface.outputs, allocated), call, ""]
    return [*parts, _functions(entry, facts, symbols) + states_text(name, entry, C_TYPES)]


def _constants(entry: Entry, facts: HeaderFacts) -> list[str]:
    """The limits of a function."""
    upper = facts.name.upper()
    lines = [
        f"#define {upper}_ABI 1",
        f"#define {upper}_ALIGN {ARENA_ALIGNMENT} /* of the workspace; arrays need their element's */",
    ]
    if facts.stack_bytes:
        lines.append(
            f"#define {upper}_STACK_BYTES {facts.stack_bytes} /* upper bound of one call, one thread */"
        )
    lines += _pool_constants(facts.name, entry.pools)
    if entry.interface.arena_bytes.is_static and not entry.pools:
        lines.append(f"#define {upper}_WORKSPACE_BYTES {entry.interface.arena_bytes.value}")
    return lines


def _pool_constants(name: str, pools: Mapping[str, int]) -> list[str]:
    """The bytes of memories."""
    return [
        f"#define {name.upper()}_{pool.upper()}_BYTES {size} /* of the memory {pool} */"
        for pool, size in pools.items()
    ]


def _weights_constants(facts: HeaderFacts) -> list[str]:
    """The size of weights that are not in the file, and their declaration."""
    lines: list[str] = []
    if facts.weights != "embed":
        lines.append(f"#define {facts.name.upper()}_WEIGHT_BYTES {facts.weight_bytes}")
    if facts.weights == "extern":
        lines.append(
            f"extern const unsigned char {facts.name}_weights[]; /* yours: {facts.name}.weights, aligned to "
            f"{ARENA_ALIGNMENT} */"
        )
    return lines


def _struct(name: str, specs: Sequence[TensorSpec], member: str | Sequence[str]) -> str:
    """The struct of the pointers of inputs or outputs."""
    names = identifiers([spec.name for spec in specs])
    members = [member] * len(specs) if isinstance(member, str) else member
    lines: list[str] = []
    for spec, each, text in zip(specs, names, members, strict=True):
        declared = text.format(type=C_TYPES.get(spec.dtype.name, "uint8_t"), name=each)
        lines.append(f"  {declared}; /* {_comment(spec, each)} */")
    if not lines:
        lines = ["  void *none;"]
    return "\n".join(["typedef struct {", *lines, f"}} {name};"])


def _comment(spec: TensorSpec, name: str) -> str:
    """The element type and dimensions, and the model's own name where C's differs."""
    dtype = spec.dtype.name
    letters = dtype.rstrip("0123456789")
    short = _SHORT.get(letters, letters) + dtype[len(letters) :]
    text = f"{short}[{', '.join(map(str, spec.dims))}]"
    own = "".join(c if c.isprintable() else "?" for c in spec.name).replace("*/", "* /").replace("/*", "/ *")
    return text if spec.name == name else f"{text}, {own}"


def _call(name: str, facts: HeaderFacts) -> str:
    weights = f"their address, aligned to {ARENA_ALIGNMENT}" if facts.weights == "file" else "unused"
    pool = "NULL: the calling thread alone" if facts.threads else "unused"
    pools = f"  void *memories[{len(facts.pools)}]; /* {', '.join(facts.pools)} */\n" if facts.pools else ""
    unused = " /* unused: see memories */" if facts.pools else ""
    return f"""\
typedef struct {{ /* set it to zero, then fill in what you need */
  void *workspace;{unused}
  size_t workspace_bytes;{unused}
  stepwell_pool *pool; /* {pool} */
  void *(*allocate)(void *user, int64_t slot, int64_t bytes); /* aligned to {ARENA_ALIGNMENT}, or NULL */
  int32_t (*host)(void *user, int64_t callee, int64_t *words, int64_t n);
  void *user;
  int64_t values[2]; /* of the last failure */
  const void *weights; /* {weights} */
{pools}}} {name}_call;"""


def _functions(entry: Entry, facts: HeaderFacts, symbols: Sequence[str]) -> str:
    """The declarations of functions."""
    name = facts.name
    dims = f"const {name}_dims *dims" if symbols else "void"
    arguments = [f"const {name}_inputs *inputs", f"const {name}_outputs *outputs"]
    arguments += [dims] if symbols else []
    arguments += [f"{name}_shapes *shapes"] if entry.interface.published else []
    arguments.append(f"{name}_call *call")
    lines = [
        f"int64_t {name}_workspace_bytes({dims}); /* below 0: a status */",
        f"int32_t {name}_run({', '.join(arguments)});",
        f"const char *{name}_message(int32_t status); /* never NULL */",
        f"const char *{name}_json(void); /* the description of the model */",
    ]
    return "\n".join(lines) + "\n"


def _check_function(facts: HeaderFacts) -> str:
    """The declaration of the check of weights in a file of their own."""
    if facts.weights != "file":
        return ""
    return f"int32_t {facts.name}_check_weights(const void *base, size_t bytes); /* 0: the model's */\n"
