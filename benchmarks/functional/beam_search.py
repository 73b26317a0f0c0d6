"""Beam search (examples/beam_search.mlir) over a decoder with a growing cache, against a loop in Python."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import stepwell
from benchmarks.functional.rows import Row
from benchmarks.zoo import model_path
from stepwell.runtime.rpc.interleaved import interleave, ratio

Array = npt.NDArray[Any]
Beam = list[tuple[Any, list[int], list[Array]]]
"""Hypotheses: a score, tokens and the decoder's caches."""
MODEL, WIDTH, STEPS, ROUNDS = "gpt_kv", 4, 64, 7
VOCABULARY, CACHES = 8000, 12
EXAMPLE = Path(__file__).parents[2] / "examples" / "beam_search.mlir"
_CACHE = "tensor<1x8x?x64xf32>"
_DECODER_BEGIN, _DECODER_END = "// The best hypotheses with their scores", "// The search from one token"


def program_text(decoder: str) -> str:
    """The example with another decoder: the function of a model with caches, as text, in place of its own."""
    text = EXAMPLE.read_text(encoding="utf-8")
    before, rest = text.split(_DECODER_BEGIN)
    after = rest[rest.index(_DECODER_END) :]
    caches, state = ", ".join([_CACHE] * CACHES), f"tuple<{', '.join([_CACHE] * CACHES)}>"
    gets = "".join(f"  %c{n} = graph.get %s [{n}] : !State -> {_CACHE}\n" for n in range(CACHES))
    old, new = (", ".join(f"%{letter}{n}" for n in range(CACHES)) for letter in "cd")
    sizes = {"64xf32>\n!Tokens": f"{VOCABULARY}xf32>\n!Tokens", "tensor<1x32xf32>\n": f"{state}\n"}
    sizes |= {each: each.replace("64", str(VOCABULARY), 1) for each in ("<64xi64>", "<64xi1>", "<[64]>")}
    head, tail = before, after
    for found, wanted in sizes.items():
        head, tail = head.replace(found, wanted), tail.replace(found, wanted)
    logits, result = f"tensor<1x1x{VOCABULARY}xf32>", "!adt.data<@List, tuple<!F, !Tokens>>"
    function = "((!N, !State) -> tuple<!Scores, !State>, !State, !N, !N, !N)"
    return f"""{head}
!Ids = tensor<1x1xi64>
{decoder.replace("func.func @main", "func.func private @decoder")}
func.func private @step(%token: !N, %s: !State) -> tuple<!Scores, !State> {{
  %ids = graph.reshape %token shape <[1, 1]> : !N -> !Ids
{gets}  %logits, {new} = graph.call @decoder(%ids, {old}) : (!Ids, {caches}) -> ({logits}, {caches})
  %l = graph.log_softmax %logits axis 2 : {logits} -> {logits}
  %scores = graph.reshape %l shape <[{VOCABULARY}]> : {logits} -> !Scores
  %next = graph.tuple {new} : {caches}
  %r = graph.tuple %scores, %next : !Scores, !State
  func.return %r : tuple<!Scores, !State>
}}
func.func @main(%first: !N, %width: !N, %steps: !N, %cache: {_CACHE}) -> {result} {{
  %step = graph.function @step : (!N, !State) -> tuple<!Scores, !State>
  %state = graph.tuple {", ".join(["%cache"] * CACHES)} : {caches}
  %found = graph.call @best_sequences<!State>(%step, %state, %first, %width, %steps) : {function} -> {result}
  func.return %found : {result}
}}
{tail}"""


def program(path: Path) -> Any:
    """The search with the model's decoder, compiled: one call from the first token to the best sequences."""
    decoder = stepwell.read(path).run("convert-onnx-to-graph")
    text = program_text(str(decoder["main"]))
    return stepwell.compile(stepwell.parse(text, context=decoder.context), threads=1, executor="native")


def searched(step: Callable[..., list[Array]], first: int, cache: Array) -> Beam:
    """The same search in Python around a compiled step."""
    beam: Beam = [(np.float32(0), [first], [cache] * CACHES)]
    for _ in range(STEPS):
        scores: list[Array] = []
        states: list[list[Array]] = []
        for score, tokens, state in beam:
            if tokens[-1] == 0:
                row = np.full(VOCABULARY, -np.inf, np.float32)
                row[0] = score
            else:
                logits, *state = step(np.array([[tokens[-1]]]), *state)
                shifted = logits[0, 0] - logits.max()
                row = shifted - np.log(np.exp(shifted).sum()) + score
            scores.append(row)
            states.append(state)
        flat = np.concatenate(scores)
        best = np.argpartition(-flat, WIDTH)[:WIDTH]
        best = best[np.argsort(-flat[best])]
        parents = [(int(each) // VOCABULARY, int(each) % VOCABULARY) for each in best]
        beam = [
            (flat[at], [*beam[parent][1], token], states[parent])
            for at, (parent, token) in zip(best, parents, strict=True)
        ]
    return beam


def beam_search_rows() -> Iterator[Row]:
    """The row of a search of 64 steps in one call, against the loop in Python."""
    what, bound = f"beam search, {MODEL}, width {WIDTH}, {STEPS} steps", "not slower than the loop in Python"
    path = model_path(MODEL)
    if path is None:
        yield Row(what, f"not measured: STEPWELL_MODELS names no folder with {MODEL}", bound, None)
        return
    model: Any = program(path)
    step: Any = stepwell.compile(path, threads=1)
    cache, numbers = np.zeros((1, 8, 0, 64), np.float32), [np.int64(each) for each in (1, WIDTH, STEPS)]
    runs: dict[str, Callable[[], list[Any]]] = {
        "one call": partial(model, *numbers, cache),
        "loop": partial(searched, step, 1, cache),
    }
    ours, theirs = (run() for run in runs.values())
    assert [[int(each) for each in row[1]] for row in ours] == [row[1] for row in theirs]
    times = interleave(runs, ROUNDS)
    against = ratio(times["loop"], times["one call"])
    found = f"{times['one call'].median:.2f} s in one call, loop / ours {against}"
    yield Row(what, found, bound, against.high >= 1)
