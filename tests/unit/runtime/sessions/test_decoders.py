"""Decoders whose caches are states: sessions equal the loop over explicit past and present."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.runtime import memory
from stepwell.runtime.sessions import states
from stepwell.runtime.sessions.sampling import Sampler
from stepwell.tools import cli
from tests.support.decoders import VOCABULARY, Explicit, decoder
from tests.support.samples import examples, whole

KINDS = ("grouped", "plain")
ALL_KINDS = (*KINDS, "attention", "scatter")


@cache
def compiled(kind: str) -> stepwell.CompiledModel:
    """A decoder with states: compiled, or on its first stage, which is enough for the others."""
    if kind == "grouped":
        return stepwell.compile(decoder(kind, layers=1), states="auto", threads=1)
    model = stepwell.compile(decoder(kind, layers=1), states="auto", threads=1, start="now")
    model.close()
    return model


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["plain", "attention", "scatter"])
def test_all_decoders_are_written_in_place(kind: str):
    model = stepwell.compile(decoder(kind), states="auto", threads=1)
    *caches, length = model.image.main.interface.states
    assert all(each.is_in_place for each in caches) and len(caches) == 4 and length.name == "length"
    session, loop = model.session(), explicit(kind, layers=2)
    for ids in ([5], [6, 7], [8], [9]):
        close(session(np.array([ids])), loop(ids))


@cache
def interpreted(kind: str, layers: int) -> Any:
    """The same decoder with explicit caches, as the reference."""
    return stepwell.compile(decoder(kind, layers=layers), executor="interpreter")


def explicit(kind: str, batch: int = 1, layers: int = 1) -> Explicit:
    model, program = decoder(kind, layers=layers), interpreted(kind, layers)
    names = [value.name for value in model.graph.output]

    def run(feeds: Mapping[str, Any]) -> dict[str, Any]:
        return dict(zip(names, program(**feeds), strict=True))

    return Explicit(run, model, batch)


def close(found: Any, wanted: Any) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)


def greedy(kind: str, prompt: list[int], count: int) -> list[int]:
    """The most probable tokens after a prompt, by explicit caches."""
    loop, found, new = explicit(kind), list[int](), prompt
    for _ in range(count):
        new = [int(np.argmax(loop(new)[0, -1]))]
        found += new
    return found


@whole
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_caches_masks_and_positions_leave_the_interface(kind: str):
    model = compiled(kind)
    assert [each.name for each in model.inputs] == ["input_ids"]
    assert [each.name for each in model.outputs] == ["logits"]


def test_caches_are_written_in_place():
    states = compiled("grouped").image.main.interface.states
    assert [each.name for each in states] == ["past_key_values.0.key", "past_key_values.0.value", "length"]
    assert [each.is_in_place for each in states] == [True, True, False]


@pytest.mark.sample(3)
@pytest.mark.parametrize("kind", ALL_KINDS)
def test_three_calls_give_the_logits_of_explicit_caches(kind: str):
    session, loop = compiled(kind).session(), explicit(kind)
    for ids in ([5], [6, 7], [8]):
        close(session(np.array([ids])), loop(ids))
    assert session.length == 4


@examples(30)
@given(data=st.data())
def test_any_chunks_of_a_prompt_give_the_logits_of_explicit_caches(data: st.DataObject):
    kind = data.draw(st.sampled_from(KINDS))
    ids = data.draw(st.lists(st.integers(0, VOCABULARY - 1), min_size=1, max_size=12))
    bounds = sorted({0, len(ids), *data.draw(st.sets(st.integers(0, len(ids))))})
    session, loop = compiled(kind).session(capacity=12), explicit(kind)
    for begin, end in zip(bounds, bounds[1:], strict=False):
        close(session(np.array([ids[begin:end]])), loop(ids[begin:end]))
        assert session.length == end
    for name, past in loop.past.items():
        close(session.state[name], past)


@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_a_batch(kind: str):
    session, loop = compiled(kind).session(batch=2, capacity=8), explicit(kind, 2)
    for ids in ([[1, 2, 3], [4, 5, 6]], [[7], [8]]):
        close(session(np.array(ids)), loop(np.array(ids)))


def test_what_follows_the_length_is_never_read():
    model = compiled("grouped")
    session, other = model.session(capacity=16), model.session(capacity=16)
    ids = np.array([[1, 2, 3]])
    session(ids)
    other(ids)
    for name in ("past_key_values.0.key", "past_key_values.0.value"):
        value = session._states.store.values[name]  # pyright: ignore[reportPrivateUsage]
        value[:, :, 3:] = np.nan
    np.testing.assert_array_equal(session(np.array([[4, 5]])), other(np.array([[4, 5]])))


def test_steps_allocate_nothing_but_results(monkeypatch: pytest.MonkeyPatch):
    model = compiled("grouped")
    session = model.session(capacity=64)
    session(np.array([[1, 2, 3]]))
    session(np.array([[4]]))
    asked: list[int] = []

    def counted(size: int) -> Any:
        asked.append(size)
        return np.empty(size, np.uint8)

    for module in (memory, states):
        monkeypatch.setattr(module, "aligned_empty", counted)
    (step,) = model._versions._versions  # pyright: ignore
    for frame in step.model._frames:  # pyright: ignore
        monkeypatch.setattr(frame, "new_arena", counted)
    for _ in range(40):
        session(np.array([[5]]))
    assert asked == [] and session.length == 44


def test_the_artifact_generates_what_explicit_caches_do(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    onnx.save(decoder("grouped", layers=1), tmp_path / "decoder.onnx")
    artifact = str(tmp_path / "decoder.stepwell")
    assert cli.main(["compile", str(tmp_path / "decoder.onnx"), "--state", "auto", "-o", artifact]) == 0
    capsys.readouterr()
    asked = ["generate", artifact, "--ids", "1,2,3", "--max-new-tokens", "32", "--json"]
    assert cli.main(asked) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["ids"] == greedy("grouped", [1, 2, 3], 32)
    assert found["finish"] == "length" and len(found["step_seconds"]) == 31


def test_generation_goes_on_in_a_session():
    session = compiled("plain").session(capacity=40)
    wanted = greedy("plain", [1, 2, 3], 9)
    first = stepwell.generate(session, [1, 2, 3], max_new_tokens=4)
    assert first.ids == wanted[:4] and session.length == 6
    more = stepwell.generate(session, first.ids[-1:], max_new_tokens=5)
    assert more.ids == wanted[4:]


def test_generation_ends_at_the_capacity():
    session = compiled("plain").session(capacity=6)
    found = stepwell.generate(session, [1, 2, 3])
    assert found.finish == "capacity" and found.ids == greedy("plain", [1, 2, 3], 4)
    assert session.length == 6


def test_greedy_code_returns_tokens_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    model = stepwell.compile(
        decoder("grouped", layers=1), states="auto", threads=1, greedy=True, specialize=[]
    )
    model.save(tmp_path / "decoder.stepwell")
    for each in (model, stepwell.load(tmp_path / "decoder.stepwell", threads=1)):
        session = each.session(capacity=16)
        tokens = session.greedy()
        assert tokens is not None and tokens(np.array([[1, 2, 3]])).shape == (1, 3)  # pyright: ignore
        assert session.length == 3  # the states are those of the session
        logits = session(np.array([[4]]))
        session.rewind(1)
        assert tokens(np.array([[4]])) == np.argmax(logits)
    monkeypatch.setattr(Sampler, "choose", None)  # generation does without
    found = stepwell.generate(model, [1, 2, 3], max_new_tokens=8)
    assert found.ids == greedy("grouped", [1, 2, 3], 8)
    assert len(model.image.weights) == len(compiled("grouped").image.weights)


def test_greedy_is_for_decoders():
    with pytest.raises(stepwell.StepwellError, match="no state of the model grows"):
        stepwell.compile(decoder("plain", layers=1), greedy=True)
    assert compiled("plain").session().greedy() is None
