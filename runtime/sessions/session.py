"""`Session`: calls of a model between which its states live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Generic, Protocol, TypeVar

from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.sessions.states import States, StateView


class SessionModel(Protocol):
    """The part of a compiled model that sessions use."""

    @property
    def interface(self) -> Interface:
        """The inputs and outputs without states."""
        ...

    def in_order(self, arrays: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """Inputs in the model's order."""
        ...

    def invoke_on(self, states: States, values: Sequence[object]) -> tuple[Array, ...]:
        """The outputs of a call on states, which it changes."""
        ...


M = TypeVar("M", bound=SessionModel)


class Session(Generic[M]):
    """
    A model with values of its own for the states of the program: arguments and results of `@main` that are
    marked `graph.state`.

    ```python
    session = model.session()
    y = session(x)  # inputs and outputs without states
    session.state["count"]  # a copy; `session.state["count"] = 0` sets it
    session.reset()  # the initial values again
    ```
    Calls of one session take turns; two sessions of a model run at once. A call that fails changes nothing,
    or makes later ones an error (`state-lost`) until `reset`.
    """

    def __init__(self, model: M, states: States):
        self.model = model
        self._states = states

    @property
    def state(self) -> StateView:
        """The states by name, as copies; assignments change them."""
        return self._states.view()

    def __call__(self, *arrays: object, **named: object) -> Array | tuple[Array, ...]:
        """The outputs of a call. Raises: StepwellError as of calling a model; `state-lost`."""
        outputs = self._call(arrays, named)
        return outputs[0] if len(outputs) == 1 else outputs

    def run(self, feeds: Mapping[str, object]) -> dict[str, Array]:
        """The outputs of a call by name. Raises: StepwellError as of calling a model; `state-lost`."""
        names = [spec.name for spec in self.model.interface.outputs]
        return dict(zip(names, self._call((), feeds), strict=True))

    def _call(self, arrays: tuple[object, ...], named: Mapping[str, object]) -> tuple[Array, ...]:
        return self.model.invoke_on(self._states, self.model.in_order(arrays, named))

    @property
    def grows(self) -> bool:
        """Whether calls append to states."""
        return self._states.grows

    @property
    def length(self) -> int:
        """The number of positions of growing states. Raises: StepwellError `bad-option` if none grows."""
        return self._states.length

    @property
    def capacity(self) -> int:
        """The most positions of growing states. Raises: StepwellError `bad-option` if none grows."""
        return self._states.capacity

    def greedy(self) -> Session[SessionModel] | None:
        """
        The session on the same states whose calls return the most probable tokens in place of logits; None
        for a model compiled without `greedy`.
        """
        model: SessionModel | None = getattr(self.model, "greedy", None)
        return None if model is None else Session(model, self._states)

    def rewind(self, positions: int) -> None:
        """
        Forget the last positions of growing states: other ones may follow.

        Raises: StepwellError `bad-option` if none grows, or others than these exist; `bad-inputs` for more
        positions than there are.
        """
        self._states.rewind(positions)

    def reset(self) -> None:
        """Go back to the initial values of the states."""
        self._states.reset()

    def fork(self) -> Session[M]:
        """Another session that goes on from the same values."""
        return Session(self.model, self._states.fork())
