"""Where a server goes: on the host that a search through all of them would choose, whatever was placed before."""

from __future__ import annotations

import random

from pools.model import InstanceShape
from simulation.hosts import Domain, Host, HostState
from tests.reconciler.builders import part


def chosen(domain: Domain, shape: InstanceShape, *, committed: bool, avoid: Host | None) -> Host | None:
    """The simple twin: every host is looked at."""
    fitting = [h for h in domain.hosts if h.state is HostState.LENDABLE and h is not avoid and h.fits(shape)]
    order = lambda h: ((h.committed > 0) != committed, h.gpu, h.vcpu, h.memory, h.index)  # noqa: E731  # read beside its use
    return min(fitting, key=order, default=None)


def test_a_server_goes_where_a_search_through_all_hosts_puts_it() -> None:
    rng = random.Random(1)
    pool = next(one for one in part().pools if not one.committed)
    domain = Domain(pool.domain, [pool])
    shapes = [InstanceShape(vcpu=n, memory=n * 4 * 2**30) for n in (1, 2, 4, 8)]
    standing: dict[str, tuple[Host, bool]] = {}
    for number in range(600):
        deed = rng.random()
        if deed < 0.5:
            shape, committed, avoid = rng.choice(shapes), rng.random() < 0.3, rng.choice((None, *domain.hosts))
            expected = chosen(domain, shape, committed=committed, avoid=avoid)
            host = domain.place(f"s{number}", shape, committed=committed, avoid=avoid)
            assert host is expected
            if host is not None:
                standing[f"s{number}"] = host, committed
        elif deed < 0.8 and standing:
            name = rng.choice(sorted(standing))
            host, committed = standing.pop(name)
            domain.release(host, name, committed=committed)
        else:
            domain.turn(rng.choice(domain.hosts), rng.choice(tuple(HostState)))
    assert standing
