"""What a change does, one effect at a time."""

from __future__ import annotations

from contracts.findings import Severity
from repo_layout.change import Effects, Renamed, Turn, changed, effects, things
from repo_layout.change_fields import FieldChange, fields_changed
from repo_layout.change_pools import Changer, PoolCause
from repo_layout.change_spread import DOMAINS, Slack
from repo_layout.change_sums import Room
from repo_layout.feasibility import check
from repo_layout.model import Estate
from tests.change.edits import EDITS, Edit, add, after, copied, drop, edited, estate_of, swap
from tests.checks.estates import FORECAST, GENERAL, HINDCAST


def of(*edits: Edit, base: Estate | None = None) -> Effects:
    return effects(base or after(), after(*edits))


def test_nothing_changed_is_no_effect() -> None:
    assert of() == Effects()
    assert of(EDITS["comment"], EDITS["prose"]) == Effects()


def test_a_field_is_told_as_a_file_writes_it() -> None:
    (thing,) = of(EDITS["drain"], EDITS["money"]).things
    assert (thing.key, thing.turn) == ("contract/forecast", Turn.CHANGED)
    assert thing.fields == (
        FieldChange("drain.budget", "1m", "100s"),
        FieldChange("fallback.limitPerDay", "20.00 EUR", "45.00 EUR"),
    )


def test_of_a_list_only_what_came_and_what_left_is_told() -> None:
    base = after(add(HINDCAST, b"eligibility: {avoidHalls: [h1, h2]}\n"))
    (thing,) = of(add(HINDCAST, b"eligibility: {avoidHalls: [h2, h3]}\n"), base=base).things
    assert thing.fields == (FieldChange("eligibility.avoidHalls", "h1", "h3", of_list=True),)


def test_a_floor_takes_committed_capacity_in_whole_instances() -> None:
    (room,) = of(EDITS["floor"]).rooms
    assert (room.region, room.kind, room.unit) == ("north", "x86_64", "vCPU")
    assert room.before == Room(left=room.after.left + 8, there=room.after.there)


def test_a_person_answers_for_the_sum_of_their_contracts() -> None:
    base = after(copied(FORECAST, "contracts/tides/surge.yaml", "forecast", "surge"))
    head = estate_of(edited(copied(FORECAST, "contracts/tides/surge.yaml", "forecast", "surge"), EDITS["money"]))
    (spend,) = effects(base, head).spend
    assert (spend.person, str(spend.before), str(spend.after)) == ("tides-lead", "40.00 EUR", "65.00 EUR")
    assert spend.above
    assert not spend.mirrored().above


def test_an_authority_that_shrinks_is_told_beside_the_sum_that_stays() -> None:
    (spend,) = of(EDITS["authority"]).spend
    assert spend.before == spend.after
    assert (str(spend.authority_before), str(spend.authority_after)) == ("40.00 EUR", "30.00 EUR")


def test_a_teams_totals_stand_against_its_limits() -> None:
    (team,) = of(EDITS["maximum"], EDITS["limit"]).teams
    assert team.before is not None
    assert team.after is not None
    assert (team.before.milli_ncu, team.before.ncu_limit, team.before.above) == (256_000, 400, False)
    assert (team.after.milli_ncu, team.after.ncu_limit) == (288_000, 300)


def moves(effects_: Effects, workload: str) -> dict[str, tuple[PoolCause, Changer]]:
    (reach,) = (reach for reach in effects_.reach if reach.workload == workload)
    return {move.pool: (move.cause, move.changer) for move in (*reach.lost, *reach.gained)}


def test_each_lost_pool_carries_what_it_was_lost_by() -> None:
    for edits, pool, cause in (
        ((EDITS["no pool"],), "h4-general-b-4x16", (PoolCause.THERE, Changer.POOL)),
        ((EDITS["arm"],), "h3-general-b-4x16", (PoolCause.ARCHITECTURE, Changer.POOL)),
        ((EDITS["halls"],), "h2-general-b-4x16", (PoolCause.HALL, Changer.CONTRACT)),
        ((EDITS["unit"],), "h2-general-b-4x16", (PoolCause.UNIT, Changer.CONTRACT)),
        ((swap(GENERAL, "x86_64", "x86_64, gpuFamily: l40s"),), "h1-general-a-4x16",
         (PoolCause.GPU_FAMILY, Changer.POOL)),
        ((swap(GENERAL, "hosts:", "noticeWindow: 20s\nhosts:"),), "h1-general-a-4x16",
         (PoolCause.NOTICE, Changer.POOL)),
        ((swap(GENERAL, "reclaimable", "committed"),), "h1-general-a-4x16", (PoolCause.RATE_CLASS, Changer.POOL)),
        ((add(HINDCAST, b"drain: {budget: 118s, how: evict}\n"),), "h1-general-a-4x16",
         (PoolCause.NOTICE, Changer.CONTRACT)),
        ((swap("ebbtide.yaml", "timeZone:", "verificationMargin: 90s\n    timeZone:"),), "h1-general-a-4x16",
         (PoolCause.NOTICE, Changer.REGION)),
        ((add(HINDCAST, b"eligibility: {network: 100g}\n"),), "h1-general-a-4x16",
         (PoolCause.NETWORK, Changer.CONTRACT)),
        ((add(HINDCAST, b"eligibility: {memoryPerVcpu: 8GiB}\n"),), "h1-general-a-4x16",
         (PoolCause.MEMORY_PER_VCPU, Changer.CONTRACT)),
    ):  # fmt: skip
        assert moves(of(*edits), "hindcast")[pool] == cause


def test_a_workload_that_moves_to_another_region_changes_all_its_pools() -> None:
    south = swap(
        "ebbtide.yaml",
        "teams:",
        "  - name: south\n    timeZone: Europe/Rome\n    halls: [s1]\n    projects: [p]\n"
        "    clusters: [{name: south-slurm, scheduler: slurm}]\nteams:",
    )
    found = effects(after(south), after(south, swap(HINDCAST, "north-slurm", "south-slurm")))
    assert set(moves(found, "hindcast").values()) == {(PoolCause.REGION, Changer.CONTRACT)}
    assert [(one.region, one.taken, one.added) for one in found.units] == [("north", 24, 0), ("south", 0, 24)]


def test_committed_pools_count_only_where_a_floor_or_fallback_uses_them() -> None:
    found = of(drop("pools/north/h1-committed.yaml"))
    assert [reach.workload for reach in found.reach] == ["forecast"]


def test_a_bound_is_tight_when_no_domain_can_be_spared_any_more() -> None:
    base = after(EDITS["pool"])
    tight = [change for change in effects(base, after()).slack if change.scope == DOMAINS]
    assert {change.workload for change in tight} == {"forecast", "hindcast"}
    assert all((change.before, change.after) == (Slack(9, 8), Slack(8, 8)) and change.tight for change in tight)


def test_a_contract_that_stops_being_feasible_is_named_with_its_finding() -> None:
    found = of(EDITS["no pool"]).findings
    assert found.stopped == ("forecast", "hindcast")
    assert {finding.code for finding in found.appear} == {"EBT-202", "EBT-206"}  # a group has a member that is gone
    assert found.mirrored().started == found.stopped


def test_a_contract_that_comes_or_goes_broken_neither_stops_nor_starts_being_feasible() -> None:
    broken = add("contracts/tides/nowcast.yaml", edited()[HINDCAST].replace(b"hindcast", b"nowcast") + b"floor: 24\n"
                 b"eligibility: {architecture: arm64}\n")  # fmt: skip
    found = of(broken).findings
    assert [finding.code for finding in found.appear] == ["EBT-203"]
    assert (found.stopped, found.started, found.mirrored().started) == ((), (), ())


def test_a_finding_that_moved_down_or_shows_another_number_is_the_same_finding() -> None:
    broken = after(EDITS["no pool"])
    head = after(EDITS["no pool"], swap(FORECAST, "kind:", "# moved down\nkind:"), EDITS["maximum"])
    assert effects(broken, head).findings.appear == ()


def test_a_contract_that_moves_to_another_team_is_one_change() -> None:
    team = swap("ebbtide.yaml", "teams:\n", "teams:\n  - {name: surf, ncuLimit: 9, tiers: [requeued], "
                'spendCeilingPerDay: "1.00 EUR"}\n')  # fmt: skip
    moved = (copied(HINDCAST, "contracts/surf/hindcast.yaml", "team: tides", "team: surf"), drop(HINDCAST))
    (thing,) = effects(after(team), after(team, *moved)).things
    assert (thing.key, thing.turn) == ("contract/hindcast", Turn.CHANGED)
    assert [field.path for field in thing.fields] == ["team"]


def test_a_rename_is_found_when_everything_promised_is_the_same() -> None:
    renamed = (copied(HINDCAST, "contracts/tides/recast.yaml", "name: hindcast", "name: recast"), drop(HINDCAST))
    assert of(*renamed).renamed == (Renamed("hindcast", "recast"),)
    assert of(*renamed, swap("contracts/tides/recast.yaml", "maximum: 24", "maximum: 25")).renamed == ()


def test_more_than_a_tenth_of_the_units_waits_for_an_approval() -> None:
    (enough,) = of(swap(HINDCAST, "maximum: 24", "maximum: 17")).units
    (fewer,) = of(swap(HINDCAST, "maximum: 24", "maximum: 18")).units
    assert (enough.taken, enough.before, enough.needs_approval) == (7, 64, True)
    assert (fewer.taken, fewer.needs_approval) == (6, False)


def test_growth_elsewhere_does_not_hide_what_is_taken_away() -> None:
    (units,) = of(EDITS["fewer"], EDITS["maximum"]).units
    assert (units.taken, units.added, units.needs_approval) == (15, 8, True)


def test_a_setting_is_told_by_its_path_whether_it_was_there_before_or_not() -> None:
    paused, bounded, paid = (
        of(add("ebbtide.yaml", line)).things
        for line in (
            b"pauses: [{scope: estate, reason: Power works.}]\n",
            b"bounds: {pools: 6}\n",
            b'footprintPerDay: "46.00 EUR"\n',
        )
    )
    assert [(one.key, one.fields) for one in (*paused, *bounded, *paid)] == [
        ("settings/pauses", (FieldChange("pauses", "none", "{scope: estate, reason: Power works.}", of_list=True),)),
        ("settings/bounds", (FieldChange("bounds.pools", "8", "6"),)),
        ("settings/footprintPerDay", (FieldChange("footprintPerDay", "none", "46.00 EUR"),)),
    ]


def test_a_pause_is_not_blamed_for_what_was_wrong_before() -> None:
    tight = swap("ebbtide.yaml", "ncuLimit: 400", "ncuLimit: 200")
    files = edited(tight, EDITS["no pool"], EDITS["pause"])
    before = estate_of(edited(tight, EDITS["no pool"]))
    keys = changed(things(before), things(estate_of(files)))
    errors = {one.code for one in check(estate_of(files), changed=keys) if one.severity is Severity.ERROR}
    assert errors == {"EBT-206"}  # a name that is declared nowhere is wrong whoever changed what


def test_a_checkpoint_that_no_longer_fits_is_told_as_such() -> None:
    slow = swap(GENERAL, "hosts:", "checkpointThroughput: 1MiB\nhosts:")
    (reach,) = of(slow).reach
    (move,) = reach.lost
    assert (reach.workload, move.cause, move.changer) == ("forecast", PoolCause.CHECKPOINT, Changer.POOL)
    assert (move.fits[0], move.fails) == ("256MiB", ("256MiB", "60MiB"))


def test_history_is_told_by_pool() -> None:
    row = b"  - {pool: h1-general-a-4x16, exposureHours: 100, interruptions: 2, reclaims: 1}\n"
    head = b"apiVersion: ebbtide/v1\nkind: History\nregion: north\nsince: 2026-06-01\nuntil: 2026-08-31\nrows:\n"
    base = after(add("history/north.yaml", head + row))
    more = after(add("history/north.yaml", head + row.replace(b"interruptions: 2", b"interruptions: 3")))
    (thing,) = effects(base, more).things
    assert (thing.key, thing.fields) == ("history/north/h1-general-a-4x16", (FieldChange("interruptions", "2", "3"),))


def test_a_cluster_that_another_region_has_now_has_changed() -> None:
    line = "      - {name: north-slurm, scheduler: slurm}\n"
    south = "  - {name: south, timeZone: Europe/Rome, halls: [s1], projects: [p], clusters: ["
    regions = (swap("ebbtide.yaml", "teams:", f"{south}{{name: south-k8s, scheduler: kubernetes}}]}}\nteams:"),)
    moved = (*regions, swap("ebbtide.yaml", line, ""), swap("ebbtide.yaml", f"{south}", f"{south}{line.strip()[2:]}, "))
    found = effects(after(*regions), after(*moved))
    (cluster,) = (thing for thing in found.things if thing.kind == "cluster")
    assert (cluster.name, cluster.fields) == ("north-slurm", (FieldChange("region", "north", "south"),))


def test_every_duration_and_size_of_a_file_is_written_as_one() -> None:
    estate = after()
    region = estate.settings.regions[0]
    later = region.model_copy(update={"join_timeout": 900, "checkpoint_gateway": 2**34})
    assert fields_changed(region, later) == (
        FieldChange("joinTimeout", "10m", "15m"),
        FieldChange("checkpointGateway", "10GiB", "16GiB"),
    )
    contract = estate.contract_by_name["forecast"]
    smaller = contract.checkpoint.model_copy(update={"size": 2**20, "interval": None})
    assert fields_changed(contract.checkpoint, smaller) == (
        FieldChange("interval", "5m", "none"),
        FieldChange("size", "256MiB", "1MiB"),
    )
