"""`stepwell.torch.compile_module`: tensors in and out, nested as those of the module."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
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


class Parts(nn.Module):
    """Results that are no tensors: nothing, text, numbers and sizes."""

    def forward(self, x: Any) -> Any:
        return None, {"a": x + 1, "b": [None, "text"]}, 3, True, x.shape[0] * 2, 2.5


def test_results_that_are_no_tensors(tmp_path: Path) -> None:
    from stepwell.torch import compile_module

    model = compile_module(Parts().eval(), (torch.ones(2, 3),), {"x": {0: "N"}})
    for x in (torch.randn(2, 3), torch.randn(5, 3)):
        found, wanted = model(x), Parts()(x)
        torch.testing.assert_close(found[1].pop("a"), wanted[1].pop("a"))
        assert found == wanted and list(map(type, found)) == list(map(type, wanted))
    sizes = {"x": {0: torch.export.Dim("N")}}
    program = torch.export.export(Parts().eval(), (torch.ones(2, 3),), dynamic_shapes=sizes)
    torch.export.save(program, tmp_path / "m.pt2")
    of_file = stepwell.compile(tmp_path / "m.pt2")
    results = of_file.run({"x": np.zeros([4, 3], np.float32)})
    numbers = {name: value.item() for name, value in results.items() if value.ndim == 0}
    assert numbers == {"output_2": 3, "output_3": True, "output_4": 8, "output_5": 2.5}
    assert [*results] == ["output_1.a", *numbers]


class Masks(nn.Module):
    """Sizes that are numbers of true elements."""

    def forward(self, x: Any, y: Any) -> Any:
        z = x.clone()
        z[x < 0] *= 2
        mask = y > 0
        picked = x[mask]
        parts = y.nonzero(), picked * 3 + y[mask], torch.nonzero(x > 9), x.masked_select(y[0] > 0)
        return z, *parts, x.masked_scatter(y > 0, y), torch.where(y > 0)


def test_sizes_that_depend_on_data() -> None:
    from stepwell.torch import compile_module

    torch.manual_seed(0)
    model = compile_module(Masks().eval(), (torch.randn(3, 4), torch.randn(3, 4)))
    for factor in (1.0, -1.0, 0.0):
        given = torch.randn(3, 4), torch.randn(3, 4) * factor
        torch.testing.assert_close(model(*given), Masks()(*given))


def test_other_arguments_are_refused_by_their_path() -> None:
    _, model = nested()
    x, b = torch.randn(2, 3), torch.randn(4)
    good = dict(x=x, past={"a": [x], "b": b}, factor=2.0)
    for change, code, message in (
        (dict(factor=3.0), "bad-inputs", "factor: expected 2.0 as in the example, found 3.0"),
        (dict(factor=x), "bad-inputs", "factor: expected 2.0 as in the example, found Tensor"),
        (dict(x=1.0), "bad-inputs", "x: expected a tensor as in the example, found 1.0"),
        (dict(past={"a": [x.numpy()], "b": b}), "bad-inputs", "past.a.0: expected a tensor"),
        (dict(past={"a": [x.to("meta")], "b": b}), "bad-inputs", "past.a.0 is on the device meta"),
        (dict(past={"a": [x.double()], "b": b}), "type-mismatch", "'past.a.0' must be float32"),
        (dict(past={"a": [x, x], "b": b}), "extra-input", "the example has no argument past.a.1"),
        (dict(mask=x), "extra-input", "the example has no argument mask"),
        (dict(past={"a": [x]}), "missing-input", "the argument past.b is missing"),
        (dict(past={"a": (x,), "b": b}), "bad-inputs", "not nested as those of the example"),
    ):
        with pytest.raises(stepwell.StepwellError) as caught:
            model(**(good | change))
        assert caught.value.code == code and message in caught.value.message, caught.value.render()
    with pytest.raises(stepwell.StepwellError, match="the argument factor is missing"):
        model(x=x, past=good["past"])


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


def test_tensors_of_narrow_floats_are_taken_by_their_bits() -> None:
    x = torch.randn(3, 4).bfloat16().t()
    model = stepwell.compile(Doubled().eval(), example_inputs=(x,), use_cache=False)
    assert np.array_equal(np.asarray(model(x)).astype(np.float32), (2 * x).float().numpy())
    with pytest.raises(stepwell.StepwellError, match=r"x\.detach\(\)"):
        model(x.float().requires_grad_())


class Doubled(nn.Module):
    def forward(self, x: Any) -> Any:
        return 2 * x


class Bounded(nn.Module):
    """Tables whose rows are scaled to a norm when they are read."""

    def __init__(self) -> None:
        super().__init__()
        self.one = nn.Embedding(6, 4, max_norm=1.0)
        self.two = nn.Embedding(6, 4, max_norm=0.5, norm_type=1.0)

    def forward(self, i: Any) -> Any:
        return self.one(i) + self.two(i) + self.one(i + 1)


class Tied(Bounded):
    """A table that is also read whole."""

    def forward(self, i: Any) -> Any:
        return self.one(i) @ self.one.weight.t()


class Shown(Bounded):
    """A table that is a result."""

    def forward(self, i: Any) -> Any:
        return self.one(i), self.one.weight


def test_rows_of_embeddings_are_scaled_to_a_norm(tmp_path: Path) -> None:
    from stepwell.torch import compile_module

    torch.manual_seed(0)
    module, given = Bounded().eval(), torch.tensor([[0, 2], [4, 0]])
    with torch.no_grad():
        module.one.weight[2] *= 0.01
    model = compile_module(module, (given,))
    for i in (given, torch.tensor([[1, 3], [3, 4]])):
        found = model(i)
        torch.testing.assert_close(found, module(i))
    program = torch.export.export(Bounded().eval(), (given,))
    torch.export.save(program, tmp_path / "m.pt2")
    torch.export.save(program.run_decompositions(), tmp_path / "functional.pt2")
    for form in (program, tmp_path / "m.pt2", tmp_path / "functional.pt2"):
        (result,) = stepwell.compile(form).run({"i": given.numpy()}).values()
        torch.testing.assert_close(torch.as_tensor(result), program.module()(given))
    for other in (Tied(), Shown()):
        program = torch.export.export(other.eval(), (given,))
        torch.export.save(program.run_decompositions(), tmp_path / "other.pt2")
        for form in (program, tmp_path / "other.pt2"):
            with pytest.raises(stepwell.StepwellError, match=r"writes into its parameter 'one.weight'"):
                stepwell.compile(form)


def test_sizes_from_a_tensor_are_refused_by_the_line() -> None:
    class Split(nn.Module):
        def forward(self, x: Any, at: Any) -> Any:
            return torch.tensor_split(x, at)

    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Split().eval(), example_inputs=(torch.ones(5), torch.tensor([1, 3])))
    assert caught.value.code == "unsupported" and "depends on data" in caught.value.message
    help = caught.value.help or ""
    assert "test_torch_module.py" in caught.value.where and "x.tensor_split((2, 5))" in help


class Writer(nn.Module):
    """Two arguments that are written, one of them in part, and a buffer."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: Any, past: Any) -> Any:
        past["k"][1:] += x
        self.count += 1
        x.mul_(2)
        return past["k"].sum(0) + self.count


def test_arguments_that_are_written_have_their_new_values(tmp_path: Path) -> None:
    from stepwell.torch import compile_module

    def arguments() -> Any:
        torch.manual_seed(1)
        return torch.randn(2, 3), {"k": torch.randn(3, 3)}

    model, module = compile_module(Writer().eval(), arguments()), Writer().eval()
    found, wanted = arguments(), arguments()
    for _ in range(2):
        torch.testing.assert_close(model(*found), module(*wanted))
        torch.testing.assert_close(found, wanted)
    program = torch.export.export(Writer().eval(), arguments())
    torch.export.save(program, tmp_path / "m.pt2")
    torch.export.save(program.run_decompositions(), tmp_path / "functional.pt2")
    x, past = arguments()
    feeds = {"x": x.numpy(), "past.k": past["k"].numpy()}
    before = {name: array.copy() for name, array in feeds.items()}
    for given in (program, tmp_path / "m.pt2", tmp_path / "functional.pt2"):
        results = stepwell.compile(given).run(feeds)
        wanted = arguments()
        torch.testing.assert_close(torch.as_tensor(results.pop("output")), Writer().eval()(*wanted))
        assert np.allclose(results.pop("x_next"), wanted[0]) and not results.keys() - {"past.k_next"}
        assert np.allclose(results["past.k_next"], wanted[1]["k"])
    assert all(np.array_equal(feeds[name], before[name]) for name in feeds)
