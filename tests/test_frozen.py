"""`contracts.frozen` against what `dataclasses` itself makes of the same class."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from dataclasses import dataclass, field

import pytest

from contracts.errors import Refused
from contracts.frozen import quick, replace


@dataclass(frozen=True, slots=True)
class Plain:
    name: str
    count: int = 1
    parts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise Refused("fewer than none")


@quick
@dataclass(frozen=True, slots=True)
class Quick:
    name: str
    count: int = 1
    parts: dict[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if self.count < 0:
            raise Refused("fewer than none")


@pytest.mark.parametrize("class_", [Plain, Quick])
def test_it_is_built_and_copied_as_the_plain_class_is(class_: type[Plain]) -> None:
    one = class_("a")
    assert (one.name, one.count, one.parts) == ("a", 1, {})
    assert one.parts is not class_("a").parts
    assert one == class_(name="a", count=1, parts={})
    assert replace(one, count=2) == dataclasses.replace(one, count=2) == class_("a", 2)
    assert replace(one, count=2).parts is one.parts
    assert type(replace(one)) is type(one) is class_
    assert repr(one) == f"{class_.__name__}(name='a', count=1, parts={{}})"


@pytest.mark.parametrize("class_", [Plain, Quick])
def test_it_stays_frozen_and_checked(class_: type[Plain]) -> None:
    one = class_("a")
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.count = 2  # type: ignore[misc]  # that is what is refused
    with pytest.raises(Refused):
        class_("a", -1)
    with pytest.raises(Refused):
        replace(one, count=-1)
    with pytest.raises((TypeError, AttributeError)):
        replace(one, other=1)  # type: ignore[call-arg]  # no such field
    with pytest.raises(TypeError):
        class_()  # type: ignore[call-arg]  # the name is missing


@pytest.mark.parametrize("class_", [Plain, Quick])
def test_it_travels_between_processes(class_: type[Plain]) -> None:
    one = class_("a", 2, {"b": 3})
    assert pickle.loads(pickle.dumps(one)) == copy.deepcopy(one) == one  # noqa: S301 - our own bytes, a line ago


def test_a_class_that_is_not_frozen_or_has_other_fields_is_refused() -> None:
    @dataclass(slots=True)
    class Open:
        count: int = 0

    @dataclass(frozen=True)
    class Slotless:
        count: int = 0

    @dataclass(frozen=True, slots=True)
    class Later(Plain):
        more: int = 0

    for class_ in (Open, Slotless, Later):
        with pytest.raises(TypeError):
            quick(class_)
