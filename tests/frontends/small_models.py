"""Small models of torch with the layers of ResNet-50, of MobileNetV2 and of a transformer of two layers."""

from __future__ import annotations

from typing import Any


def residual(torch: Any) -> Any:
    """A convolution, a pool, bottleneck blocks with sums, a mean, a fully connected layer."""
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, before: int, after: int, stride: int):
            super().__init__()
            layers: list[Any] = []
            for a, b, size, step in ((before, 4, 1, 1), (4, 4, 3, stride), (4, after, 1, 1)):
                layers += [nn.Conv2d(a, b, size, step, size // 2, bias=False), nn.BatchNorm2d(b), nn.ReLU()]
            self.body = nn.Sequential(*layers[:-1])
            self.beside = nn.Sequential(nn.Conv2d(before, after, 1, stride), nn.BatchNorm2d(after))

        def forward(self, x: Any) -> Any:
            return torch.relu(self.body(x) + self.beside(x))

    stem = [nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(12, 5), nn.Softmax(-1)]
    return seeded(torch, nn.Sequential(*stem, Block(8, 12, 1), Block(12, 12, 2), *head))


def mobile(torch: Any) -> Any:
    """Inverted residual blocks of depthwise convolutions, with ReLU6."""
    nn = torch.nn

    def unit(before: int, after: int, size: int, stride: int, groups: int) -> list[Any]:
        conv = nn.Conv2d(before, after, size, stride, size // 2, groups=groups, bias=False)
        return [conv, nn.BatchNorm2d(after), nn.ReLU6()]

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            layers = [*unit(6, 12, 1, 1, 1), *unit(12, 12, 3, 1, 12), *unit(12, 6, 1, 1, 1)]
            self.body = nn.Sequential(*layers[:-1])

        def forward(self, x: Any) -> Any:
            return x + self.body(x)

    head = [nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Dropout(0.2), nn.Linear(6, 5)]
    return seeded(torch, nn.Sequential(*unit(3, 6, 3, 2, 1), Block(), *unit(6, 6, 3, 2, 6), *head))


def transformer(torch: Any) -> Any:
    """Two layers of attention over numbers of words, with learned positions, and a last product."""
    nn = torch.nn

    class Layer(nn.Module):
        def __init__(self, width: int, heads: int):
            super().__init__()
            self.heads, self.size = heads, width // heads
            self.first, self.second = nn.LayerNorm(width), nn.LayerNorm(width)
            self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
            self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

        def forward(self, x: Any) -> Any:
            batch, length, width = x.shape
            parts = self.qkv(self.first(x)).reshape(batch, length, 3, self.heads, self.size)
            q, k, v = parts.permute(2, 0, 3, 1, 4)
            scores = torch.softmax(q @ k.transpose(-1, -2) / self.size**0.5, -1)
            x = x + self.out((scores @ v).transpose(1, 2).reshape(batch, length, width))
            return x + self.down(torch.nn.functional.gelu(self.up(self.second(x))))

    class Transformer(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words, self.places = nn.Embedding(11, 8), nn.Parameter(torch.randn(5, 8) * 0.1)
            self.layers, self.last = nn.Sequential(Layer(8, 2), Layer(8, 2)), nn.Linear(8, 11)

        def forward(self, ids: Any) -> Any:
            return self.last(self.layers(self.words(ids) + self.places))

    return seeded(torch, Transformer())


def seeded(torch: Any, model: Any) -> Any:
    """The model for inference, with statistics that are not those of new layers."""
    torch.manual_seed(0)
    with torch.no_grad():
        for name, each in model.named_buffers():
            if each.dtype.is_floating_point:
                each.copy_(torch.rand_like(each) + (0.5 if "var" in name else 0.0))
        for each in model.parameters():
            each.copy_(torch.randn_like(each) * 0.4)
    return model.eval()
