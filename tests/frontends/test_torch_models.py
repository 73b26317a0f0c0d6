"""Modules of `torch.nn`, and models of timm and transformers with random weights, against eager mode."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import stepwell
from tests.frontends.functions.pages import run_page
from tests.frontends.torch_cases import CASES, Recurrent, tensors_of
from tests.support.components import needs

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow


def expect_close(found: Any, wanted: Any) -> None:
    """Require results to differ by at most 1e-4 of their range."""
    for one, tensor in zip(found, wanted, strict=True):
        scale = max(float(tensor.abs().max()), 1e-6)
        assert float((torch.as_tensor(one) - tensor).abs().max()) <= 1e-4 * scale


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_equal_to_eager_mode(name: str) -> None:
    torch.manual_seed(0)
    case = CASES[name]()
    for shapes in (None, case.shapes)[: 1 if case.shapes is None else 2]:
        model = stepwell.compile(case.module, example_inputs=case.inputs, dynamic_shapes=shapes)
        for inputs in (case.inputs, case.others)[: 1 if shapes is None else 2]:
            with torch.no_grad():
                wanted = tensors_of(case.module(*inputs))
            found = model(*[each.numpy() for each in inputs])
            expect_close(found if isinstance(found, tuple) else [found], wanted)


@pytest.mark.parametrize("name", CASES)
def test_a_model_of_torch_compile_is_equal_to_eager_mode(name: str) -> None:
    from stepwell.torch import dynamo_backend

    torch.manual_seed(0)
    torch._dynamo.reset()
    case = CASES[name]()
    fast = torch.compile(case.module, backend=dynamo_backend, options={"unsupported": "error"})
    with torch.no_grad():
        for inputs in (case.inputs, case.others):
            expect_close(tensors_of(fast(*inputs)), tensors_of(case.module(*inputs)))


class Branches(nn.Module):
    """Control flow that depends on data."""

    def forward(self, x: Any) -> Any:
        return x if x.sum() > 0 else -x


def test_a_module_that_cannot_be_exported_is_refused_with_its_line() -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Branches(), example_inputs=(torch.randn(3),))
    error = caught.value
    assert error.code == "export-failed" and "test_torch_models.py:" in str(error.where)
    assert 'torch.compile(module, backend="stepwell")' in error.render()
    assert len(error.render().splitlines()) < 12, "more than the first paragraph of torch's message"


class Caches(nn.Module):
    """Twelve layers of attention to 512 slots, of which a step fills one."""

    def __init__(self) -> None:
        super().__init__()
        for number in range(24):
            self.register_buffer(f"cache_{number}", torch.zeros(1, 2, 512, 8))

    def forward(self, position: Any, x: Any) -> Any:
        mask = torch.arange(512) <= position
        for number in range(0, 24, 2):
            k, v = self.get_buffer(f"cache_{number}"), self.get_buffer(f"cache_{number + 1}")
            k[:, :, position], v[:, :, position] = x + number, x * 0.5
            scores = (x @ k.transpose(-1, -2) / 8**0.5).masked_fill(~mask, float("-inf"))
            x = torch.softmax(scores, -1) @ v
        return x


def test_a_step_of_a_decoder_writes_one_slot_of_its_caches() -> None:
    torch.manual_seed(0)
    module, step = Caches().eval(), lambda: torch.randn(1, 2, 1, 8)
    model = stepwell.compile(module, example_inputs=(torch.tensor([0]), step()))
    states = model.image.main.interface.states
    assert len(states) == 24 and all(state.is_in_place for state in states)
    session = model.session()
    for number in (0, 1, 2):
        position, x = torch.tensor([number]), step()
        expect_close([session(position.numpy(), x.numpy())], [module(position, x)])


class Halves(nn.Module):
    """Control flow that depends on sizes."""

    def forward(self, x: Any, *values: Any) -> Any:
        return x + values[0] if x.shape[0] % 2 else x - values[0]


def test_a_branch_on_sizes_is_a_guard_of_calls() -> None:
    shapes = {"x": {0: "N"}, "values": ({0: "N"},)}
    example = (torch.ones(3, 2), torch.ones(3, 2))
    read = stepwell.read(Halves(), example_inputs=example, dynamic_shapes=shapes)
    model = read.compile(executor="interpreter")
    five, four = np.ones([5, 2], np.float32), np.ones([4, 2], np.float32)
    assert np.array_equal(model(five, five), five + five)
    with pytest.raises(stepwell.StepwellError, match="N % 2") as caught:
        model(four, four)
    assert caught.value.code == "shape-mismatch"


def test_a_module_without_examples_is_refused() -> None:
    with pytest.raises(stepwell.StepwellError, match="example_inputs is missing") as caught:
        stepwell.compile(Recurrent())
    assert caught.value.code == "bad-model"


def test_unsupported_operators_are_listed_with_module_and_line() -> None:
    class Spectrum(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.fft.rfft(x).abs()

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.mel = Spectrum()

        def forward(self, x: Any) -> Any:
            return self.mel(x) + torch.special.erfcx(x[..., :3])

    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(Model().eval(), example_inputs=(torch.randn(2, 4),))
    text = caught.value.render()
    assert caught.value.code == "unsupported-op"
    assert "aten._fft_r2c.default" in text and "erfcx" in text
    assert "in mel (" in text and "test_torch_models.py:" in text


def test_weights_share_their_memory_with_the_module() -> None:
    module = nn.Linear(8, 8).eval()
    read = stepwell.read(module, example_inputs=(torch.randn(2, 8),))
    (key,) = [each for each in read.weights if read.weights.get(each).shape == (8, 8)]
    assert read.weights.get(key).ctypes.data == module.weight.data_ptr()


def test_two_exports_of_a_module_give_the_same_text() -> None:
    module, args = nn.Linear(4, 2).eval(), (torch.randn(3, 4),)
    texts = {str(stepwell.read(torch.export.export(module, args))) for _ in range(2)}
    assert len(texts) == 1


def test_the_page_of_docs_runs(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run_page("pytorch.md", tmp_path, least=8)


def test_the_tables_are_those_of_the_installed_torch() -> None:
    """Overloads without a conversion may have other arguments: releases differ in the names of these."""
    from stepwell.tools.generators import generate_torch as tables

    text = tables.converted_text()
    assert tables.CONVERTED.read_text(encoding="utf-8") == text
    known = tables.by_overload(tables.SIGNATURES.read_text(encoding="utf-8").splitlines()[1:])
    installed = tables.by_overload(tables.signatures())
    assert not installed.keys() - known.keys()
    converted = text.splitlines()[1:]
    assert len(converted) > 500 and not [
        name for name in converted if installed.get(name, known[name]) != known[name]
    ]


class Written(nn.Module):
    """A size as a number, a write into a part, a list of tensors, and an operator without a conversion."""

    def forward(self, x: Any, y: Any) -> Any:
        z = x.clone()
        z[1:] += y[:1]
        return torch.cat([z, y], 1).view(x.shape[0], -1), torch.cdist(x, y), x.to(torch.bool)


def test_torch_computes_level_0() -> None:
    sizes = {"x": {0: "N"}, "y": {0: "N"}}
    program = stepwell.read(Written().eval(), example_inputs=(torch.ones(3, 4),) * 2, dynamic_shapes=sizes)
    x, y = torch.randn(5, 4), torch.randn(5, 4)
    before = x.clone()
    for found, wanted in zip(program.interpret(x, y), Written()(x, y), strict=True):
        torch.testing.assert_close(torch.as_tensor(np.asarray(found)), wanted)
    assert torch.equal(x, before)
    with pytest.raises(stepwell.StepwellError, match="torch: RuntimeError") as caught:
        program.interpret(x, torch.randn(5, 3))
    assert caught.value.code == "run-time" and caught.value.where is not None
    with pytest.raises(stepwell.StepwellError, match="takes 2 arguments, found 1"):
        program.interpret(x)


def test_a_tensor_that_is_two_examples_is_two_arguments() -> None:
    module, x = Difference().eval(), torch.ones(2)
    model = stepwell.compile(module, example_inputs=(x, x))
    assert np.asarray(model(np.array([3, 4], np.float32), np.ones(2, np.float32))).tolist() == [2.0, 3.0]


class Difference(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        return x - y
