"""The values of states: arrays that live between the calls of a model, and the calls that change them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from threading import RLock
from typing import cast

import numpy as np

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array, Interface, StateSpec, TensorSpec
from stepwell.runtime.machine.arguments import checked_input
from stepwell.runtime.memory import aligned_empty


class Targets(dict[int, Array]):
    """The memory of outputs, by number, that a call shall use instead of memory of its own."""

    has_begun = False
    """Whether code has begun to write."""


CAPACITY = 2048
"""The positions of growing states where neither the program nor the session says another number."""
BATCH = "batch"
"""Another name of the only open size of states besides the capacity."""
Invoke = Callable[[Sequence[object], Targets], tuple[Array, ...]]
"""A call on all inputs, states included."""


class StateStore:
    """
    The arrays of states by name, shared by all programs that have states of these names.

    A state has the array of its value, and where code does not write in place another one for its next value:
    after a call both change places.
    """

    def __init__(self) -> None:
        self.values: dict[str, Array] = {}
        self.spare: dict[str, Array] = {}
        self.lock = RLock()
        self.resets = 0
        self.lost = ""
        """The state that a failed call has left half written."""

    def clear(self) -> None:
        """Forget all values: the next call begins with the initial ones."""
        self.values.clear()
        self.spare.clear()
        self.lost = ""
        self.resets += 1

    def expect_whole(self) -> None:
        """Require values that are no half of a call's. Raises: StepwellError `state-lost`."""
        if self.lost:
            message = f"a call failed that was writing the state {self.lost!r}"
            raise StepwellError("state-lost", None, message, help="`reset` goes back to the initial values")


class States:
    """
    The states of a program, in a store.

    Args: `interface` describes all inputs and outputs; `initial` returns the array of a weight by number;
    `sizes` are the sizes of the states' open dimensions (default: from the first call).
    """

    def __init__(
        self,
        interface: Interface,
        initial: Callable[[int], Array],
        sizes: Mapping[str, int],
        store: StateStore | None = None,
    ):
        self.store = store or StateStore()
        self._interface, self._initial, self._sizes = interface, initial, dict(sizes)
        self._public = interface.public
        names = {state.input: state.name for state in interface.states}
        self._slots = [names.get(i) for i in range(len(interface.inputs))]
        """For each input the name of its state; None for one that the caller gives."""
        self._written = [(s.name, s.output) for s in interface.states if s.output is not None]
        written = {output for _, output in self._written}
        self._outputs = [i for i in range(len(interface.outputs)) if i not in written]
        dims = [dim for state in interface.states for dim in self._spec(state).dims]
        known = sorted({name for dim in dims for name in dim.symbols()})
        self._growing = {s.name: s.axis for s in interface.states if s.axis is not None}
        self._length = next((s for s in interface.states if s.adds is not None), None)
        others = [name for name in known if name not in self._default_sizes()]
        if BATCH in sizes and BATCH not in known and len(others) == 1:
            self._sizes[others[0]] = self._sizes.pop(BATCH)
        if unknown := [name for name in self._sizes if name not in known]:
            help = f"{did_you_mean(unknown[0], known)}open sizes of states: {', '.join(known) or 'none'}"
            raise StepwellError("bad-option", None, f"no state has the size {unknown[0]!r}", help=help)
        self._ready = -1
        """The number of resets of the store when its values were made for this program."""

    def _spec(self, state: StateSpec) -> TensorSpec:
        return self._interface.inputs[state.input]

    @property
    def names(self) -> list[str]:
        """The names of the states, in the order of the program."""
        return [state.name for state in self._interface.states]

    def call(self, code: Sequence[StateSpec], invoke: Invoke, values: Sequence[object]) -> tuple[Array, ...]:
        """
        The outputs of a call on inputs without states, which it changes; calls on one store take turns.

        Args: `code` describes the states in the code of this call, which can write them in place.
        Raises: StepwellError as the call does, after which states are as before; `state-lost` after a call
        that failed in the midst of writing one.
        """
        store = self.store
        with store.lock:
            if self._ready != store.resets:
                self._prepare(values)
            store.expect_whole()
            new = self._new_positions(values)
            held, given = store.values, iter(values)
            inputs = [next(given) if name is None else held[name] for name in self._slots]
            outputs = self._invoked(code, invoke, inputs)
            for name, output in self._written:
                if (value := outputs[output]) is not (before := held[name]):
                    held[name], store.spare[name] = value, before
            if new and self._length is not None:
                held[self._length.name][...] = self.length + new
            return tuple([outputs[i] for i in self._outputs])

    def _invoked(
        self, code: Sequence[StateSpec], invoke: Invoke, inputs: Sequence[object]
    ) -> tuple[Array, ...]:
        held, spare, memory = self.store.values, self.store.spare, Targets()
        for name, _, output, _, is_in_place, *_ in code:
            if output is not None:
                memory[output] = (
                    held[name] if is_in_place else spare[name] if name in spare else self._new_spare(name)
                )
        try:
            return invoke(inputs, memory)
        except BaseException:
            if memory.has_begun:
                # What a failed call has written after the length, nothing reads.
                written = (state.name for state in code if state.is_in_place and state.axis is None)
                self.store.lost = next(written, "")
            raise

    def _new_positions(self, values: Sequence[object]) -> int:
        """The number of positions that a call adds. Raises: StepwellError `state-full`."""
        if self._length is None or self._length.adds is None:
            return 0
        sizes = self._sizes_of(values)
        if not self._length.adds.symbols() <= sizes.keys():
            return 0  # the call itself refuses its inputs
        new, used, room = self._length.adds.evaluate(sizes), self.length, self.capacity
        if used + new > room:
            message = f"{room} positions, {used} used, {new} more asked"
            help = "`rewind` or `reset` the session, or give it more: model.session(capacity=N)"
            raise StepwellError("state-full", None, message, help=help)
        return new

    @property
    def grows(self) -> bool:
        """Whether calls append to states."""
        return self._length is not None

    @property
    def length(self) -> int:
        """The number of positions in growing states. Raises: StepwellError `bad-option` if none grows."""
        return int(cast("int", self.store.values.get(self._expect_growing().name, 0)))

    @property
    def capacity(self) -> int:
        """The number of positions that growing states have room for. Raises: as `length`."""
        self._expect_growing()
        name, axis = next(iter(self._growing.items()))
        if name in self.store.values:
            return self.store.values[name].shape[axis]
        dim = self._spec(self._state(name)).dims[axis]
        return dim.evaluate({**dict.fromkeys(dim.symbols(), CAPACITY), **self._sizes})

    def _expect_growing(self) -> StateSpec:
        if self._length is None:
            help = f"the states are {', '.join(self.names) or 'none'}, each of one size"
            raise StepwellError("bad-option", None, "no state of the model grows", help=help)
        return self._length

    def begin_anew(self) -> None:
        """Let growing states have no positions; others stay as they are."""
        if self._length is not None:
            self.set(self._length.name, 0)

    def rewind(self, positions: int) -> None:
        """
        Forget the last positions of growing states.

        Raises: StepwellError `bad-option` without a growing state, or with others, which have no positions;
        `bad-inputs` for more positions than there are.
        """
        length = self._expect_growing()
        others = [name for name in self.names if name not in self._growing and name != length.name]
        if others:
            message = f"the state {others[0]!r} has no positions to go back to"
            raise StepwellError("bad-option", None, message, help="keep a `fork` to return to")
        with self.store.lock:
            self.store.expect_whole()
            if type(positions) is not int or not 0 <= positions <= self.length:
                message = f"a session of {self.length} positions cannot go back by {positions!r}"
                raise StepwellError("bad-inputs", None, message)
            if positions:
                self.store.values[length.name][...] = self.length - positions

    def _new_spare(self, name: str) -> Array:
        """The memory of a state's next value, where there is none yet."""
        made = self.store.spare[name] = _like(self.store.values[name])
        return made

    def _prepare(self, values: Sequence[object] = ()) -> None:
        """Give the states that have none their initial values. Raises: StepwellError `bad-option`."""
        sizes = {**self._default_sizes(), **self._sizes_of(values), **self._sizes}
        for state in self._interface.states:
            if state.name not in self.store.values:
                self.store.values[state.name] = self._begun(state, sizes)
        self._ready = self.store.resets

    def _default_sizes(self) -> dict[str, int]:
        """The capacity of growing states, where the program leaves it open."""
        specs = [(self._spec(s), s.axis) for s in self._interface.states if s.axis is not None]
        return {name: CAPACITY for spec, axis in specs for name in spec.dims[axis].symbols()}

    def _sizes_of(self, values: Sequence[object]) -> dict[str, int]:
        """The open sizes that the inputs of a call say."""
        found: dict[str, int] = {}
        for spec, value in zip(self._public.inputs, values, strict=False):
            if not spec.is_object:
                found |= zip(map(str, spec.dims), np.asarray(value).shape, strict=False)
        return found

    def _begun(self, state: StateSpec, sizes: Mapping[str, int]) -> Array:
        """
        The initial value of a state.

        Raises: StepwellError `bad-option` for a size that is not known, `out-of-memory`.
        """
        spec = self._spec(state)
        open_sizes = sorted({name for dim in spec.dims for name in dim.symbols()} - sizes.keys())
        if open_sizes:
            message = f"the size {open_sizes[0]} of the state {state.name!r} is not known: it is {spec}"
            help = f"give it to the session: model.session({open_sizes[0]}=1)"
            raise StepwellError("bad-option", None, message, help=help)
        shape = tuple(dim.evaluate(sizes) for dim in spec.dims)
        try:
            value = _like(np.empty(shape, spec.dtype))
        except (MemoryError, ValueError) as error:
            message = f"the memory does not suffice for the state {state.name!r}, {spec}: {error}"
            raise StepwellError("out-of-memory", None, message) from None
        value[...] = 0 if state.initial is None else self._initial(state.initial)
        return value

    def get(self, name: str) -> Array:
        """
        The value of a state, the array itself; of a growing one the part up to the length.

        Raises: StepwellError `no-value`, `state-lost`.
        """
        self._state(name)
        with self.store.lock:
            if self._ready != self.store.resets:
                self._prepare()
            self.store.expect_whole()
            return self._used(name, self.store.values[name])

    def _used(self, name: str, value: Array) -> Array:
        """The part of a state's array that has been written."""
        if (axis := self._growing.get(name)) is None:
            return value
        return value[(*[slice(None)] * axis, slice(self.length))]

    def set(self, name: str, value: object) -> None:
        """Give a state a value. Raises: StepwellError `no-value`, `type-mismatch`, `shape-mismatch`."""
        spec = self._spec(self._state(name))._replace(name=name)
        array = checked_input(spec, value)
        with self.store.lock:
            if self._ready != self.store.resets:
                self._prepare()
            used = self._used(name, self.store.values[name])
            if array.shape != (shape := used.shape):
                message = f"the state {name!r} has shape {list(shape)}, found {list(array.shape)}"
                raise StepwellError("shape-mismatch", None, message)
            if self._length is not None and name == self._length.name:
                self._expect_room(int(array))
            used[...] = array

    def _expect_room(self, length: int) -> None:
        """Require a length that growing states have room for. Raises: StepwellError `bad-inputs`."""
        if not 0 <= length <= self.capacity:
            raise StepwellError("bad-inputs", None, f"a length is from 0 to {self.capacity}, found {length}")

    def _state(self, name: str) -> StateSpec:
        for state in self._interface.states:
            if state.name == name:
                return state
        help = f"{did_you_mean(name, self.names)}the states are {', '.join(self.names) or 'none'}"
        raise StepwellError("no-value", None, f"there is no state {name!r}", help=help)

    def reset(self) -> None:
        """Go back to the initial values."""
        with self.store.lock:
            self.store.clear()

    def fork(self) -> States:
        """The same states with copies of their values."""
        made = States(self._interface, self._initial, self._sizes)
        with self.store.lock:
            self.store.expect_whole()
            for name in self.names:
                if name in self.store.values:
                    made.store.values[name] = new = _like(value := self.store.values[name])
                    self._used(name, new)[...] = self._used(name, value)
        return made

    def view(self, names: Iterable[str] | None = None) -> StateView:
        """States as a mapping, all or some."""
        return StateView(self, self.names if names is None else list(names))


class StateView(MutableMapping[str, Array]):
    """The values of states by name: reading copies, and setting one changes it. States cannot be deleted."""

    def __init__(self, states: States, names: Sequence[str]):
        self._states, self._names = states, names

    def __getitem__(self, name: str) -> Array:
        if name not in self._names:
            raise KeyError(name)
        return self._states.get(name).copy()

    def __setitem__(self, name: str, value: object) -> None:
        self._states.set(name, value)

    def __delitem__(self, name: str) -> None:
        raise StepwellError("unsupported", None, "a state cannot be deleted", help="`reset` the session")

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def __len__(self) -> int:
        return len(self._names)

    def __repr__(self) -> str:
        return f"<states {', '.join(self._names) or 'none'}>"


def _like(array: Array) -> Array:
    """Memory of an array's type and shape that starts on a cache line."""
    return aligned_empty(array.nbytes).view(array.dtype).reshape(array.shape)
