"""The simulated region's histories, wired to an estate and the checkers: what command and benchmark hunt in."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Mapping
from functools import cache

from contracts.errors import Refused
from ebbtide.advice import unknown
from ebbtide.day import settle_heap
from ebbtide.estate import reference, source, tree_of
from repo_layout.load import assemble, judge, read
from repo_layout.model import Estate
from repo_layout.versions import CONVERTERS
from simulation.check_reading import Broken
from simulation.checking import Checks
from simulation.chronicle import Call
from simulation.faults import KINDS, chosen, quiet_from
from simulation.hunt import FULL, Histories, History, Question
from simulation.hunted import START, Ground, drawn, end_of, hunted, small

FULL_REGION = "aarhus"
REPLICAS = 2
FELL_OVER = "fell over"
"""The checker of what no checker hears: an error that ended the process where only a fault may."""


class RegionHistories:
    """Histories of the small region, and of whole regions of the reference estate."""

    def kinds(self) -> Mapping[str, str]:
        """As `Histories` promises."""
        return KINDS

    def live(self, question: Question) -> History:
        """As `Histories` promises."""
        ground = full(question.region or FULL_REGION) if question.size == FULL else small()
        faults = chosen(",".join(question.faults), drawn(question.seed, question.days, ground))
        world = hunted(question.seed, question.lasts, faults, ground, replicas=REPLICAS)
        chronicle = world.chronicle
        chronicle.quiet_from = quiet_from(START, end_of(question.days))  # also where it ends before
        counts: Counter[str] = Counter()
        broken: list[Broken] = []
        try:
            run, _ = world.run()
            counts["cycles"] = run.decisions
        except Exception as error:  # noqa: BLE001 - whatever it is, it is the finding, and the seed repeats it
            broken.append(Broken(world.world.now, FELL_OVER, _last_line(error)))
        broken += Checks(ground.region).close(chronicle)
        counts["creates"] = sum(act.call is Call.CREATE and act.fresh for act in chronicle.acts)
        counts["deletes"] = sum(act.call is Call.DELETE and act.fresh for act in chronicle.acts)
        counts["losses"] = len(chronicle.ended)
        counts["deaths"] = len(chronicle.killed)
        counts["terms"] = sum(not led.renewed for led in chronicle.led)
        return History(question, START, chronicle, tuple(broken), dict(counts))


def _last_line(error: Exception) -> str:
    """The error and where it came from."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    folder, _, file = place.filename.rpartition("/")
    return f"{type(error).__name__}: {error} ({folder.rpartition('/')[2]}/{file}:{place.lineno})"


@cache
def _reference() -> Estate:
    """The reference estate, which a test holds valid: read, not judged again."""
    tree = tree_of(source(str(reference())))
    estate = assemble(tree, [judge(one) for one in read(tree, CONVERTERS).sources]).estate
    if estate is None:
        raise Refused("the reference estate cannot be read")
    return estate


@cache
def full(region: str) -> Ground:
    """One region of the reference estate, about 800 instances."""
    names = [entry.name for entry in _reference().settings.regions]
    if region not in names:
        raise unknown("region", region, names, lists=f"the reference estate has {', '.join(names)}")
    return Ground(_reference(), region)


def region_histories() -> Histories:
    """One for a process."""
    settle_heap()
    return RegionHistories()
