"""Every change has words, and they say which side changed."""

from __future__ import annotations

import pytest

from contracts.model import Contract
from ebbtide import diff_words
from ebbtide.diff_words import meaning, tightness, values, why
from repo_layout.change import effects
from repo_layout.change_fields import FieldChange
from repo_layout.change_pools import Changer, PoolCause, PoolMove
from repo_layout.change_spread import DOMAINS, Slack, SlackChange
from tests.change.edits import Edit, add, after, swap
from tests.checks.estates import FORECAST, HINDCAST


def told(*edits: Edit, of: str = "forecast") -> dict[str, str]:
    """What each changed field of a contract is said to mean."""
    base, head = after(), after(*edits)
    (thing,) = (thing for thing in effects(base, head).things if thing.key == f"contract/{of}")
    old, new = base.contract_by_name[of], head.contract_by_name[of]
    return {one.path: meaning(one, old, new) for one in thing.fields}


@pytest.mark.parametrize(
    ("edit", "path", "words"),
    [
        (swap(FORECAST, "floor: 4", "floor: 5"), "floor", "1 unit more always on committed capacity"),
        (swap(FORECAST, "floor: 4", "floor: 2"), "floor",
         "2 units fewer on committed capacity; they may be taken back"),
        (swap(FORECAST, "minimum: 8", "minimum: 9"), "minimum", "at risk below 9 running units"),
        (swap(FORECAST, "maximum: 40", "maximum: 30"), "maximum", "10 units drain where they run"),
        (add(FORECAST, b"tolerance: 0.1\n"), "tolerance", "a unit may be interrupted once in 10 h, was once in 20 h"),
        (add(FORECAST, b"tolerance: 0.002\n"), "tolerance",
         "a unit may be interrupted once in 500 h, was once in 20 h"),
        (add(FORECAST, b"tolerance: 0\n"), "tolerance", "a unit may be interrupted never, was once in 20 h"),
        (add(FORECAST, b"drain: {budget: 45s, how: evict}\n"), "drain.budget", "needs 15s less of the notice to end"),
        (swap(FORECAST, "20.00", "15.50"), "fallback.limitPerDay",
         "4.50 EUR a day less for guaranteed capacity; tides-lead answers for it"),
        (add(FORECAST, b'deadline: {at: "06:00 Europe/Oslo"}\n'), "deadline.at", "due at 06:00 Europe/Oslo"),
        (add(FORECAST, b"deadline: {after: 4h}\n"), "deadline.after", "due 4h after submission"),
        (swap(FORECAST, "vcpu: 4", "vcpu: 2"), "unit.vcpu", "80 vCPU at the maximum, was 160"),
        (add(FORECAST, b"checkpoint: {mode: periodic, interval: 20m}\n"), "checkpoint.interval",
         "loses at most 20m of work without notice, was 5m"),
        (add(FORECAST, b"checkpoint: {mode: none}\nrestart: from-scratch\n"), "restart",
         "lost work begins again from nothing"),
        (swap(FORECAST, "app: forecast", "app: other"), "runsOn.kubernetes.selector",
         "other pods count as this workload"),
    ],
)  # fmt: skip
def test_a_field_says_what_it_means(edit: Edit, path: str, words: str) -> None:
    assert told(edit)[path] == words


def test_another_tier_says_where_the_work_stands_in_the_queue() -> None:
    assert told(swap(HINDCAST, "tier: requeued", "tier: staged"), of="hindcast")["tier"].startswith("served earlier")
    assert told(swap(FORECAST, "tier: anchored", "tier: staged"))["tier"].startswith("served later")


def test_every_path_with_words_is_a_field_of_a_contract() -> None:
    known = {"deadline"}

    def walk(model: type[object], below: str) -> None:
        for name, info in getattr(model, "model_fields", {}).items():
            path = f"{below}{info.alias or name}"
            known.add(path)
            for inner in (info.annotation, *getattr(info.annotation, "__args__", ())):
                if isinstance(inner, type) and hasattr(inner, "model_fields"):
                    walk(inner, f"{path}.")

    walk(Contract, "")
    assert set(diff_words._WORDS) <= known


@pytest.mark.parametrize("cause", list(PoolCause))
@pytest.mark.parametrize("changer", list(Changer))
@pytest.mark.parametrize("gained", [True, False])
def test_every_cause_has_words_with_its_values(cause: PoolCause, changer: Changer, gained: bool) -> None:
    move = PoolMove("p", cause, changer, ("asked-then", "offered-then"), ("asked-now", "offered-now"))
    words = why(move, gained=gained)
    side = "then" if gained else "now"
    assert words
    assert cause is PoolCause.THERE or f"asked-{side}" in words or f"offered-{side}" in words


def test_a_list_says_what_came_and_what_left() -> None:
    assert values(FieldChange("halls", "h1", "h2, h3", of_list=True)) == "+ h2, h3; - h1"
    assert values(FieldChange("halls", "none", "h2", of_list=True)) == "+ h2"
    assert values(FieldChange("floor", "1", "2")) == "1 -> 2"


def test_a_bound_says_how_many_there_are_and_how_many_are_needed() -> None:
    change = SlackChange("a", DOMAINS, Slack(9, 8), Slack(8, 8))
    assert tightness(change) == "8 capacity domains, and 8 are needed: none can be spared, 1 could"
    assert tightness(change.mirrored()) == "9 capacity domains, and 8 are needed: 1 can be spared, none could"
    assert tightness(SlackChange("a", "hall", Slack(5, 4), Slack(4, 4))).startswith("4 hall groups")
