"""Rules about the unit: a gang of them comes whole, and its GPUs are of a family.

Called from the table in `repo_layout.feasibility`. Pure.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.findings import Finding
from pools.eligibility import class_of, instances_when_empty, units_per_instance
from repo_layout.blame import SIZED_BY, Attributed, fields_of
from repo_layout.known_names import at
from repo_layout.model import Estate
from repo_layout.reach import Ground, Reach


def gangs_come_whole(ground: Ground) -> Iterator[Attributed]:
    """A floor is whole gangs, for a part of one does no work; and the hosts behind some pool hold a gang."""
    estate = ground.estate
    for contract in estate.contracts:
        size = contract.gang_size
        if beyond := contract.floor % size:
            message = (
                f"the floor of {contract.floor} units is {contract.floor // size} gangs of {size}, and {beyond} beyond "
                f"them would do no work"
            )
            less, more = contract.floor - beyond, contract.floor - beyond + size
            expected = f"{less} or {more}" if more <= contract.maximum else f"{less}"
            place = at(estate, f"contract/{contract.name}/floor")
            keys = frozenset(fields_of(contract, ("floor", "eligibility")))
            yield Attributed(Finding("EBT-224", place, message, str(contract.floor), expected), keys)
    for reach in ground.reaches:
        if reach.contract.gang_size > 1 and reach.usable.fitting and (found := _too_large(estate, reach)) is not None:
            yield Attributed(found, reach.rests_on)


def _too_large(estate: Estate, reach: Reach) -> Finding | None:
    """A gang is always put into one pool, which keeps it in one aggregate and one hall."""
    contract, size = reach.contract, reach.contract.gang_size
    held = {pool.aggregate: 0 for pool in reach.usable.fitting}
    for pool in reach.usable.fitting:
        units = units_per_instance(contract, pool) * instances_when_empty(pool)
        held[pool.aggregate] = max(held[pool.aggregate], units)
    largest = max(held, key=lambda name: (held[name], name))
    if held[largest] >= size:
        return None
    message = (
        f"a gang of {size} units stands in one aggregate, and the largest that {contract.name} may use, {largest}, "
        f"holds {held[largest]} when it is empty"
    )
    place = at(estate, f"contract/{contract.name}/eligibility/gang/size")
    hint = "make the gang or its units smaller, or widen the eligibility"
    return Finding("EBT-224", place, message, str(size), f"at most {held[largest]}", hint)


def gpus_have_a_family(ground: Ground) -> Iterator[Attributed]:
    """GPUs without a family fit no pool, and a family without GPUs takes up instances whose GPUs nobody uses."""
    estate = ground.estate
    families = sorted({pool.attributes.gpu_family for pool in estate.pools if pool.attributes.gpu_family})
    for contract in estate.contracts:
        family, gpus = contract.eligibility.gpu_family, contract.unit.gpu
        keys = frozenset(fields_of(contract, SIZED_BY))
        if gpus and family is None:
            place = at(estate, f"contract/{contract.name}/unit/gpu")
            message = f"a unit of {contract.name} takes {gpus} GPU, and no family is named"
            expected = f"eligibility: {{gpuFamily: {' or '.join(families) or 'NAME'}}}"
            yield Attributed(Finding("EBT-225", place, message, str(gpus), expected), keys)
        elif family is not None and not gpus:
            place = at(estate, f"contract/{contract.name}/eligibility/gpuFamily")
            message = f"{contract.name} asks for the class {class_of(contract.eligibility)}, and its unit takes no GPU"
            hint = "say how many GPUs a unit takes, or leave the family out"
            yield Attributed(Finding("EBT-225", place, message, family, "unit: {gpu: 1} or more", hint), keys)
