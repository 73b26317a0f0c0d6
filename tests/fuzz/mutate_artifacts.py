"""
Cases: artifacts changed, and object files inside of valid ones; digests fit, so that the contents are read.

They are loaded, and never called: whether code has been changed only its author can tell.
"""

from __future__ import annotations

import json
import resource
import struct
import warnings
from collections.abc import Callable, Generator, MutableMapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from hashlib import blake2b
from io import BytesIO
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeAlias

import numpy as np

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes
from stepwell.runtime.files.container import MAGIC, Section, read_sections, write_sections
from stepwell.runtime.link.linker import link
from stepwell.runtime.model import CompiledModel
from tests.fuzz.artifacts import artifact, objects, version_1
from tests.fuzz.mutate import bounded, change_bytes
from tests.fuzz.mutate_objects import change_object

SECONDS, BYTES = 2.0, 256 << 20
# Some changes are no damage: another CPU feature, another name of a backend.
_CODES = frozenset({"bad-artifact", "wrong-cpu", "unknown-backend", "missing-package"})
_PREFIX = struct.Struct(f"<{len(MAGIC)}sI16s")
_VALUES = (
    *(-1, 0, 1, 7, 63, 4096, (1 << 31) - 1, 1 << 31, 1 << 40, 1 << 62, 1 << 63, -(1 << 63), 1 << 64, 10**40),
    *(1.5, 1e300, float("inf"), float("nan"), True, None, [], {}, [[]], [-1], [1 << 62, 1 << 62, 0]),
    *(
        "",
        "x",
        "N",
        "?",
        "1 floordiv 0",
        "N - 7",
        "float16",
        "bfloat16",
        "object",
        "V0",
        "S",
        "i4,f8",
        "finfo",
    ),
)
_Sections: TypeAlias = dict[str, bytes]
_Change: TypeAlias = Callable[[bytes, np.random.Generator], bytes]


def check_artifact(seed: int) -> tuple[str, str]:
    """Status and reason of one changed artifact."""
    rng = np.random.default_rng(seed)
    return _checked(_CHANGES[seed % len(_CHANGES)](artifact(int(rng.integers(1 << 20))), rng))


def check_object(seed: int) -> tuple[str, str]:
    """Status and reason of one artifact of version 1 with a changed object file, which is linked as well."""
    rng = np.random.default_rng(seed)
    files = list(objects(seed))
    number = int(rng.integers(len(files)))
    for _ in range(int(rng.integers(1, 4))):
        files[number] = change_object(files[number], rng)
    status, reason = bounded(lambda: _linked(files), SECONDS, BYTES)
    return (status, reason) if status not in ("native", "error") else _checked(version_1(files))


def _linked(files: Sequence[bytes]) -> None:
    try:
        with _little_memory():
            link(files)
    except ValueError:
        pass


def _checked(data: bytes) -> tuple[str, str]:
    with TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # old artifacts, partitions on our kernels
        path = Path(folder, "m.stepwell")
        path.write_bytes(data)
        status, reason = bounded(lambda: _load(path), SECONDS, BYTES)
    is_refused = status == "error" and reason in _CODES
    return (status, reason) if status != "error" or is_refused else ("internal", f"refused as {reason}")


def _load(path: Path) -> None:
    """Load an artifact, and use its interface."""
    with _little_memory():
        model = stepwell.load(path, threads=2)
        image_of_bytes(image_bytes(model.image), "again")
        assert repr(model)
        _bind(model)


def _bind(model: CompiledModel) -> None:
    shapes = [
        tuple(dim.value if dim.is_static else 3 for dim in spec.dims) for spec in model.interface.inputs
    ]
    try:
        model.interface.bind(shapes)
    except StepwellError as error:
        if error.code not in ("shape-mismatch", "too-large"):
            raise


@contextmanager
def _little_memory() -> Generator[None]:
    """A bound for what a `with` block may allocate; MemoryError where it needs more."""
    with open("/proc/self/statm", encoding="ascii") as file:
        mapped = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (mapped + BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """Bytes of the file, with digests that no longer fit."""
    for _ in range(int(rng.integers(1, 4))):
        data = change_bytes(data, rng)
    return data


def _table(data: bytes, rng: np.random.Generator) -> bytes:
    """A value in the table of sections."""
    _, size, _ = _PREFIX.unpack_from(data)
    table = json.loads(data[_PREFIX.size : _PREFIX.size + size])
    _change_value(table, rng)
    text = json.dumps(table, separators=(",", ":")).encode()
    start, new_start = (-(-(_PREFIX.size + n) // 4096) * 4096 for n in (size, len(text)))
    head = _PREFIX.pack(MAGIC, len(text), blake2b(text, digest_size=16).digest()) + text
    return head.ljust(new_start, b"\0") + data[start:]


def _sections(change: Callable[[_Sections, np.random.Generator], None]) -> _Change:
    """A change of sections, after which digests fit."""

    def changed(data: bytes, rng: np.random.Generator) -> bytes:
        found = read_sections(np.frombuffer(data, np.uint8), lambda name: True)
        sections = {name: view.tobytes() for name, view in found.items()}
        change(sections, rng)
        write_sections([Section(name, [part]) for name, part in sections.items()], buffer := BytesIO())
        return buffer.getvalue()

    return changed


def _description(sections: _Sections, rng: np.random.Generator) -> None:
    """One to three values of the description of functions, code and weights."""
    described = json.loads(sections["model"])
    for _ in range(int(rng.integers(1, 4))):
        _change_value(described, rng)
    sections["model"] = json.dumps(described).encode()


def _contents(sections: _Sections, rng: np.random.Generator) -> None:
    """Bytes of a section."""
    name = str(rng.choice([name for name, part in sections.items() if part]))
    sections[name] = change_bytes(sections[name], rng)


def _order(sections: _Sections, rng: np.random.Generator) -> None:
    """A section less, two exchanged, or one of another name."""
    names = [str(name) for name in rng.permutation(list(sections))]
    match int(rng.integers(3)):
        case 0:
            del sections[names[0]]
        case 1:
            one, other = names[:2]
            sections[one], sections[other] = sections[other], sections[one]
        case _:
            new = str(rng.choice(["code.0", "code.1", "code.9", "callees", "ir", "states", "", "code.-1"]))
            sections[new] = sections[names[0]]


def _change_value(tree: Any, rng: np.random.Generator) -> None:
    """Change one value of a tree of JSON values: remove it, repeat it, or another in its place."""
    inner, place = _place_in(tree, rng)
    match int(rng.integers(8)):
        case 0:
            del inner[place]
        case 1 if isinstance(inner, list):
            inner.insert(place, inner[place])
        case 2 | 3:
            other, there = _place_in(tree, rng)
            inner[place] = deepcopy(other[there])
        case 4 if type(inner[place]) is int:
            inner[place] += int(rng.choice([-8, -1, 1, 8, 4096]))
        case 5 if isinstance(inner, dict):
            inner[f"{place}x"] = inner.pop(place)
        case _:
            inner[place] = deepcopy(_VALUES[int(rng.integers(len(_VALUES)))])


def _place_in(tree: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """A container somewhere in a tree, and a key or an index of it."""
    inner: MutableMapping[str, Any] | list[Any] = tree
    while True:
        places: list[Any] = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
        place = places[int(rng.integers(len(places)))]
        below = inner[place]
        if not isinstance(below, dict | list) or not below or rng.random() < 0.15:
            return inner, place
        inner = below


_CHANGES: Sequence[_Change] = (
    _bytes,
    _table,
    _sections(_contents),
    _sections(_order),
    *([_sections(_description)] * 4),
)
"""The description can be wrong in the most ways."""
