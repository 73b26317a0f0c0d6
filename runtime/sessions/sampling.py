"""The choice of the next token from logits: penalty, temperature, top-k, top-p, min-p, a draw by seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from stepwell.runtime.errors import StepwellError


@dataclass(frozen=True)
class Sampling:
    """
    The choice of tokens, in this order: repetition penalty, temperature, top-k, softmax in f32, top-p, min-p.
    """

    temperature: float = 0.0
    """The divisor of logits; 0 chooses the greatest logit (of equal ones, the lowest id)."""
    top_k: int = 0
    """The number of greatest logits that are left (of equal ones, the lower ids); 0 for all."""
    top_p: float = 1.0
    """The most probable tokens are left, up to the one whose sum of probabilities reaches this."""
    min_p: float = 0.0
    """The least probability, as a share of the greatest one."""
    repetition_penalty: float = 1.0
    """What positive logits of ids so far are divided by; negative ones are multiplied."""
    seed: int = 0

    def __post_init__(self) -> None:
        legal = {
            "temperature": (self.temperature >= 0, "0 or more"),
            "top_k": (type(self.top_k) is int and self.top_k >= 0, "a number from 0 on"),
            "top_p": (0 < self.top_p <= 1, "above 0, at most 1"),
            "min_p": (0 <= self.min_p <= 1, "from 0 to 1"),
            "repetition_penalty": (self.repetition_penalty > 0, "above 0"),
            "seed": (type(self.seed) is int and self.seed >= 0, "a number from 0 on"),
        }
        for option in fields(self):
            is_legal, text = legal[option.name]
            if not is_legal:
                value = getattr(self, option.name)
                raise StepwellError("bad-option", None, f"{option.name} must be {text}, found {value!r}")


class Sampler:
    """Chooses one token after the other; a draw each, from the stream of the seed."""

    def __init__(self, sampling: Sampling):
        self._sampling = sampling
        self._random = np.random.Generator(np.random.Philox(key=sampling.seed))

    def choose(self, logits: npt.ArrayLike, so_far: Sequence[int]) -> int:
        """
        The next token.

        Args: `logits` are one a token; `so_far` are the ids of the prompt and those chosen before.
        Raises: StepwellError `bad-data` for logits that are NaN.
        """
        options = self._sampling
        x = np.array(logits, np.float32)
        if options.repetition_penalty != 1 and len(so_far):
            seen = np.unique(np.asarray(so_far, np.int64))
            penalty, old = np.float32(options.repetition_penalty), x[seen]
            x[seen] = np.where(old > 0, old / penalty, old * penalty)
        best = int(np.argmax(x))
        if np.isnan(x[best]):
            raise StepwellError("bad-data", None, f"the logits hold NaN, first for the token {best}")
        if options.temperature == 0:
            return best
        order, chances = self._chances(x / np.float32(options.temperature))
        return int(order[self._drawn(chances)])

    def _chances(self, x: npt.NDArray[np.float32]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float32]]:
        """The tokens that are left, the most probable first, and their probabilities."""
        options = self._sampling
        order = np.argsort(-x, kind="stable")[: options.top_k or None]
        powers = np.exp(x[order] - x[order[0]])
        chances = powers / powers.sum(dtype=np.float32)
        if options.top_p < 1:
            kept = int(np.searchsorted(np.cumsum(chances), options.top_p)) + 1
            order, chances = order[:kept], chances[:kept]
        kept = int(np.count_nonzero(chances >= np.float32(options.min_p) * chances[0]))
        return order[:kept], chances[:kept] / chances[:kept].sum(dtype=np.float32)

    def _drawn(self, chances: npt.NDArray[np.float32]) -> int:
        """The number of the token in whose part of [0, 1) the draw is."""
        ends = np.cumsum(chances, dtype=np.float64)
        return min(int(np.searchsorted(ends, self._random.random(), side="right")), len(chances) - 1)
