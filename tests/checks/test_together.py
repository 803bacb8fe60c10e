"""Rules about what contracts come to together and over time: checkpoints, waves, sums, deadlines, history and terms."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Place
from contracts.findings import Finding, Severity
from contracts.values import parse_size
from pools.gamma import lower_tail
from repo_layout.documents import HistoryRow
from repo_layout.losses import losses_under_waivers
from repo_layout.observed import CREDIBLE, seen_of
from repo_layout.reach import Ground
from repo_layout.wave import Load, Room, Wave, about, most_written, waves_of
from tests.checks.estates import (
    FORECAST,
    GENERAL,
    HINDCAST,
    INVALID,
    changed,
    files_of,
    findings_of,
    in_hall_1,
    judged,
    minimal,
    with_lines,
)

SETTINGS = "ebbtide.yaml"
GIB = 2**30


def only(files: dict[str, bytes], *, day: str = "") -> Finding:
    (finding,) = findings_of(files, day=day)
    return finding


# --------------------------------------------------------------------------------------------- checkpoints and the node


def test_a_checkpoint_is_written_at_the_throughput_of_pool_or_region() -> None:
    large = with_lines(FORECAST, "checkpoint: {mode: both, interval: 5m, size: 12GiB}\n")
    finding = only(large)
    assert (finding.code, finding.place) == ("EBT-207", Place(FORECAST, 14, 46))
    assert "62 s for 1 x 12GiB at 200MiB/s" in finding.message
    assert "drain budget of 60 s in 8 of 8 pools" in finding.message
    assert finding.expected == "at most 12000MiB for all of these pools"
    quick = changed(SETTINGS, ("    halls:", "    checkpointThroughput: 205MiB\n    halls:"), files=large)
    assert findings_of(quick) == ()
    slow = changed(GENERAL, ("hosts:", "checkpointThroughput: 204MiB\nhosts:"), files=quick)
    finding = only(slow)
    assert finding.code == "EBT-207"
    assert "h1-general-a-4x16 61 s for 1 x 12GiB at 204MiB/s" in finding.message
    assert "the 7 that are left do not give the spread for 36 units" in finding.message


def test_all_units_of_an_instance_write_side_by_side() -> None:
    half = changed(FORECAST, ("unit: {vcpu: 4, memory: 16GiB}", "unit: {vcpu: 2, memory: 8GiB}"))
    files = with_lines(FORECAST, "checkpoint: {mode: both, interval: 5m, size: 6GiB}\n", half)
    assert "62 s for 2 x 6GiB" in only(files).message
    files = with_lines(FORECAST, "checkpoint: {mode: both, interval: 5m, size: 6000MiB}\n", half)
    assert findings_of(files) == ()


def test_a_periodic_checkpoint_may_be_of_any_size() -> None:
    assert findings_of(with_lines(FORECAST, "checkpoint: {mode: periodic, interval: 5m, size: 1TiB}\n")) == ()


# ------------------------------------------------------------------------------------------------------------- the wave


def test_a_wave_names_the_group_the_bytes_the_seconds_and_who_weighs_most() -> None:
    narrow = changed(SETTINGS, ("    halls:", "    checkpointGateway: 46MiB\n    halls:"))
    finding = only(narrow)
    assert (finding.code, finding.place) == ("EBT-215", Place(SETTINGS, 8, 24))
    # 30 % of 36 units is 11, each 256 MiB, due within 60 s: 46.9 MiB/s
    for words in ("hall-", "2.8 GiB", "within 60 s", "need 62 s", "46 MiB/s", "forecast 2.8 GiB (11 x 256 MiB)"):
        assert words in finding.message
    assert "3 more groups ask for too much" in finding.message
    assert (finding.seen, finding.expected) == ("46MiB", "at least 47MiB")


def test_a_wave_holds_no_more_than_the_hosts_of_its_group() -> None:
    files = changed(FORECAST, ("maximum: 40", "maximum: 64"))
    files = with_lines(FORECAST, "checkpoint: {mode: both, interval: 5m, size: 1GiB}\n", files)
    small = {path: text.replace(b"count: 4", b"count: 1") for path, text in files.items()}
    (most,) = {wave.amount for wave in _waves(files) if wave.together.kind == "hall"}
    assert most == 18 * GIB
    # two hosts of 64 vCPU hold 32 units, and of them the bounds let 18 stand in a hall
    (least,) = {wave.amount for wave in _waves(small) if wave.together.kind == "hall"}
    assert least == 18 * GIB
    tiny = {path: text.replace(b"count: 1, vcpu: 64", b"count: 1, vcpu: 16") for path, text in small.items()}
    (held,) = {wave.amount for wave in _waves(tiny) if wave.together.kind == "hall"}
    assert held == 8 * GIB


def test_what_is_due_early_is_weighed_without_what_is_due_late() -> None:
    files = with_lines(HINDCAST, "checkpoint: {mode: on-notice, size: 64MiB}\ndrain: {budget: 100s, how: evict}\n")
    waves = [wave for wave in _waves(files) if wave.together.kind == "hall"]
    # 11 x 256 MiB within 60 s ask for more a second than those with 8 x 64 MiB within 100 s
    assert {(wave.due_s, wave.amount) for wave in waves} == {(60, 11 * 256 * 2**20)}


def test_a_group_that_bounds_nothing_falls_all_the_same() -> None:
    group = (
        "apiVersion: ebbtide/v1\nkind: CorrelationGroup\nregion: north\nname: learnt\nfallsWith: observed\n"
        "bounding: false\nevidence: {waves: 4, first: 2026-01-01, last: 2026-02-01}\n"
        "members: [h1-general-a, h2-general-a, h3-general-a]\n"
    )
    files = minimal() | {"correlation_groups/north/learnt.yaml": group.encode()}
    (wave,) = [wave for wave in _waves(files) if wave.together.name == "learnt"]
    # three domains with 15 % of 36 units each
    assert wave.amount == 18 * 256 * 2**20


def _waves(files: dict[str, bytes]) -> tuple[Wave, ...]:
    estate = judged(files).estate
    assert estate is not None
    return waves_of(Ground(estate), "north")


_loads = st.lists(
    st.tuples(st.integers(1, 9), st.integers(1, 4), st.integers(1, 4), st.integers(0, 3)), min_size=1, max_size=3
)


@given(loads=_loads, vcpu=st.integers(0, 8), memory=st.integers(0, 8))
@settings(max_examples=60, deadline=None)
def test_no_way_to_fill_the_hosts_writes_more(loads: list[tuple[int, int, int, int]], vcpu: int, memory: int) -> None:
    hardware = ("x86_64", "")
    units = {Load(hardware, 60, size, cpu, mem, 0): count for size, cpu, mem, count in loads}
    most = most_written(units, 60, hardware, Room(vcpu, memory, 0))
    assert most >= _best(list(units.items()), vcpu, memory)


def _best(loads: Sequence[tuple[Load, int]], vcpu: int, memory: int) -> int:
    """The most bytes of any choice of whole units, by trying all."""
    if not loads:
        return 0
    (load, count), rest = loads[0], loads[1:]
    return max(
        n * load.size + _best(rest, vcpu - n * load.vcpu, memory - n * load.memory)
        for n in range(count + 1)
        if n * load.vcpu <= vcpu and n * load.memory <= memory
    )


def test_sizes_are_shown_to_one_decimal() -> None:
    assert [about(n) for n in (512, 2**20, 1536 * 2**20, 2**41)] == ["512 B", "1 MiB", "1.5 GiB", "2 TiB"]
    assert parse_size("1.5GiB") == 1536 * 2**20


# ----------------------------------------------------------------------------------------------------------------- sums


def test_a_team_is_summed_at_the_maxima_of_its_contracts() -> None:
    finding = only(changed(SETTINGS, ("ncuLimit: 400", "ncuLimit: 255")))
    assert (finding.code, finding.place) == ("EBT-216", Place(SETTINGS, 15, 15))
    assert (
        "256 NCU at their maxima, 1 above the team's limit of 255: forecast 160 NCU, hindcast 96 NCU" in finding.message
    )
    assert finding.expected == "at least 256"
    # 18 GiB are four and a half times 4 GiB
    files = changed(FORECAST, ("memory: 16GiB", "memory: 18GiB"), files=changed(SETTINGS, ("400", "255")))
    assert any("forecast 180 NCU" in f.message for f in findings_of(files))


def test_a_team_may_spend_no_more_than_its_ceiling_a_day() -> None:
    finding = only(changed(SETTINGS, ('"50.00 EUR"', '"19.99 EUR"')))
    assert finding.code == "EBT-216"
    assert "may spend 20.00 EUR a day on fallback, above the team's ceiling of 19.99 EUR" in finding.message


def test_a_person_answers_for_no_more_than_their_authority_in_all_contracts_together() -> None:
    fallback = 'fallback: {{allowed: true, authority: tides-lead, limitPerDay: "{} EUR"}}\n'
    assert findings_of(with_lines(HINDCAST, fallback.format("20.00"))) == ()
    finding = only(with_lines(HINDCAST, fallback.format("20.01")))
    assert (finding.code, finding.place.file) == ("EBT-217", "directory.yaml")
    assert "answers for 40.01 EUR a day in 2 contracts and may spend 40.00 EUR" in finding.message
    # one that is above the authority alone is told alone
    alone = findings_of(
        changed(SETTINGS, ('"50.00 EUR"', '"500.00 EUR"'), files=with_lines(HINDCAST, fallback.format("40.01")))
    )
    assert [f.code for f in alone] == ["EBT-204"]


def test_fallback_that_is_not_allowed_counts_nothing() -> None:
    files = with_lines(HINDCAST, 'fallback: {allowed: false, authority: tides-lead, limitPerDay: "39.00 EUR"}\n')
    assert findings_of(files) == ()


def test_nobody_is_their_own_deputy() -> None:
    finding = only(changed("directory.yaml", ("deputies: [tides-lead]", "deputies: [tides-lead, tides-oncall]")))
    assert (finding.code, finding.message) == ("EBT-204", "tides-oncall is their own deputy")


# ------------------------------------------------------------------------------------------------------------ deadlines


def test_a_deadline_leaves_time_for_the_work_at_the_tolerated_rate() -> None:
    # requeued: 0.4 an hour tolerated, runs of an hour, 0.05 h until it works again: 24 units work 79.7 % for good
    deadline = "deadline: {{after: 4h, work: {}}}\n"
    assert findings_of(with_lines(HINDCAST, deadline.format(76))) == ()
    finding = only(with_lines(HINDCAST, deadline.format(77)))
    assert (finding.code, finding.place) == ("EBT-218", Place(HINDCAST, 11, 11))
    assert "77 unit-hours" in finding.message
    assert "24 units do 76.5" in finding.message
    assert "interrupted 0.40 times an hour, as tolerated, work 79.7 % of their time for good" in finding.message
    assert finding.expected == "at least 4h2m, or at most 76 unit-hours"


def test_a_floor_works_all_the_time_and_a_time_of_day_leaves_a_day() -> None:
    deadline = 'deadline: {{at: "06:00 Europe/Oslo", work: {}}}\n'
    assert findings_of(with_lines(HINDCAST, f"floor: 4\n{deadline.format(478)}")) == ()
    finding = only(with_lines(HINDCAST, f"floor: 4\n{deadline.format(480)}"))
    assert finding.code == "EBT-218"
    assert "4 on the floor and 20 that are interrupted" in finding.message
    assert "24h from one deadline to the next" in finding.message


# -------------------------------------------------------------------------------------------------------------- history

HISTORY = """apiVersion: ebbtide/v1
kind: History
region: north
since: 2026-03-01
until: 2026-05-31
rows:
"""
ROW = "  - {{pool: {}, exposureHours: {}, interruptions: {}, reclaims: {}}}\n"


def history(*rows: tuple[str, int, int, int]) -> dict[str, bytes]:
    return minimal() | {"history/north.yaml": (HISTORY + "".join(ROW.format(*row) for row in rows)).encode()}


def test_a_tolerance_below_what_was_observed_is_refused_with_the_pools_named() -> None:
    finding = only(history(("h1-general-a-4x16", 8000, 640, 80), ("h2-general-a-4x16", 8000, 100, 80)))
    assert (finding.code, finding.place.file) == ("EBT-219", FORECAST)
    assert "forecast tolerates 0.05 interruptions a unit-hour" in finding.message
    assert "from 2026-03-01 to 2026-05-31 1 of its 8 eligible pools did more" in finding.message
    assert "h1-general-a-4x16 640 in 8000 h, at least 0.06" in finding.message


def test_little_exposure_refuses_nobody_however_bad_it_looks() -> None:
    assert findings_of(history(("h1-general-a-4x16", 30, 3, 1))) == ()
    assert findings_of(history(("h1-general-a-4x16", 0, 0, 0))) == ()


def test_enough_good_pools_excuse_a_bad_one() -> None:
    more = {
        f"pools/north/{name}.yaml": minimal()[GENERAL].replace(b"h1-general-a", name.encode())
        for name in ("h1-general-c", "h1-general-d")
    }
    files = history(("h1-general-a-4x16", 8000, 640, 80)) | more
    assert findings_of(in_hall_1(files, "h1-general-c", "h1-general-d")) == ()


def test_a_gang_is_interrupted_by_any_of_its_instances() -> None:
    rows = [(f"h{hall}-general-{letter}-4x16", 8000, 240, 120) for hall in range(1, 5) for letter in "ab"]
    assert findings_of(history(*rows)) == ()
    fewer = changed(FORECAST, ("maximum: 40", "maximum: 12"), files=history(*rows))
    gang = with_lines(FORECAST, "eligibility: {gang: {size: 2, within: hall}}\n", fewer)
    assert [finding.code for finding in findings_of(gang)] == ["EBT-219"]


@given(exposure=st.integers(1, 10**6), reclaims=st.integers(1, 500), each=st.integers(1, 20))
@settings(max_examples=60, deadline=None)
def test_the_lower_bound_is_the_quantile_of_the_posterior(exposure: int, reclaims: int, each: int) -> None:
    row = HistoryRow(pool="p", exposure_hours=exposure, interruptions=reclaims * each, reclaims=reclaims)
    seen = seen_of(row)
    assert 0 < seen.least < seen.mean
    assert lower_tail(reclaims + 0.5, seen.least * exposure / each) == pytest.approx(CREDIBLE, rel=1e-4)


def test_a_history_of_a_pool_that_is_gone_is_a_warning() -> None:
    finding = only(history(("h9-general-a-4x16", 8000, 640, 80)))
    assert (finding.code, finding.severity) == ("EBT-206", Severity.WARNING)
    south = HISTORY.replace("region: north", "region: south").replace("rows:", "rows: []")
    files = minimal() | {"history/south.yaml": south.encode()}
    assert [f.message for f in findings_of(files)] == ["there is no region south"]


# ---------------------------------------------------------------------------------------------------------------- terms


def test_an_approval_holds_to_the_end_of_its_day_and_a_work_tree_has_no_day() -> None:
    files = changed("approvals/2026-03-02-forecast.yaml", ("expires: 2027-03-02", "expires: 2026-06-30"))
    assert findings_of(files) == ()
    assert [f.code for f in findings_of(files, day="2026-06-30")] == ["EBT-222"]
    finding = only(files, day="2026-07-01")
    assert (finding.code, finding.severity) == ("EBT-221", Severity.ERROR)
    assert "the approval of forecast expired on 2026-06-30, before this commit of 2026-07-01" in finding.message
    assert findings_of(files, day="2026-05-30") == ()
    assert "31 days after" not in only(files, day="2026-05-31").message


def test_a_person_whose_time_is_over_names_the_contracts_that_rely_on_them() -> None:
    files = changed("directory.yaml", ('"40.00 EUR"}', '"40.00 EUR", validUntil: 2026-06-30}'))
    finding = only(files, day="2026-07-02")
    assert (finding.code, finding.place) == ("EBT-221", Place("directory.yaml", 4, 133))
    assert "relied on by forecast, hindcast" in finding.message


def test_people_that_nobody_names_may_expire() -> None:
    entry = "  - {id: old, name: Old, address: old@tides.example, kind: person, validUntil: 2026-01-01}\n"
    files = with_lines("directory.yaml", entry)
    assert findings_of(files, day="2026-07-02") == ()


# --------------------------------------------------------------------------------------------------------------- losses


def test_the_largest_loss_counts_groups_that_are_only_reported() -> None:
    waiver = files_of(INVALID / "EBT-220-largest-loss")
    estate = judged(minimal() | waiver).estate
    assert estate is not None
    (forecast, hindcast) = losses_under_waivers(estate, "north")
    assert (forecast.units, forecast.desired, forecast.scope) == (12, 36, "hall")
    assert hindcast.workload == "hindcast"
    group = (
        "apiVersion: ebbtide/v1\nkind: CorrelationGroup\nregion: north\nname: learnt\nfallsWith: observed\n"
        "bounding: false\nevidence: {waves: 4, first: 2026-01-01, last: 2026-02-01}\n"
        "members: [h1-general-a, h2-general-a, h3-general-a]\n"
    )
    estate = judged(minimal() | waiver | {"correlation_groups/north/learnt.yaml": group.encode()}).estate
    assert estate is not None
    assert losses_under_waivers(estate)[0].sentence == (
        "forecast can lose 18 of 36 interruptible units (50 %) at once, with observed learnt"
    )
