"""`stepwell.torch.compile_module`: tensors in and out, nested as those of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import stepwell
from tests.support.components import needs

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow


class Nested(nn.Module):
    """Arguments and results in lists and dictionaries, and an argument that is no tensor."""

    def forward(self, x: Any, past: Any, *, factor: float) -> Any:
        return {"sum": x + past["a"][0] * factor, "parts": [x.t(), past["b"]]}


def nested() -> tuple[Any, Any]:
    from stepwell.torch import compile_module

    past = {"a": [torch.randn(2, 3)], "b": torch.randn(4)}
    example = {"x": torch.randn(2, 3), "past": past, "factor": 2.0}
    return Nested().eval(), compile_module(Nested().eval(), example)


def test_arguments_and_results_nest() -> None:
    module, model = nested()
    given = torch.randn(2, 3), {"a": [torch.randn(2, 3)], "b": torch.randn(4)}
    found = model(x=given[0], past=given[1], factor=2.0)
    wanted = module(*given, factor=2.0)
    torch.testing.assert_close(found, wanted)


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        (lambda x, p: dict(x=x, past=p, factor=3.0), "expected 2.0"),
        (lambda x, p: dict(x=x, past=p["a"], factor=2.0), "nested"),
        (lambda x, p: dict(x=1.0, past=p, factor=2.0), "expected a tensor"),
        (lambda x, p: dict(x=x.to("meta"), past=p, factor=2.0), "x is on the device meta"),
    ],
)
def test_other_arguments_are_refused(arguments: Any, match: str) -> None:
    _, model = nested()
    past = {"a": [torch.randn(2, 3)], "b": torch.randn(4)}
    with pytest.raises(stepwell.StepwellError, match=match) as caught:
        model(**arguments(torch.randn(2, 3), past))
    assert caught.value.code == "bad-inputs"


def test_a_tensor_of_another_type_is_refused() -> None:
    _, model = nested()
    past = {"a": [torch.randn(2, 3)], "b": torch.randn(4)}
    with pytest.raises(stepwell.StepwellError, match="'x' must be float32, found float64") as caught:
        model(x=torch.randn(2, 3).double(), past=past, factor=2.0)
    assert caught.value.code == "type-mismatch"


def test_an_open_size_and_an_artifact(tmp_path: Path) -> None:
    from stepwell.torch import compile_module

    module = nn.Linear(4, 3).eval()
    model = compile_module(module, (torch.randn(2, 4),), {"input": {0: "N"}})
    x = torch.randn(5, 4)
    torch.testing.assert_close(model(x), module(x).detach())
    with pytest.raises(stepwell.StepwellError, match="input") as caught:
        model(torch.randn(5, 7))
    assert caught.value.code == "shape-mismatch"
    model.save(tmp_path / "m.stepwell")
    loaded = stepwell.load(tmp_path / "m.stepwell")
    torch.testing.assert_close(torch.as_tensor(loaded(x.numpy())), module(x).detach())


def test_buffers_are_a_state() -> None:
    from stepwell.torch import compile_module

    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(2))

        def forward(self, x: Any) -> Any:
            self.count += x
            return self.count * 1

    model = compile_module(Counter().eval(), (torch.ones(2),))
    assert [model(torch.ones(2)).tolist() for _ in range(2)] == [[1.0, 1.0], [2.0, 2.0]]
    assert model.session is not None
    model.session.reset()
    assert model(torch.ones(2)).tolist() == [1.0, 1.0]


def test_a_wanted_gradient_is_a_warning_once() -> None:
    from stepwell.torch import GradientWarning, compile_module

    model = compile_module(nn.ReLU().eval(), (torch.randn(3),))
    x = torch.randn(3, requires_grad=True)
    with pytest.warns(GradientWarning) as warned:
        assert not model(x).requires_grad
        model(x)
    assert len(warned) == 1


def test_narrow_floats_keep_their_type() -> None:
    from stepwell.torch import compile_module

    module, x = nn.Linear(4, 3).eval().bfloat16(), torch.randn(2, 4).bfloat16()
    found = compile_module(module, (x,))(x)
    assert found.dtype == torch.bfloat16
    torch.testing.assert_close(found, module(x).detach(), rtol=2e-2, atol=2e-2)
