"""Losses, optimizers and training, against numpy in f64."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import numpy_helper

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from stepwell.tools.training.fit import epochs, samples_of
from stepwell.tools.training.programs import Training
from stepwell.tools.training.schedules import schedule_of
from tests.commands import written
from tests.onnx_models import onnx_model
from tests.support.samples import whole

Array = npt.NDArray[Any]
RNG = np.random.default_rng(3)


def softmax(z: Array) -> Array:
    e = np.exp(z - z.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True)


def loss_of(kind: str, op: str, x: Array, targets: Array, options: str = "") -> float:
    """The loss of an op's output."""
    type = f"tensor<{x.shape[0]}x{x.shape[1]}xf64>"
    text = f"""func.func @main(%x: {type}) -> {type} {{
      %y = {op} : {type} -> {type}
      func.return %y : {type}
    }}"""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    run_pipeline(module, f"append-loss{{kind={kind} {options}}}", ctx)
    verify_module(module)
    (found,) = interpret(module, ctx, "main", [x, targets])
    return float(found)


X = RNG.standard_normal((5, 3))
T = RNG.standard_normal((5, 3))
CLASSES = np.array([0, 2, 1, 1, 0])
ROWS = softmax(RNG.standard_normal((5, 3)))


def test_cross_entropy():
    wanted = -np.log(softmax(X)[np.arange(5), CLASSES]).mean()
    for op in ("graph.softmax %x axis 1", "graph.log_softmax %x axis 1", "graph.neg %x"):
        x = -X if "neg" in op else X
        assert loss_of("cross_entropy", op, x, CLASSES) == pytest.approx(wanted, rel=1e-12)
    rows = -(ROWS * np.log(softmax(X))).sum(1).mean()
    found = loss_of("cross_entropy", "graph.softmax %x axis 1", X, ROWS, "targets=probabilities")
    assert found == pytest.approx(rows, rel=1e-12)


def test_cross_entropy_of_certain_rows_is_finite():
    x = np.array([[1000.0, 0.0, -1000.0]])
    assert loss_of("cross_entropy", "graph.softmax %x axis 1", x, np.array([2])) == 2000.0


def test_losses_of_numbers():
    d = -X - T
    huber = np.where(np.abs(d) < 1, d * d / 2, np.abs(d) - 0.5).mean()
    assert (np.abs(d) < 1).any() and (np.abs(d) > 1).any()
    for kind, wanted in (("mse", (d * d).mean()), ("mae", np.abs(d).mean()), ("huber", huber)):
        assert loss_of(kind, "graph.neg %x", X, T) == pytest.approx(wanted, rel=1e-12)


def test_binary_cross_entropy():
    p = 1 / (1 + np.exp(-X))
    wanted = -(ROWS * np.log(p) + (1 - ROWS) * np.log(1 - p)).mean()
    assert loss_of("binary_cross_entropy", "graph.sigmoid %x", X, ROWS) == pytest.approx(wanted, rel=1e-12)
    assert loss_of("binary_cross_entropy", "graph.neg %x", -X, ROWS) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("options", ["kind=nope", "kind=mse output=q", "kind=cross_entropy targets=x"])
def test_options_of_a_loss(options: str):
    text = "func.func @main(%x: tensor<2x2xf64>) -> tensor<2x2xf64> { func.return %x : tensor<2x2xf64> }"
    ctx = StepwellContext()
    with pytest.raises(StepwellError, match=r"error\[bad-option\]"):
        run_pipeline(parse_module(ctx, text), f"append-loss{{{options}}}", ctx)


Optimizer = Callable[[Array, Array, dict[str, Any]], Array]


def adam(w: Array, g: Array, s: dict[str, Any]) -> Array:
    """Source: Kingma and Ba (2015), algorithm 1."""
    s["t"] = s.get("t", 0) + 1
    s["m"] = 0.9 * s.get("m", 0) + 0.1 * g
    s["v"] = 0.999 * s.get("v", 0) + 0.001 * g * g
    return w - 0.1 * (s["m"] / (1 - 0.9 ** s["t"])) / (np.sqrt(s["v"] / (1 - 0.999 ** s["t"])) + 1e-8)


def momentum(w: Array, g: Array, s: dict[str, Any], ahead: bool = False) -> Array:
    s["v"] = 0.9 * s.get("v", 0) + g
    return w - 0.1 * (g + 0.9 * s["v"] if ahead else s["v"])


OPTIMIZERS: Mapping[str, Optimizer] = {
    "kind=sgd": lambda w, g, s: w - 0.1 * g,
    "kind=sgd weight-decay=0.3": lambda w, g, s: w - 0.1 * (g + 0.3 * w),
    "kind=sgd clip=0.5": lambda w, g, s: w - 0.1 * g * min(1.0, 0.5 / (np.sqrt((g * g).sum()) + 1e-6)),
    "kind=momentum": momentum,
    "kind=nesterov": lambda w, g, s: momentum(w, g, s, ahead=True),
    "kind=adam": adam,
    "kind=adam weight-decay=0.3": lambda w, g, s: adam(w, g + 0.3 * w, s),
    "kind=adamw": lambda w, g, s: adam(w * (1 - 0.1 * 0.01), g, s),
    "kind=adamw weight-decay=0.3": lambda w, g, s: adam(w * (1 - 0.1 * 0.3), g, s),
}


@pytest.mark.parametrize("options", OPTIMIZERS)
def test_optimizers_take_the_steps_of_their_formulas(options: str):
    text = """func.func @main(%w: tensor<4xf64> {graph.name = "w", graph.state = "w"}, %x: tensor<4xf64>)
        -> (tensor<f64> {graph.name = "loss"}) {
      %p = graph.multiply %w, %x : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      %q = graph.multiply %p, %p : (tensor<4xf64>, tensor<4xf64>) -> tensor<4xf64>
      %y = graph.reduce %q kind "sum" axes [0] keep_dims false : tensor<4xf64> -> tensor<f64>
      func.return %y : tensor<f64>
    }"""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    passes = f"append-optimizer{{lr=0.1 {options}}},gradient,inline,remove-unused-functions"
    run_pipeline(module, passes, ctx)
    verify_module(module)
    w, x = RNG.standard_normal(4), RNG.standard_normal(4)
    main = module.body.block.first_op
    assert main is not None
    count = len(main.regions[0].block.args) - 2
    shapes = [arg.type.get_shape() for arg in main.regions[0].block.args[1:-1]]  # type: ignore[attr-defined]
    state: list[Any] = [np.zeros(shape) for shape in shapes]
    wanted, memory = w, {}
    for _ in range(4):
        *found, loss = interpret(module, ctx, "main", [w, *state, x])
        assert float(loss) == pytest.approx(float(((w * x) ** 2).sum()), rel=1e-12)
        wanted = OPTIMIZERS[options](wanted, 2 * wanted * x * x, memory)
        w, state = np.asarray(found[0], np.float64), found[1:]
        np.testing.assert_allclose(w, wanted, rtol=1e-9)
        assert len(state) == count


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small classifier with weights, in a file."""
    proto = onnx_model(
        "g (float[N,6] x, float[6,8] w, float[8] b, float[8,3] v) => (float[N,3] y) "
        "{ h = MatMul(x, w) i = Add(h, b) j = Tanh(i) k = MatMul(j, v) y = Softmax <axis=1> (k) }"
    )
    rng = np.random.default_rng(1)
    for name, shape in (("w", (6, 8)), ("b", (8,)), ("v", (8, 3))):
        weight = rng.standard_normal(shape).astype(np.float32)
        proto.graph.initializer.append(numpy_helper.from_array(weight, name))
    del proto.graph.input[1:]
    return written(tmp_path_factory.mktemp("model") / "m.onnx", proto)


def samples(count: int = 40) -> tuple[Array, Array]:
    rng = np.random.default_rng(2)
    x = rng.standard_normal((count, 6)).astype(np.float32)
    return x, np.argmax(x[:, :3], 1)


@pytest.fixture(scope="module")
def trainer(model: Path) -> stepwell.Trainer:
    return stepwell.Trainer(model, loss="cross_entropy", optimizer="adam", lr=0.02, threads=1)


@whole
def test_training_goes_on_from_what_was_saved(trainer: stepwell.Trainer, tmp_path: Path):
    x, labels = samples()
    first = [trainer.step(x, labels) for _ in range(30)]
    assert first[-1] < 0.7 * first[0]
    trainer.save(tmp_path / "state.npz")
    ahead = [trainer.step(x, labels) for _ in range(3)]
    trainer.restore(tmp_path / "state.npz")
    assert [trainer.step(x, labels) for _ in range(3)] == ahead


@whole
def test_the_trained_model_is_the_file_with_other_weights(
    trainer: stepwell.Trainer, model: Path, tmp_path: Path
):
    x, _ = samples()
    trainer.to_onnx(tmp_path / "tuned.onnx")
    before, after = onnx.load(model), onnx.load(tmp_path / "tuned.onnx")
    found = {each.name: numpy_helper.to_array(each) for each in after.graph.initializer}
    assert found.keys() == trainer.parameters.keys() == {"w", "b", "v"}
    for name, value in trainer.parameters.items():
        np.testing.assert_array_equal(found[name], value)
    del before.graph.initializer[:], after.graph.initializer[:]
    assert before == after
    again = stepwell.Trainer(tmp_path / "tuned.onnx", loss="cross_entropy", threads=1)
    np.testing.assert_array_equal(again.outputs(x)["y"], trainer.outputs(x)["y"])


def test_a_trainer_is_a_session_of_its_step(model: Path):
    x, labels = samples()
    trainer = stepwell.Trainer(model, loss="cross_entropy", optimizer="momentum", lr=0.1, threads=1)
    assert list(trainer.state) == ["w", "b", "v", "w.v", "lr", "b.v", "v.v"]
    begin = trainer.parameters["w"]
    first = [trainer.step(x, labels), float(np.asarray(trainer(x, labels)))]
    assert (trainer.parameters["w"] != begin).any() and trainer.state["b.v"].any()
    trainer.reset()
    np.testing.assert_array_equal(trainer.parameters["w"], begin)
    assert [trainer.step(x, labels) for _ in range(2)] == first


def test_the_step_is_an_artifact(model: Path, tmp_path: Path):
    x, labels = samples()
    trainer = stepwell.Trainer(model, loss="cross_entropy", optimizer="adam", lr=0.02, threads=1)
    trainer.model.save(tmp_path / "step.stepwell")
    step = stepwell.load(tmp_path / "step.stepwell", threads=1)
    assert [spec.name for spec in step.inputs] == ["x", "targets"]
    assert [float(np.asarray(step(x, labels))) for _ in range(3)] == [
        trainer.step(x, labels) for _ in range(3)
    ]


def test_gradients_are_those_of_the_loss(trainer: stepwell.Trainer):
    x, labels = samples()
    found = trainer.gradients(x, labels)
    value, step = trainer.parameters["v"], 1e-2
    losses: list[float] = []
    for sign in (1, -1):
        moved = value.copy()
        moved[2, 1] += sign * step
        trainer.parameters["v"] = moved
        rows = np.asarray(trainer.outputs(x)["y"], np.float64)
        losses.append(-np.log(rows[np.arange(len(x)), labels]).mean())
    trainer.parameters["v"] = value
    assert found["v"][2, 1] == pytest.approx((losses[0] - losses[1]) / (2 * step), rel=2e-3)


def test_targets_may_be_rows_of_probabilities(trainer: stepwell.Trainer):
    x, labels = samples()
    rows = np.eye(3)[labels]
    one = trainer.gradients(x, labels)
    other = trainer.gradients(x, rows.astype(np.float32))
    for name in one:
        found, wanted = (np.asarray(each[name], np.float64) for each in (one, other))
        np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-6)


def test_what_does_not_fit(trainer: stepwell.Trainer, model: Path, tmp_path: Path):
    x, labels = samples()
    with pytest.raises(StepwellError, match="missing-input"):
        trainer.step(x)
    with pytest.raises(StepwellError, match="shape-mismatch"):
        trainer.step(x, labels[:-1])
    for wrong in (labels + 1, labels - 1):
        with pytest.raises(StepwellError, match="classes must be from 0 to 2, found (1 to 3|-1 to 1)"):
            trainer.step(x, wrong)
    other: dict[str, Any] = {**trainer.state, "w": np.zeros(3)}
    np.savez(tmp_path / "other.npz", **other)
    with pytest.raises(StepwellError, match="bad-inputs"):
        trainer.restore(tmp_path / "other.npz")
    with pytest.raises(StepwellError, match="no initializer of floats has the name 'q'"):
        stepwell.Trainer(model, loss="mse", train=["q"])
    with pytest.raises(StepwellError, match="no-source"):
        stepwell.Trainer(written(tmp_path / "m.stepwell", b""), loss="mse")


def test_only_the_parameters_that_are_named_change(model: Path):
    x, labels = samples()
    trainer = stepwell.Trainer(model, loss="cross_entropy", optimizer="sgd", train=["v", "b*"], threads=1)
    assert list(trainer.parameters) == ["b", "v"]
    before = dict(trainer.parameters)
    trainer.step(x, labels)
    assert all((before[name] != trainer.parameters[name]).any() for name in before)


def test_the_command_trains_and_tells(model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    x, labels = samples(50)
    np.savez(tmp_path / "d.npz", x=x, labels=labels)
    words = ["train", str(model), "--data", str(tmp_path / "d.npz"), "--loss", "cross_entropy"]
    words += ["--lr", "0.02", "--epochs", "3", "--batch", "20", "--threads", "1"]
    words += ["--schedule", "cosine", "--warmup", "2"]
    files = [tmp_path / name for name in ("a.onnx", "b.onnx")]
    for file in files:
        assert cli.main([*words, "-o", str(file), "--json", str(tmp_path / "f.json")]) == 0
    assert "epoch 3: loss" in capsys.readouterr().out
    facts = json.loads((tmp_path / "f.json").read_text())
    assert facts["schema"] == "stepwell-train/1" and facts["parameters"] == 6 * 8 + 8 + 8 * 3
    assert [epoch["samples"] for epoch in facts["epochs"]] == [50] * 3
    assert facts["epochs"][2]["loss"] < facts["epochs"][0]["loss"]
    assert files[0].read_bytes() == files[1].read_bytes(), "equal seeds give equal bits"
    np.savez(tmp_path / "d.npz", x=x)
    assert cli.main([*words, "-o", str(files[0])]) == 1
    assert "there is no array 'labels'" in capsys.readouterr().err


@pytest.mark.sample(5)
@pytest.mark.parametrize("optimizer", ["sgd", "momentum", "nesterov", "adam", "adamw"])
def test_a_rate_that_is_a_state_is_the_same_number(model: Path, optimizer: str):
    x, labels = samples()
    first, second = (
        stepwell.Trainer(model, loss="cross_entropy", optimizer=optimizer, lr=lr, threads=1)
        for lr in (0.02, 0.5)
    )
    assert second.lr == 0.5
    second.lr = 0.02
    assert [first.step(x, labels) for _ in range(3)] == [second.step(x, labels) for _ in range(3)]
    second.reset()
    assert second.lr == 0.5


def test_schedules():
    rates = [schedule_of("cosine", 0.4, steps=6, warmup=2)(step) for step in range(7)]
    np.testing.assert_allclose(
        rates, [0.2, 0.4, 0.4, 0.2 + 0.2 * 0.5**0.5, 0.2, 0.2 - 0.2 * 0.5**0.5, 0.0], atol=1e-12
    )
    rates = [schedule_of("step", 0.4, steps=6, every=2, gamma=0.5)(step) for step in range(6)]
    np.testing.assert_allclose(rates, [0.4, 0.4, 0.2, 0.2, 0.1, 0.1])
    assert schedule_of("constant", 0.4, steps=6)(5) == 0.4
    for kind in ("none", "step"):
        with pytest.raises(StepwellError, match=r"error\[bad-option\]"):
            schedule_of(kind, 0.4, steps=6)


def test_a_schedule_sets_the_rate_of_each_step(model: Path):
    x, labels = samples(40)
    trainer = stepwell.Trainer(model, loss="cross_entropy", optimizer="sgd", lr=0.1, threads=1)
    seen: list[int] = []

    def schedule(step: int) -> float:
        seen.append(step)
        return 0.0 if step < 4 else 0.1

    begin = trainer.parameters["w"]
    for epoch in epochs(trainer, [x], labels, count=2, batch=16, schedule=schedule):
        assert epoch.samples == 40
    assert seen == [0, 1, 2, 3, 4, 5], "two epochs of three batches, the last of 8"
    assert (trainer.parameters["w"] != begin).any() and trainer.lr == np.float32(0.1)


def test_small_rates_are_exact(model: Path):
    training = Training(model, "mse", "sgd", 1e-7, clip=1e9)
    module = training.program("step").module
    assert "dense<1.000000e-07>" in str(module)


def test_samples_are_as_many():
    with pytest.raises(StepwellError, match="one number of samples"):
        samples_of({"x": np.zeros((3, 2)), "labels": np.zeros(2)}, ["x"], ["y"], "d.npz")
    arrays = {"x": np.zeros((3, 2)), "y": np.ones(3), "labels": np.zeros(3)}
    assert samples_of(arrays, ["x"], ["y"], "d.npz")[1][0] == 1
