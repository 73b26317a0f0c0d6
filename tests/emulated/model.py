"""Calls of a compiled model's code on an emulated CPU, with the frame that the runtime would make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES, CtxField
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Binding
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.machine.pool_state import STATE_BYTES
from tests.emulated.machine import HOOKS, Array, Hook, Machine

_GUARD = np.arange(64, dtype=np.uint8).tobytes()
"""The bytes after each array, which no call may change."""


@dataclass(frozen=True)
class Loop:
    """Code that runs parallel loops."""

    code: LinkedCode
    function: str = "stepwell_parallel_for"
    has_pool: bool = False
    """Whether the context points to a pool's state; the caller is its only thread."""


@dataclass
class EmulatedModel:
    """A model on an emulated CPU of its architecture; models that call the host cannot run."""

    image: ModelImage
    loop: Loop | None = None
    """Runs parallel loops; without it they are loops of the model's own code."""
    hooks: Mapping[str, Hook] = field(default_factory=dict[str, Hook])
    """Functions outside, besides those of the C library."""

    def __post_init__(self) -> None:
        entry = self.image.main
        (variant,) = entry.variants
        assert isinstance(variant.code, LinkedCode) and not entry.callees
        self._slots: dict[int, tuple[int, int]] = {}
        self.machine = Machine(
            variant.triple.partition("-")[0], {**HOOKS, "allocate": self._allocate, **self.hooks}
        )
        self._main = self.machine.map(variant.code) + variant.code.functions[variant.symbol][0]
        weights = [self.machine.store(self.image.weights[number]) for number in entry.weights]
        self._context = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64)
        self._context[CtxField.WEIGHTS] = self.machine.store(np.array(weights or [0], np.uint64))
        self._context[CtxField.ALLOCATE] = self.machine.outside["allocate"]
        if (loop := self.loop) is not None:
            start = self.machine.map(loop.code)
            self._context[CtxField.PARALLEL_FOR] = start + loop.code.functions[loop.function][0]
            if loop.has_pool:
                state = self.machine.store(np.zeros(STATE_BYTES, np.uint8))
                self._context[CtxField.POOL] = self.machine.store(np.array([state, 0], np.uint64))

    def __call__(self, *inputs: Array) -> list[Array]:
        """The outputs. Raises: AssertionError for a status that is not 0, and for writes behind an array."""
        binding = self.image.main.interface.bind([array.shape for array in inputs])
        specs = self.image.main.interface.outputs
        outputs = [np.zeros(n, spec.dtype) for n, spec in zip(binding.array_shapes, specs, strict=True)]
        arrays = [*inputs, *outputs, np.zeros(binding.arena_bytes, np.uint8)]
        places = [self._guarded(array) for array in arrays]
        sizes = self._run(places, binding)
        for array, place in zip(arrays, places, strict=True):
            assert self.machine.read_bytes(place + array.nbytes, len(_GUARD)) == _GUARD
        return [
            self.machine.load(place, array) if shape is not None else self._from_slot(number, sizes)
            for number, (array, place, shape) in enumerate(
                zip(outputs, places[len(inputs) :], binding.output_shapes, strict=False)
            )
        ]

    def _run(self, places: Sequence[int], binding: Binding) -> Mapping[str, int]:
        """Call `main`; returns the values of the symbols, those that it published too."""
        published = self.image.main.interface.published
        symbols = np.array([*binding.symbols, *(0 for _ in published), 0], np.int64)
        args = self.machine.store(np.array(places, np.int64))
        dims, context = self.machine.store(symbols), self.machine.store(self._context)
        status = self.machine.call(self._main, args, dims, context) & 0xFFFFFFFF
        assert status == 0, f"the model returned {status}"
        told = self.machine.load(dims, symbols)[len(binding.symbols) : -1].tolist()
        return {**binding.values, **dict(zip(published, told, strict=True))}

    def _from_slot(self, number: int, sizes: Mapping[str, int]) -> Array:
        """An output whose shape depends on data."""
        spec = self.image.main.interface.outputs[number]
        shape = tuple(dim.evaluate(sizes) for dim in spec.dims)
        return self.machine.load(self._slots[number][0], np.zeros(shape, spec.dtype))

    def _guarded(self, array: Array) -> int:
        """The address of a copy of an array with a guard after it."""
        address = self.machine.allocate(array.nbytes + len(_GUARD))
        self.machine.write_bytes(address, array.tobytes() + _GUARD)
        return address

    def _allocate(self, machine: Machine) -> None:
        """The context's `allocate`: a slot that is large enough is used again, with its contents."""
        slot, size_bytes = machine.integer(1), machine.integer(2)
        if slot not in self._slots or self._slots[slot][1] < size_bytes:
            self._slots[slot] = machine.allocate(size_bytes), size_bytes
        machine.return_integer(self._slots[slot][0])
