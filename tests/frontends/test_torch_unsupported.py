"""Operators without a conversion, which torch runs with `unsupported="torch"`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import stepwell
from tests.support.components import needs

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow


class Mixed(nn.Module):
    """Operators that torch runs between others: with complex numbers, open sizes, lists."""

    def forward(self, x: Any, i: Any) -> Any:
        spectrum = torch.fft.rfft(x).abs()
        parts = torch.cartesian_prod(x[:, 0], x[:, 1]).sum(0)
        best, where = torch.cummax(torch.relu(x), 1)
        return spectrum * x.shape[0], torch.special.erfcx(x) + parts[0], best, where + i.sum()


def test_torch_runs_single_operators(tmp_path: Path) -> None:
    module, given = Mixed().eval(), (torch.randn(3, 8), torch.tensor([1, 2]))
    model: Any = stepwell.compile(
        module, example_inputs=given, dynamic_shapes={"x": {0: "N"}, "i": None}, unsupported="torch"
    )
    model.save(tmp_path / "m.stepwell")
    again = stepwell.load(tmp_path / "m.stepwell")
    for batch in (3, 5):
        x = torch.randn(batch, 8)
        for found in (model(x.numpy(), given[1].numpy()), again(x.numpy(), given[1].numpy())):
            for array, wanted in zip(found, module(x, given[1]), strict=True):
                torch.testing.assert_close(torch.as_tensor(array), wanted)


def test_sizes_that_depend_on_data() -> None:
    class Found(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.repeat_interleave(torch.relu(x).long()) * 2

    x = torch.tensor([0.0, 3.0, -1.0, 5.0])
    model: Any = stepwell.compile(Found().eval(), example_inputs=(x,), unsupported="torch")
    assert model(x.numpy()).tolist() == [2, 2, 2, 6, 6, 6, 6, 6]
    assert model((-x).numpy()).tolist() == [4]


class Refused(nn.Module):
    """Calls whose arguments their conversions refuse, between others."""

    def __init__(self) -> None:
        super().__init__()
        self.cells = nn.LSTM(3, 4, num_layers=2, proj_size=2, batch_first=True)

    def forward(self, x: Any) -> Any:
        y, (last, state) = self.cells(torch.relu(x))
        spread = torch.slice_scatter(x, y[:, :2, :1].expand(-1, -1, 3), 1, 0, 4, 2)
        return y, last * 2, state, spread, torch.linalg.vector_norm(x, 3.0, -1)


@pytest.mark.parametrize("unsupported", ["error", "torch"])
def test_a_call_that_its_conversion_refuses_is_decomposed(unsupported: Any) -> None:
    module, example = Refused().eval(), torch.randn(3, 4, 3)
    program = stepwell.read(module, example_inputs=(example,), dynamic_shapes={"x": {0: "N"}})
    assert "torch.aten.lstm.input" in str(program)  # level 0 is the program as it was exported
    model: Any = stepwell.compile(
        module, example_inputs=(example,), dynamic_shapes={"x": {0: "N"}}, unsupported=unsupported
    )
    assert "torch" not in str(model.summary)
    for batch in (3, 1, 5):
        x = torch.randn(batch, 4, 3)
        for found, wanted in zip(model(x.numpy()), module(x), strict=True):
            torch.testing.assert_close(torch.as_tensor(found), wanted)


def test_a_decomposition_that_holds_for_some_sizes_is_not_taken() -> None:
    class Spread(nn.Module):
        def forward(self, x: Any, y: Any) -> Any:
            return torch.slice_scatter(x, y, 1, 0, 4, 2)

    examples = torch.randn(3, 4), torch.randn(3, 2)
    with pytest.raises(stepwell.StepwellError, match="a step other than 1") as caught:
        stepwell.compile(
            Spread().eval(), example_inputs=examples, dynamic_shapes={"x": {0: "N"}, "y": {0: "M"}}
        )
    assert caught.value.code == "unsupported"  # the rule asks whether N is M
    model: Any = stepwell.compile(Spread().eval(), example_inputs=examples)
    found = model(*(each.numpy() for each in examples))
    torch.testing.assert_close(torch.as_tensor(found), Spread()(*examples))


def test_random_numbers_are_new_at_each_call() -> None:
    module = nn.Sequential(nn.ReLU(), nn.Dropout(0.5)).train()
    x = torch.ones(1000)
    with pytest.warns(UserWarning, match="training mode"):
        model: Any = stepwell.compile(module, example_inputs=(x,), unsupported="torch")
    first, second = model(x.numpy()), model(x.numpy())
    assert set(first.tolist()) == {0.0, 2.0}
    assert (first != second).any()


@torch.library.custom_op("stepwelltest::scaled", mutates_args=())
def scaled(x: torch.Tensor, factor: float) -> torch.Tensor:  # pyright: ignore[reportInvalidTypeForm]
    return x * factor


@scaled.register_fake
def _(x: torch.Tensor, factor: float) -> torch.Tensor:  # pyright: ignore[reportInvalidTypeForm]
    return torch.empty_like(x)


class Custom(nn.Module):
    """An operator of the user's."""

    def forward(self, x: Any) -> Any:
        return torch.relu(scaled(x, 1.5))


def test_an_operator_of_another_library() -> None:
    x = torch.randn(4)
    with pytest.raises(stepwell.StepwellError, match=r"stepwelltest\.scaled") as caught:
        stepwell.compile(Custom().eval(), example_inputs=(x,))
    assert caught.value.code == "unsupported-op"
    model: Any = stepwell.compile(Custom().eval(), example_inputs=(x,), unsupported="torch")
    torch.testing.assert_close(torch.as_tensor(model(x.numpy())), Custom()(x))


def test_narrow_floats_cross_over() -> None:
    x = torch.randn(4).bfloat16()
    model: Any = stepwell.compile(Custom().eval(), example_inputs=(x,), unsupported="torch")
    array = stepwell.read(Custom().eval(), example_inputs=(x,))
    assert "bf16" in str(array)
    from stepwell.frontend.torch.tensors import array_of

    found = model(array_of(x, "x"))
    torch.testing.assert_close(torch.as_tensor(found.astype("float32")), Custom()(x).float())


@torch.library.custom_op("stepwelltest::positive", mutates_args=())
def positive(x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportInvalidTypeForm]
    if x.sum() < 0:
        raise ValueError("the sum is negative")
    return x.clone()


@positive.register_fake
def _(x: torch.Tensor) -> torch.Tensor:  # pyright: ignore[reportInvalidTypeForm]
    return torch.empty_like(x)


def test_an_error_of_torch_names_the_node() -> None:
    class Wrong(nn.Module):
        def forward(self, x: Any) -> Any:
            return positive(x) + 1

    model: Any = stepwell.compile(Wrong().eval(), example_inputs=(torch.ones(3),), unsupported="torch")
    with pytest.raises(stepwell.StepwellError, match="the sum is negative") as caught:
        model((-torch.ones(3)).numpy())
    assert caught.value.code == "host-failed"
    assert "positive" in str(caught.value.where)


@pytest.mark.parametrize("target", ["load_library", "aten.add", "aten.__class__.mro", "aten.nothing.default"])
def test_a_model_names_operators_alone(target: str, tmp_path: Path) -> None:
    """`torch.ops.load_library` would run the code of a library that the model names."""
    quote = r"\22"
    about = {"arguments": {"path": f"{tmp_path}/none.so"}, "target": target}
    call = json.dumps(about).replace('"', quote)
    text = f"""
    func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {{
      %y = "torch.operator"(%x) <{{target = "{target}", call = "{call}"}}> : (tensor<4xf32>) -> tensor<4xf32>
      func.return %y : tensor<4xf32>
    }}
    """
    with pytest.raises(stepwell.StepwellError, match="torch has no operator") as caught:
        stepwell.parse(text).compile(unsupported="torch")
    assert caught.value.code == "unsupported-op"
