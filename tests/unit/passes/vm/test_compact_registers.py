"""`compact-registers`: random functions compute the same in fewer registers."""

from __future__ import annotations

from random import Random

from hypothesis import given
from hypothesis import strategies as st

import stepwell
from stepwell.runtime.vm.machine import Machine
from stepwell.runtime.vm.objects import Tag
from tests.support.samples import examples
from tests.support.vm import LIST, parsed


class RandomCode:
    """The text of a function of blocks, each of which goes on at later ones."""

    def __init__(self, random: Random):
        self.random = random
        self.count = 2
        self.blocks = random.randint(1, 6)
        self.written = {0: {0, 1}}
        """By block: the registers that are written on each path to it."""

    def text(self) -> str:
        """`@f` of two values, and `@main` that calls it with an empty list and one of an element."""
        lines = [line for number in range(self.blocks) for line in self.block(number)]
        body = "\n".join(lines)
        return f"""{LIST}
vm.func private @f (2) registers {self.count} {{
{body}
}}
vm.func private @pair (2) registers 3 {{
  vm.alloc_adt r2, tuple(r1, r0)
  vm.ret r2
}}
vm.func @main (0) registers 3 : () -> tuple<> {{
  vm.alloc_adt r0, @List::@Nil()
  vm.alloc_adt r1, @List::@Cons(r0, r0)
  vm.invoke r2, @f(r0, r1)
  vm.ret r2
}}
"""

    def block(self, number: int) -> list[str]:
        """The lines of a block; the lists of the parameters are the only values with tags."""
        if number not in self.written:
            return [f"^bb{number}:", "vm.ret r0"]  # nothing goes on here
        known, random = set(self.written[number]), self.random
        lines = [f"^bb{number}:"] if number else []
        for _ in range(random.randint(0, 6)):
            to = random.choice([self.new(), *known - {0, 1}])
            sources = random.choices(sorted(known), k=2)
            lines.append(
                random.choice(
                    [
                        f"vm.move r{to}, r{sources[0]}",
                        f"vm.alloc_adt r{to}, tuple(r{sources[0]}, r{sources[1]})",
                        f"vm.invoke r{to}, @pair(r{sources[0]}, r{sources[1]})",
                    ]
                )
            )
            known.add(to)
        later = range(number + 1, self.blocks)
        if not later:
            kept = ", ".join(f"r{each}" for each in random.sample(sorted(known), min(4, len(known))))
            return [*lines, f"vm.alloc_adt r{(made := self.new())}, tuple({kept})", f"vm.ret r{made}"]
        targets = random.choices(list(later), k=2)
        for target in targets:
            self.written[target] = self.written.get(target, known) & known
        tag = self.new()
        lines.append(f"vm.get_tag r{tag}, r{random.choice([0, 1])}")
        return [*lines, f"vm.switch r{tag}, [^bb{targets[0]}, ^bb{targets[1]}]"]

    def new(self) -> int:
        self.count += 1
        return self.count - 1


def result(text: str) -> object:
    return named(Machine(parsed(text), {}).call("main"))


def named(value: object) -> object:
    """A value of the machine with the names of constructors."""
    if isinstance(value, Tag):
        return value.name
    return tuple(map(named, value)) if isinstance(value, tuple) else value


@examples(80)
@given(seed=st.integers(0, 2**32))
def test_random_functions_compute_the_same(seed: int) -> None:
    text = RandomCode(Random(seed)).text()
    module = stepwell.parse(text)
    before = [op.properties["registers"] for op in module.op.ops if op.name == "vm.func"]
    module.run("compact-registers")
    after = [op.properties["registers"] for op in module.op.ops if op.name == "vm.func"]
    assert all(new.value.data <= old.value.data for new, old in zip(after, before, strict=True))  # pyright: ignore
    assert result(str(module)) == result(text)
