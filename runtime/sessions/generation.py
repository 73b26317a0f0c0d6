"""`generate`: tokens one after the other, from a decoder whose caches are states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from time import perf_counter
from typing import Literal, NamedTuple

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, Interface
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.sampling import Sampler, Sampling
from stepwell.runtime.sessions.session import Session, SessionModel

Finish = Literal["eos", "stop", "length", "capacity"]
TOKENS = "input_ids"
LOGITS = "logits"


class Generated(NamedTuple):
    """Tokens that a decoder has made, and why it ended."""

    ids: list[int]
    """The new tokens, with the one, or the sequence, that ended them."""
    finish: Finish
    prefill_seconds: float
    """The time of the call on the prompt."""
    step_seconds: list[float]
    """The times of the calls on one new token each."""


def generate(
    model: CompiledModel | Session[CompiledModel],
    ids: Sequence[int],
    *,
    max_new_tokens: int = 128,
    temperature: float = 0.0,
    top_k: int = 0,
    top_p: float = 1.0,
    min_p: float = 0.0,
    repetition_penalty: float = 1.0,
    eos: int | Sequence[int] = (),
    stop: Sequence[Sequence[int]] = (),
    seed: int = 0,
    on_token: Callable[[int], object] | None = None,
) -> Generated:
    """
    New tokens after those of a prompt.

    Args: `model` is a decoder compiled with `states`, or a session of it, which goes on from where it is;
    `ids` are the tokens of the prompt. `max_new_tokens` bounds the result. `temperature` 0 takes the most
    probable token; else one is drawn, by `seed`, from the `top_k` greatest, the `top_p` share and those of
    `min_p` times the greatest probability. Logits of tokens so far are lowered by `repetition_penalty`. `eos`
    are tokens that end it, `stop` sequences that do; `on_token` is called with each token.
    Returns: the tokens, why they end, and times. A session has all of them but the last one, which no call
    has read yet.
    Raises: StepwellError `bad-option`, `bad-inputs`; `state-full` for a prompt that the session has no room
    for, after which it is as before.
    """
    sampler = Sampler(Sampling(temperature, top_k, top_p, min_p, repetition_penalty, seed))
    if type(max_new_tokens) is not int or max_new_tokens < 1:
        message = f"max_new_tokens must be a number from 1 on, found {max_new_tokens!r}"
        raise StepwellError("bad-option", None, message)
    session = model if isinstance(model, Session) else _session_of(model)
    step = _Step(session)
    so_far = step.checked(ids)
    greedy = session.greedy() if temperature == 0 and repetition_penalty == 1 else None
    ends = {eos} if isinstance(eos, int) else set(eos)
    stops = [list(each) for each in stop if len(each)]
    made: list[int] = []
    seconds: list[float] = []
    new: Sequence[int] = so_far
    while True:
        start = perf_counter()
        found = step(new) if greedy is None else step.token(greedy, new)
        seconds.append(perf_counter() - start)
        token = found if isinstance(found, int) else sampler.choose(found, so_far)
        made.append(token)
        so_far = [*so_far, token] if repetition_penalty != 1 else so_far
        if on_token is not None:
            on_token(token)
        finish = _finish(made, ends, stops, max_new_tokens)
        if finish is None and not step.has_room():
            finish = "capacity"
        if finish is not None:
            return Generated(made, finish, seconds[0], seconds[1:])
        new = [token]


def _session_of(model: CompiledModel) -> Session[CompiledModel]:
    """A session of a model with states. Raises: StepwellError `bad-option`."""
    session = model.session()
    if not session.state:
        message = "the model has no states, so it would read the whole text at each token"
        help = 'compile it with states="auto"; in a shell, `--state auto`'
        raise StepwellError("bad-option", None, message, help=help)
    return session


def _finish(made: list[int], ends: set[int], stops: list[list[int]], most: int) -> Finish | None:
    """Why the tokens so far are the last; None where more follow."""
    if made[-1] in ends:
        return "eos"
    if any(made[-len(stop) :] == stop for stop in stops):
        return "stop"
    return "length" if len(made) >= most else None


class _Step:
    """Calls of a session on tokens, for the logits of the last one."""

    def __init__(self, session: Session[CompiledModel]):
        self._session = session
        interface = session.model.interface
        self._tokens = _token_input(interface)
        names = [spec.name for spec in interface.outputs]
        self._output = names.index(LOGITS) if LOGITS in names else 0
        self._vocabulary = interface.outputs[self._output].dims[-1] if names else None
        self._input = interface.inputs[0]

    def checked(self, ids: Sequence[int]) -> list[int]:
        """The tokens of a prompt. Raises: StepwellError `bad-inputs`."""
        found = [int(each) for each in ids]
        if not found:
            raise StepwellError("bad-inputs", None, "a prompt has one token or more, found none")
        dim = self._vocabulary
        most = dim.value if dim is not None and dim.is_static else None
        wrong = [each for each in found if each < 0 or (most is not None and each >= most)]
        if wrong:
            ids_text = "not negative" if most is None else f"from 0 to {most - 1}"
            message = f"the token {wrong[0]} is not in the vocabulary, whose ids are {ids_text}"
            raise StepwellError("bad-inputs", None, message)
        return found

    def __call__(self, ids: Sequence[int]) -> Array:
        """The logits of the token after the last one. Raises: StepwellError as of a session."""
        outputs = self._session(np.array([ids], self._input.dtype))
        logits = outputs[self._output] if isinstance(outputs, tuple) else outputs
        return logits.reshape(-1, logits.shape[-1])[-1]

    def token(self, greedy: Session[SessionModel], ids: Sequence[int]) -> int:
        """The most probable token after the last one. Raises: StepwellError as of a session."""
        outputs = greedy(np.array([ids], self._input.dtype))
        tokens = outputs[self._output] if isinstance(outputs, tuple) else outputs
        return int(tokens.reshape(-1)[-1])

    def has_room(self) -> bool:
        """Whether the session can read one more token."""
        return not self._session.grows or self._session.length < self._session.capacity


def _token_input(interface: Interface) -> str:
    """The name of the only input, the tokens. Raises: StepwellError `bad-option`."""
    names = [spec.name for spec in interface.inputs]
    others = [name for name in names if name != TOKENS]
    if len(names) == 1 and interface.inputs[0].dtype.kind in "iu":
        return names[0]
    message = f"generation gives a model tokens alone, and this one takes {', '.join(names) or 'nothing'}"
    help = f"bind {others[0]!r} as a state too, or call a session yourself" if others else None
    raise StepwellError("bad-option", None, message, help=help)
