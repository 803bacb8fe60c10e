"""The public sources of recorded reclamations and failures: what each is, how a person gets it, and its traps.

The command `ebbtide traces` prints these rows; `simulation.trace_formats` reads the formats that name one. Nothing is
fetched: some of the sources carry no licence, so none of them may stand in this repository or in its wheel.
"""

from __future__ import annotations

from dataclasses import dataclass

from simulation.trace_formats import TraceFormat


@dataclass(frozen=True, slots=True)
class TraceSource:
    """One public source.

    `obtain` says in words where it is published, `shape` what its files look like, `traps` what misled readers before;
    `format` is the importer that reads it, None where it serves something else; `terms` is the licence as found.
    """

    name: str
    what: str
    obtain: str
    shape: str
    traps: tuple[str, ...]
    terms: str
    format: TraceFormat | None


_SOURCES = (
    TraceSource(
        name="cluster-failure-trace",
        what="Node availability of the research grid Grid'5000 over 18 months in 2005 and 2006: 9 clusters in 4 sites.",
        obtain="The Failure Trace Archive publishes it as data set g5k06, in tabular form; keep event_trace.tab.",
        shape="Tab-separated event_trace.tab or event_trace.tab.xz: nine fields, one interval of one node a line.",
        traps=(
            "It records availability, not reclaims.",
            "A node's leading unavailable interval means that it was not there yet; the importer drops it.",
            "Many absences under 120 s are flaps of the monitor; the importer counts none of them as a loss.",
            "Clusters join during the trace, so rates need hours at risk, and the fourth site comes on day 399.",
            "Fourteen storms hold an eighth of all losses; the four largest fall in the last two months.",
        ),
        terms="none stated in the copy",
        format=TraceFormat.FAILURE_TRACE,
    ),
    TraceSource(
        name="spot-availability",
        what="Whether, or how many, accelerator machines a spot market granted, probed at a fixed tick, a file a zone.",
        obtain="The SkyPilot project publishes it on its code host as the repository spot-traces; keep the folders.",
        shape='JSON of {"metadata": {"gap_seconds": N}, "data": [counts]}; file name ZONE_ACCELERATOR_COUNT.json.',
        traps=(
            "Whether 1 means available is disputed: each set loads in both readings; a conclusion must hold in both.",
            "The set of October 2022 states a tick of 600 s and may have been taken at 300 s.",
            "The values carry no date, so the hour of the day means nothing.",
            "Counts name no node: which one was lost is an assumption of the importer.",
        ),
        terms="none stated in the copy",
        format=TraceFormat.SPOT_AVAILABILITY,
    ),
    TraceSource(
        name="preemptible-lifetimes",
        what="Creation, end and end cause of preemptible machines in six zones and eleven types in early 2019.",
        obtain="The authors publish it on their code host as the repository goog-preemption-data; one CSV table.",
        shape="CSV, a machine a row: zone, type, times with offset, cause of the end, lifetime in seconds.",
        traps=(
            "The provider ends each machine at 24 hours, which more than half reach: the kind age-limit, not a rate.",
            "Machines stopped by their owner were not lost: they are censored, and their hours count as exposure.",
            "In 24 rows the stated lifetime disagrees with the times; the times agree among themselves and are used.",
            "The file holds two offsets from UTC, since daylight saving began while it was taken.",
            "The rate changes with age by construction, so a constant rate does not fit.",
        ),
        terms="Apache-2.0",
        format=TraceFormat.LIFETIMES,
    ),
    TraceSource(
        name="membership-logs",
        what="Machines joining and leaving a training cluster on spot capacity, by name or as counts, 2020 and 2021.",
        obtain="The authors of the Bamboo study publish the logs in the repository bamboo on their code host.",
        shape="Lines of 'ms,add|remove,node', of 'seconds,count', or of 'date, time, count'.",
        traps=(
            "Polling was irregular: a loss is known to an interval only.",
            "Dated counts step back in time; a line that does replaces what was written for later times.",
            "A leaving machine may have been let go by its owner; the log does not say.",
        ),
        terms="MIT",
        format=TraceFormat.MEMBERSHIP,
    ),
    TraceSource(
        name="hpc-failures",
        what="Failures and repairs of high-performance systems at Los Alamos from 1996 to 2005, with causes.",
        obtain="The laboratory releases it under the number LA-UR-05-7318, among its operational data.",
        shape="CSV, a failure a row: system, node, start and repair in local time without a zone, minutes, causes.",
        traps=(
            "Falling together is a property of some systems and absent in others.",
            "Local times without a zone are ambiguous for an hour each autumn.",
        ),
        terms="recognise Los Alamos for providing the data",
        format=None,
    ),
    TraceSource(
        name="tenant-arrivals",
        what="Arrivals and lifetimes of guaranteed tenants' machines in 2017, to fill a simulated cloud that reclaims.",
        obtain="Derived by its users from the first public Azure trace, which Microsoft publishes on its code host.",
        shape="A line a tick of 300 s with flavours, '|' between batches; lifetimes in bins.",
        traps=(
            "Bins beginning with U ended, those with C were still running at the end.",
            "It holds demand and no reclaim: those follow from what no longer fits.",
        ),
        terms="CC BY 4.0",
        format=None,
    ),
    TraceSource(
        name="spot-advisor",
        what="Discount and interruption band of each machine type and region of one provider at one date.",
        obtain="The spotinfo project carries copies of the provider's advisory file on its code host.",
        shape="JSON by region, system and type: saving in percent and the number of a band.",
        traps=(
            "A band is not a probability.",
            "The price does not predict the interruption.",
        ),
        terms="Apache-2.0",
        format=None,
    ),
)


def sources() -> tuple[TraceSource, ...]:
    """All sources, those with an importer first, each kind by name."""
    return tuple(sorted(_SOURCES, key=lambda source: (source.format is None, source.name)))
