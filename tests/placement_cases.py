"""Generated placement problems for the property tests, and small ones by hand."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st

from correlation_groups.spread import Shares
from reconciler.problem import DomainSupply, Held, Need, Offer, Offers, PoolSupply, Problem, Resources, Team

ROOMY = Resources(vcpu=10_000, memory_mib=40_000_000, gpu=0, disk_gib=1_000_000)
SMALL = Resources(vcpu=4, memory_mib=16_384, gpu=0, disk_gib=50)


def region(
    domains: int = 12, halls: int = 4, *, capacity: Resources = ROOMY, headroom: int = 1000
) -> tuple[tuple[DomainSupply, ...], tuple[PoolSupply, ...]]:
    """One pool per domain, halls as bounding groups, and one committed pool."""
    pools = [PoolSupply(f"p{d:02}", f"d{d:02}", (f"hall-{d % halls}",), SMALL, headroom) for d in range(domains)]
    supplies = [DomainSupply(f"d{d:02}", capacity) for d in range(domains)]
    pools.append(PoolSupply("safe", "dsafe", ("hall-0",), SMALL, headroom, committed=True))
    supplies.append(DomainSupply("dsafe", capacity))
    return tuple(supplies), tuple(pools)


def need(name: str, units: int, costs: Sequence[int], **fields: object) -> Need:
    """A workload of team `red` with one offer per cost at p00, p01, ... and one in the committed pool."""
    offers = [Offer(f"p{k:02}", 1, cost) for k, cost in enumerate(costs)] + [Offer("safe", 1, 900)]
    values: dict[str, object] = {
        "team": "red",
        "tier": 3,
        "desired": units,
        "claimed": units,
        "floor": 0,
        "offers": Offers.of(offers),
    }
    return Need(workload=name, **{**values, **fields})  # type: ignore[arg-type]  # fields are named by the tests


def problem(needs: Sequence[Need], **fields: object) -> Problem:
    """A region of 12 domains in 4 halls, unless the fields say otherwise."""
    domains, pools = region()
    values: dict[str, object] = {
        "domains": domains,
        "pools": pools,
        "teams": (Team("red"), Team("blue")),
        "needs": tuple(needs),
    }
    return Problem(**{**values, **fields})  # type: ignore[arg-type]  # fields are named by the tests


@st.composite
def problems(draw: st.DrawFn, *, held: bool = True, most_needs: int = 5) -> Problem:
    """Regions of 1 to 12 domains with one or two rows each, tight or roomy, with gangs, waivers and teams."""
    halls = draw(st.integers(1, 5))
    domains: list[DomainSupply] = []
    pools: list[PoolSupply] = []
    for d in range(draw(st.integers(1, 12))):
        vcpu = draw(st.sampled_from([0, 8, 40, 400]))
        domains.append(DomainSupply(f"d{d}", Resources(vcpu, vcpu * 4, vcpu // 8, vcpu * 10)))
        groups = (f"hall-{d % halls}", f"power-{draw(st.integers(0, 3))}")
        for row in range(draw(st.integers(1, 2))):
            size = draw(st.sampled_from([1, 2, 4]))
            gpu = draw(st.integers(0, 1))
            pools.append(
                PoolSupply(
                    f"d{d}-{row}",
                    f"d{d}",
                    groups,
                    Resources(size, size * 4, gpu, 0),
                    draw(st.sampled_from([0, 1, 5, 500])),
                    committed=draw(st.integers(0, 5)) == 0,
                )
            )
    needs = tuple(_need(draw, f"w{i}", pools) for i in range(draw(st.integers(1, most_needs))))
    teams = (
        Team("a", draw(st.integers(1, 3)), draw(st.sampled_from([None, None, 20_000]))),
        Team("b", draw(st.integers(1, 3))),
    )
    return Problem(
        tuple(domains),
        tuple(pools),
        teams,
        needs,
        held=tuple(_held(draw, needs)) if held else (),
        horizon_h=draw(st.integers(1, 24)),
        max_moves=draw(st.integers(0, 10)),
        max_excess_moves=draw(st.integers(0, 10)),
        tie_break=draw(st.integers(0, 3)),
    )


def _need(draw: st.DrawFn, name: str, pools: list[PoolSupply]) -> Need:
    chosen = [p for p in pools if draw(st.integers(0, 3))]
    desired = draw(st.integers(0, 40))
    return Need(
        workload=name,
        team=draw(st.sampled_from(["a", "b"])),
        tier=draw(st.integers(1, 5)),
        desired=desired,
        claimed=desired - draw(st.sampled_from([0, 0, 0, desired // 2])),
        floor=draw(st.sampled_from([0, 0, 3])),
        offers=Offers.of([Offer(p.name, p.instance.vcpu, draw(st.integers(50, 400))) for p in chosen]),
        gang=draw(st.sampled_from([1, 1, 1, 2, 3, 8])),
        shares=draw(st.sampled_from([Shares(), Shares(), Shares(500, 1000, 2)])),
        weight=draw(st.integers(1, 2)),
        milli_ncu=draw(st.sampled_from([500, 1000])),
        move_cost_micro=draw(st.sampled_from([0, 100, 5000])),
    )


def _held(draw: st.DrawFn, needs: Sequence[Need]) -> list[Held]:
    rows = []
    for one in needs:
        for offer in one.offers:
            if draw(st.integers(0, 2)) == 0:
                n = draw(st.integers(1, 6))
                leaving = draw(st.sampled_from([0, 0, min(1, n)]))
                movable = draw(st.integers(0, n - leaving))
                idle = draw(st.integers(0, n - leaving))
                rows.append(Held(one.workload, offer.pool, n, offer.units, movable, idle, leaving))
        if draw(st.integers(0, 9)) == 0:
            rows.append(Held(one.workload, "", 1, 2))
    return rows
