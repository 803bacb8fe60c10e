"""Two running reconcilers with one store: a leader that was paused, stopped by a person, or asked to end."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import typed
from tests.run.region import SWAPS
from tests.run.site import Site, lay_site
from tests.run.together import PATIENCE_S, Together, together_in


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return lay_site(tmp_path_factory.mktemp("site"), SWAPS, lambda words: typed(*words).code)


@pytest.fixture(name="two")
def _two(tmp_path: Path, site: Site) -> Iterator[Together]:
    with together_in(tmp_path, site) as two:
        yield two


@pytest.mark.parametrize(
    ("stage", "slips"), [("create answered", 0), ("create not sent", 1)], ids=["between two calls", "before a call"]
)
def test_a_leader_that_was_paused_past_its_lease_does_at_most_one_call_more(
    two: Together, stage: str, slips: int
) -> None:
    two.begin("first", (stage, "3"))
    two.await_stopped("first")
    before = len(two.effects("first"))
    two.begin("second")
    two.pass_until(lambda: two.leads("second"))
    told = len(two.lines("first"))
    two.running["first"].send_signal(signal.SIGCONT)
    two.pass_until(lambda: len(two.lines("first")) > told)
    two.pass_until(lambda: two.leads("second"))
    after, following = two.effects("first"), two.effects("second")
    assert len(after) - before == slips
    assert not two.leads("first")
    assert {one.epoch for one in after} == {1}
    assert {one.epoch for one in following if one.act == "create"} == {2}
    assert not {one.key for one in after} & {one.key for one in following if one.act == "create"}


def test_a_leader_that_is_asked_to_end_hands_over_at_the_next_look(two: Together) -> None:
    two.begin("first")
    two.pass_until(lambda: two.leads("first"))
    two.begin("second")
    two.pass_until(lambda: bool(two.lines("second")))
    two.running["first"].send_signal(signal.SIGTERM)
    assert two.running["first"].wait(PATIENCE_S) == 0
    looks = 0
    while not two.leads("second"):
        two.let_look("second")
        looks += 1
    assert looks <= 2  # one may have begun before


def test_a_stop_holds_every_replica_that_reads_it_and_survives_the_change_of_leader(two: Together) -> None:
    two.begin("first")
    two.pass_until(lambda: two.leads("first"))
    for name in ("first", "second"):
        assert typed("stop", "the cloud team asked", "--by", "tides-oncall", "--state", str(two.state(name))).code == 0
    told = len(two.lines("first"))
    two.pass_until(lambda: len(two.lines("first")) > told)
    done = len(two.effects("first"))
    assert "the cloud team asked" in str(two.lines("first")[-1]["stopped"])
    two.begin("second")
    two.pass_until(lambda: bool(two.lines("second")))
    two.running["first"].send_signal(signal.SIGTERM)
    two.pass_until(lambda: two.leads("second"))
    assert len(two.effects("first")) == done
    assert two.effects("second") == []
