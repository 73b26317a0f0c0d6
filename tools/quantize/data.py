"""Samples for a model: cut out of arrays, read from folders, checked, or made up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array, Interface, TensorSpec
from stepwell.tools.inputs import UNNAMED, by_input, made_up_inputs, read_arrays

Feed: TypeAlias = Mapping[str, Array]
Data: TypeAlias = "str | Path | Mapping[str, Array] | Iterable[Feed]"

MADE_UP = 16
"""The number of random samples where there are none."""
MAX_BYTES = 4 << 30
"""Of all samples together."""
FEW = 8
"""With fewer samples all of them calibrate and measure."""


@dataclass(frozen=True)
class Samples:
    """The feeds of a model, and whether they are its owner's or made up."""

    feeds: Sequence[Feed]
    is_made_up: bool = False

    @property
    def for_calibration(self) -> Sequence[Feed]:
        """The first half; all where there are few."""
        count = len(self.feeds)
        return self.feeds if count < FEW else self.feeds[: -(-count // 2)]

    @property
    def others(self) -> Sequence[Feed]:
        """Those that do not calibrate; all where there are few."""
        return self.feeds[len(self.for_calibration) :] or self.feeds

    def some(self, count: int) -> list[int]:
        """The numbers of at most so many samples, spread over all."""
        return sorted({int(i) for i in np.linspace(0, len(self.feeds) - 1, min(count, len(self.feeds)))})


def read_samples(data: Data, interface: Interface, most: int | None = None) -> Samples:
    """
    The samples of a file `.npz`, a folder of those, arrays by input, or feeds.

    Raises: StepwellError `no-file`, `bad-inputs`, `missing-data`, `missing-input`, `extra-input`,
    `shape-mismatch`, `type-mismatch`, `bad-data`.
    """
    feeds: list[Feed] = []
    size = 0
    for feed in _feeds(data, interface):
        if most is not None and len(feeds) == most:
            break
        _check(feed, interface, len(feeds))
        size += sum(array.nbytes for array in feed.values())
        if size > MAX_BYTES:
            message = f"the samples have more than {MAX_BYTES >> 30} GiB"
            raise StepwellError("too-large", _place(data), message, help="give fewer: --samples N")
        feeds.append(feed)
    if not feeds:
        raise StepwellError(
            "missing-data", _place(data), "there is no sample", help="write some with numpy.savez"
        )
    return Samples(feeds)


def made_up_samples(interface: Interface, seed: int = 0) -> Samples:
    """Random samples, for schemes that need none to find ranges."""
    return Samples([made_up_inputs(interface, "random", seed + i) for i in range(MADE_UP)], is_made_up=True)


def _place(data: Data) -> str | None:
    return str(data) if isinstance(data, str | Path) else None


def _feeds(data: Data, interface: Interface) -> Iterator[Feed]:
    """The samples one by one, as the data has them."""
    if isinstance(data, str | Path):
        path = Path(data)
        if path.is_dir():
            for each in sorted(path.glob("*.npz")):
                yield by_input(read_arrays(each), interface)
            return
        yield from _cut(by_input(read_arrays(path), interface), interface, str(path))
    elif isinstance(data, Mapping):
        yield from _cut(cast("Feed", data), interface, None)
    else:
        for feed in data:
            if not isinstance(cast("object", feed), Mapping):
                message = f"a sample is a dictionary of arrays by input, found {type(feed).__name__}"
                raise StepwellError("bad-inputs", None, message)
            yield {name: np.asarray(array) for name, array in feed.items()}


def _cut(arrays: Feed, interface: Interface, where: str | None) -> Iterator[Feed]:
    """Samples along the first axis of arrays."""
    expect_names(arrays, interface, where)
    counts = {spec.name: _count(spec, arrays[spec.name], where) for spec in interface.inputs}
    if len(set(counts.values())) > 1:
        text = ", ".join(f"{name} {count}" for name, count in counts.items())
        raise StepwellError("shape-mismatch", where, f"the arrays have different numbers of samples: {text}")
    sizes = {spec.name: _leading(spec) for spec in interface.inputs}
    for number in range(max(counts.values(), default=0)):
        yield {
            name: arrays[name][number * size : (number + 1) * size] if size else arrays[name]
            for name, size in sizes.items()
        }


def expect_names(arrays: Iterable[str], interface: Interface, where: str | None) -> None:
    """Require an array for each input. Raises: StepwellError `missing-input`, `extra-input`."""
    names = [spec.name for spec in interface.inputs]
    found = list(arrays)
    note = f"the model has {', '.join(names)}; the data {', '.join(found) or 'none'}"
    if extra := [name for name in found if name not in names and name != UNNAMED]:
        message = f"the model has no input {extra[0]!r}"
        raise StepwellError(
            "extra-input", where, message, note=note, help=did_you_mean(extra[0], names) or None
        )
    if missing := [name for name in names if name not in found]:
        message = f"the data has no array for the input {missing[0]!r}"
        raise StepwellError("missing-input", where, message, note=note)


def _leading(spec: TensorSpec) -> int:
    """The leading size of a sample: the input's if known, else 1; 0 for a scalar."""
    if not spec.dims:
        return 0
    return spec.dims[0].value if spec.dims[0].is_static else 1


def _count(spec: TensorSpec, array: Array, where: str | None) -> int:
    """The number of samples in an array. Raises: StepwellError `shape-mismatch`."""
    if array.ndim != len(spec.dims):
        message = f"input {spec.name!r} is {spec}, found an array of shape {list(array.shape)}"
        raise StepwellError("shape-mismatch", where, message, help="samples are along the first axis")
    size = _leading(spec)
    if size and array.shape[0] % size:
        message = f"input {spec.name!r} takes {size} rows a sample, and {array.shape[0]} is no multiple"
        raise StepwellError("shape-mismatch", where, message)
    return array.shape[0] // size if size else 1


def _check(feed: Feed, interface: Interface, number: int) -> None:
    """Require a sample to fit the model. Raises: StepwellError that names the sample."""
    expect_names(feed, interface, f"sample {number}")
    for spec in interface.inputs:
        array = feed[spec.name]
        if array.dtype != spec.dtype:
            message = f"input {spec.name!r} is {spec.dtype.name}, found {array.dtype.name}"
            raise StepwellError("type-mismatch", f"sample {number}", message)
        fits = len(spec.dims) == array.ndim and all(
            not dim.is_static or dim.value == size for dim, size in zip(spec.dims, array.shape, strict=True)
        )
        if not fits:
            message = f"input {spec.name!r} is {spec}, found shape {list(array.shape)}"
            raise StepwellError("shape-mismatch", f"sample {number}", message)
        expect_finite(array, f'sample {number} of "{spec.name}"')


def expect_finite(array: Array, what: str) -> None:
    """Require numbers without NaN and infinity. Raises: StepwellError `bad-data`."""
    if array.dtype.kind != "f" or np.isfinite(array).all():
        return
    numbers = cast("npt.NDArray[np.float32]", array)
    nans = int(np.isnan(numbers).sum())
    kind, count = ("NaN", nans) if nans else ("Inf", int(np.isinf(numbers).sum()))
    raise StepwellError("bad-data", None, f"{what} holds {kind} ({count} of {array.size})")


def read_labels(labels: str | Path | Array, count: int) -> npt.NDArray[np.int64]:
    """
    The labels of samples, a whole number each. Raises: StepwellError `no-file`, `bad-inputs`, `bad-data`.
    """
    if isinstance(labels, str | Path):
        arrays = read_arrays(Path(labels))
        if len(arrays) != 1:
            raise StepwellError("bad-data", str(labels), f"labels are one array, found {len(arrays)}")
        (labels,) = arrays.values()
    array = np.asarray(labels)
    if array.dtype.kind not in "iu":
        raise StepwellError("bad-data", None, f"labels are whole numbers, found {array.dtype.name}")
    if not array.ndim or len(array) != count:
        found = len(array) if array.ndim else 0
        raise StepwellError("bad-data", None, f"there are {count} samples, and {found} labels")
    return array.astype(np.int64)
