"""`torch.compile(model, backend="stepwell")` against eager mode: shapes, weights, training, refusals."""

from __future__ import annotations

import copy
import struct
import tomllib
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.support.components import needs
from tests.support.imports import ROOT

torch = needs("torch")
nn = torch.nn
pytestmark = pytest.mark.slow
StepwellWarning = needs("stepwell.torch").StepwellWarning

STRICT = {"unsupported": "error", "min_ops": 0}
CLOSE = dict(rtol=1e-4, atol=1e-5)


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    torch.manual_seed(0)
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def compiled(module: Any, **options: object) -> Any:
    from stepwell.torch import dynamo_backend

    return torch.compile(module, backend=dynamo_backend, options=STRICT | options)


def mlp() -> Any:
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 3))


class Block(nn.Module):
    """A residual block with batch normalization."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, stride=2, padding=1, bias=False)
        self.second = nn.Conv2d(8, 8, 3, padding=1, groups=2, bias=False)
        self.skip = nn.Conv2d(4, 8, 1, stride=2)
        self.norms = nn.ModuleList([nn.BatchNorm2d(8), nn.BatchNorm2d(8)])

    def forward(self, x: Any) -> Any:
        inner = torch.relu(self.norms[0](self.first(x)))
        return torch.relu(self.skip(x) + self.norms[1](self.second(inner)))


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The programs that were compiled since the test began."""
    from stepwell.tools.pytorch import graph_function

    found: list[object] = []
    original = graph_function.compile_model

    def counted(program: Any, options: Any) -> Any:
        found.append(program)
        return original(program, options)

    monkeypatch.setattr(graph_function, "compile_model", counted)
    return found


def test_two_compilations_serve_any_batch_from_two_on(compilations: list[object]) -> None:
    module = mlp().eval()
    fast = compiled(module)
    with torch.no_grad():
        for batch in (3, 5, 9, 17, 2):
            x = torch.randn(batch, 6)
            torch.testing.assert_close(fast(x), module(x), **CLOSE)
        assert len(compilations) == 2
        x = torch.randn(1, 6)
        torch.testing.assert_close(fast(x), module(x), **CLOSE)
        assert len(compilations) == 3


CHANGES: dict[str, Callable[[Any], None]] = {
    "in place": lambda m: m[0].weight.mul_(2),
    "load_state_dict": lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}) and None,
    "data": lambda m: setattr(m[2].weight, "data", torch.randn(16, 16)),
    "parameter": lambda m: setattr(m[4], "bias", nn.Parameter(torch.randn(3))),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_weight_is_seen(change: str) -> None:
    module = mlp().eval()
    fast, x = compiled(module), torch.randn(4, 6)
    with torch.no_grad():
        before = fast(x)
        CHANGES[change](module)
        torch.testing.assert_close(fast(x), module(x), **CLOSE)
        assert not torch.allclose(fast(x), before)


def test_an_optimizer_step_is_seen() -> None:
    module = mlp()
    fast, x = compiled(module), torch.randn(4, 6)
    optimizer = torch.optim.Adam(module.parameters(), 0.1)
    for _ in range(7):  # more than the number of changes after which weights are arguments
        with torch.no_grad():
            torch.testing.assert_close(fast(x), module(x), **CLOSE)
        optimizer.zero_grad()
        module(x).sum().backward()
        optimizer.step()


def test_another_module_of_the_class_has_its_own_weights() -> None:
    x = torch.randn(4, 6)
    modules = [mlp().eval() for _ in range(3)]
    with torch.no_grad():
        for module in (*modules, *modules):
            torch.testing.assert_close(compiled(module)(x), module(x), **CLOSE)


def test_a_write_that_torch_does_not_count_needs_refresh() -> None:
    from stepwell.torch import refresh

    module = mlp().eval()
    fast, x = compiled(module), torch.randn(4, 6)
    with torch.no_grad():
        fast(x)
        module[0].weight.data.mul_(3)
        refresh()
        torch.testing.assert_close(fast(x), module(x), **CLOSE)


def test_weights_of_inference_mode() -> None:
    with torch.inference_mode():
        module, x = mlp().eval(), torch.randn(4, 6)
        torch.testing.assert_close(compiled(module)(x), module(x), **CLOSE)


class Views(nn.Module):
    """Results that are views of the input, the input itself, and transposed ones."""

    def forward(self, x: Any) -> Any:
        return x.t(), x[1:], (x + 1).t(), x, x.sum(0)


def test_views_stay_views() -> None:
    x = torch.randn(3, 4)
    found, wanted = compiled(Views())(x), Views()(x)
    assert found[3] is x
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(one, other)
        assert one.stride() == other.stride()
        assert (one._base is x) == (other._base is x)


class Counter(nn.Module):
    """A buffer that calls change."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: Any) -> Any:
        self.count[1:] += x
        return self.count * 2


def test_a_buffer_changes_in_place() -> None:
    module, other = Counter(), Counter()
    fast, buffer = compiled(module), module.count
    for x in (1.0, 2.0, 3.0):
        torch.testing.assert_close(fast(torch.full((2,), x)), other(torch.full((2,), x)))
    assert module.count is buffer
    torch.testing.assert_close(module.count, other.count)


def test_sizes_are_values_too() -> None:
    def scaled(x: Any, n: int) -> Any:
        return torch.arange(n) + x.sum() * x.shape[0], x.shape[0] * n

    fast = compiled(scaled, min_ops=0)
    for batch, n in ((3, 4), (5, 6), (7, 2)):
        x = torch.randn(batch, 2)
        torch.testing.assert_close(fast(x, n), scaled(x, n))


def test_channels_last_stays_so() -> None:
    module = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU()).eval().to(memory_format=torch.channels_last)
    x = torch.randn(2, 3, 8, 8).to(memory_format=torch.channels_last)
    with torch.no_grad():
        found, wanted = compiled(module)(x), module(x)
    torch.testing.assert_close(found, wanted, **CLOSE)
    assert found.stride() == wanted.stride()


def test_narrow_floats() -> None:
    module = mlp().eval().bfloat16()
    x = torch.randn(4, 6).bfloat16()
    with torch.no_grad():
        torch.testing.assert_close(compiled(module)(x), module(x), rtol=2e-2, atol=2e-2)


def trained(name: str) -> tuple[Any, Any]:
    match name:
        case "mlp":
            return mlp(), torch.randn(5, 6)
        case "residual block":
            return Block(), torch.randn(2, 4, 8, 8)
        case "embedding":
            return nn.Sequential(nn.Embedding(10, 4, padding_idx=2), nn.LayerNorm(4)), torch.tensor(
                [[1, 2, 3], [3, 3, 2]]
            )
        case "pools":
            pools = nn.MaxPool2d(2), nn.AvgPool2d(3, 1, 1), nn.AdaptiveAvgPool2d(2), nn.GroupNorm(2, 4)
            return nn.Sequential(nn.Conv2d(3, 4, 3), *pools), torch.randn(2, 3, 12, 10)
        case _:
            return nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), torch.randn(2, 5, 16)


@pytest.mark.parametrize("name", ["mlp", "residual block", "embedding", "pools", "transformer block"])
def test_gradients_are_those_of_eager_mode(name: str) -> None:
    module, x = trained(name)
    twin = copy.deepcopy(module)
    inputs = [x.clone().requires_grad_(x.is_floating_point()) for _ in range(2)]
    results = [compiled(module)(inputs[0]), twin(inputs[1])]
    gradient = torch.randn_like(results[1])
    for result in results:
        result.backward(gradient)
    pairs = [(results[0], results[1])]
    pairs += [(p.grad, q.grad) for p, q in zip(module.parameters(), twin.parameters(), strict=True)]
    pairs += list(zip(module.buffers(), twin.buffers(), strict=True))
    if x.is_floating_point():
        pairs.append((inputs[0].grad, inputs[1].grad))
    for found, wanted in pairs:
        scale = max(float(wanted.detach().abs().max()), 1e-6)
        assert float((found - wanted).abs().max()) <= 1e-4 * scale


class Spectrum(nn.Module):
    """An operator without a conversion, among others."""

    def forward(self, x: Any) -> Any:
        return torch.linalg.svdvals(x @ x.t()).sum() + torch.relu(x).sum()


def test_an_operator_without_a_conversion_is_run_by_torch() -> None:
    x = torch.randn(3, 4)
    torch.testing.assert_close(compiled(Spectrum(), unsupported="torch")(x), Spectrum()(x))


def test_a_graph_that_cannot_be_compiled_is_run_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepwell.runtime.errors import StepwellError
    from stepwell.tools.pytorch import backend

    def refuse(function: object, given: object) -> None:
        raise StepwellError("unsupported-op", None, "no conversion for this graph")

    monkeypatch.setattr(backend.GraphFunction, "executable", refuse)
    x = torch.randn(3, 4)
    with pytest.warns(StepwellWarning, match="unsupported-op"):
        found = compiled(Spectrum(), unsupported="torch")(x)
    torch.testing.assert_close(found, Spectrum()(x))


def test_the_reason_is_raised_where_that_is_asked_for() -> None:
    with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="_linalg_svd") as caught:
        compiled(Spectrum())(torch.randn(3, 4))
    assert caught.value.inner_exception.code == "unsupported-op"


def test_control_flow_of_data_breaks_the_graph() -> None:
    class Branch(nn.Module):
        def forward(self, x: Any) -> Any:
            y = torch.relu(x @ x)
            return y + 1 if y.sum() > 0 else y - 1

    for x in (torch.eye(3), -torch.eye(3)[[1, 2, 0]] @ torch.eye(3)):
        torch.testing.assert_close(compiled(Branch(), unsupported="torch")(x), Branch()(x))


def test_complex_numbers_are_left_to_torch() -> None:
    """Torch's own rule for `polar` writes into a new tensor, which AOTAutograd cannot trace."""

    class Rotary(nn.Module):
        def forward(self, x: Any, angles: Any) -> Any:
            turned = torch.view_as_complex(x) * torch.polar(torch.ones_like(angles), angles)
            return torch.relu(torch.view_as_real(turned)) + 1

    given = torch.randn(3, 4, 2), torch.randn(3, 4)
    fast = compiled(Rotary(), unsupported="torch")
    with warnings.catch_warnings():
        warnings.simplefilter("error", StepwellWarning)
        torch.testing.assert_close(fast(*given), Rotary()(*given), **CLOSE)


def test_a_graph_that_cannot_be_traced_is_run_by_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    from stepwell.tools.pytorch import backend

    def broken(x: Any) -> Any:
        raise AssertionError("no rule")

    monkeypatch.setattr(backend, "training_decompositions", lambda: {torch.ops.aten.relu.default: broken})
    module, x = mlp().eval(), torch.randn(2, 6)
    with pytest.warns(StepwellWarning, match="no rule"):
        torch.testing.assert_close(compiled(module, unsupported="torch")(x), module(x), **CLOSE)
    torch._dynamo.reset()
    with pytest.raises(Exception, match="no rule"):
        compiled(module)(x)


def test_small_graphs_are_run_by_torch(compilations: list[object]) -> None:
    fast = compiled(lambda x: x + 1, min_ops=8)
    torch.testing.assert_close(fast(torch.ones(3)), torch.full((3,), 2.0))
    assert not compilations


@pytest.mark.parametrize("options", [{"opt_levle": 1}, {"unsupported": "eager"}])
def test_options_are_checked(options: dict[str, object]) -> None:
    with pytest.raises(Exception, match="bad-option"):
        compiled(mlp(), **options)(torch.randn(2, 6))


def test_options_are_those_of_a_compilation() -> None:
    module, x = mlp().eval(), torch.randn(2, 6)
    with torch.no_grad():
        torch.testing.assert_close(compiled(module, opt_level=0, freeze=False)(x), module(x), **CLOSE)


def test_the_entry_point_is_that_of_torch() -> None:
    points = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["entry-points"]
    module, _, name = points["torch_dynamo_backends"]["stepwell"].partition(":")
    assert callable(getattr(__import__(module, fromlist=[name]), name))
    if "stepwell" in torch._dynamo.list_backends():
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            module, x = mlp().eval(), torch.randn(2, 6)
            torch.testing.assert_close(torch.compile(module, backend="stepwell")(x), module(x), **CLOSE)


def test_the_numbers_of_objects_are_those_in_the_memory_of_their_tuple() -> None:
    from stepwell.tools.pytorch.frozen_weights import numbers_of

    for objects in ((), (object(),), (1.5, "text", None)):
        assert numbers_of(objects) == struct.pack(f"{len(objects)}P", *map(id, objects))


def test_keys_see_other_objects_versions_and_addresses() -> None:
    from stepwell.tools.pytorch.frozen_weights import WeightKeys

    tensors = tuple(torch.ones(3) for _ in range(4))
    keys = WeightKeys(tensors)
    assert keys.hold(tensors) and keys.hold((*tensors[:2], *tensors[2:]))
    assert not keys.are_of((tensors[1], tensors[0], *tensors[2:]))
    assert not keys.are_of((*tensors[:3], tensors[3].detach()))
    tensors[1].data = torch.ones(3)
    assert keys.are_of(tensors) and not keys.hold(tensors)
    keys = WeightKeys(tensors)
    tensors[3].add_(1)
    assert keys.are_of(tensors) and not keys.hold(tensors)
    keys = WeightKeys(tensors)
    del tensors
    assert not keys.is_alive
