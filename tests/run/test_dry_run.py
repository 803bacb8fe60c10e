"""What `ebbtide run --dry-run` shows: the plan of the next cycle, by all that the state directory remembers."""

from __future__ import annotations

from pathlib import Path

from ebbtide.render_plan import PlanView, as_document
from ebbtide.run_ports import remembered
from ebbtide.run_state import ReconcilerState
from reconciler.appraisal import Appraiser, Learnt
from reconciler.cycle import Memory
from reconciler.lessons import Lessons
from reconciler.saved import Saved, encode
from tests.reconciler.builders import FORECAST, POOL, Region


def test_a_look_plans_by_what_was_learnt_of_the_pools(tmp_path: Path) -> None:
    state, appraiser = ReconcilerState(tmp_path), Appraiser()
    state.journal.write_bytes(encode(Saved(memory=Memory(epoch=7), lessons=Lessons(losses={POOL: 3.0}, called_at=5))))
    assert remembered(state, appraiser).epoch == 7
    assert (appraiser.learnt.losses, appraiser.learnt.called_at) == ({POOL: 3.0}, 5)


def test_a_look_where_nobody_ran_knows_nothing(tmp_path: Path) -> None:
    appraiser = Appraiser()
    assert remembered(ReconcilerState(tmp_path), appraiser) == Memory()
    assert appraiser.learnt == Learnt()


def test_a_plan_says_of_what_finds_no_place_which_pools_are_not_offered_and_why() -> None:
    region = Region()
    del region.cloud.rates[POOL]
    region.cloud.capacity.clear()
    region.schedulers.want(FORECAST, 8)
    decision = region.cycle()
    view = PlanView(region.part, "estate minimal", "commit", "now", "a day", decision)
    found = as_document(view)["shortfalls"]
    assert isinstance(found, list)
    assert [(one["workload"], one["not_offered"]) for one in found] == [(FORECAST, {POOL: "no_rate"})]
