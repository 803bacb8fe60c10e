"""The importers on small files made by hand in the published formats, with the traps that their readers fell into."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import pytest

from contracts.errors import Refused
from simulation.trace import OutageKind
from simulation.trace_formats import TraceFormat, find_traces, load, read
from simulation.trace_measures import exposure_in, up_by_pool

HEAD = "vm,zone,machine_type,insert_time,insert_done_time,end_cause,end_time,lifetime_seconds,load,has_both_ends"
AVAILABLE, AWAY = 1, 0


def g5k_lines(rows: list[tuple[str, int, int, int]]) -> str:
    head = "# event_id component_id node_id platform_id node_name event_type start stop reason\n"
    return head + "".join(
        f"    {i}\t    0\t    0\t    5\t{node}\t         {kind}\t   {start}\t   {stop}\t       NULL\n"
        for i, (node, kind, start, stop) in enumerate(rows)
    )


def g5k_file(folder: Path, rows: list[tuple[str, int, int, int]]) -> Path:
    path = folder / "event_trace.tab.xz"
    path.write_bytes(lzma.compress(g5k_lines(rows).encode()))
    return path


def spot_file(folder: Path, name: str, values: list[object], gap: object = 600) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_text(json.dumps({"metadata": {"gap_seconds": gap}, "data": values}), encoding="utf-8")
    return path


def lifetimes_file(folder: Path, *rows: str) -> Path:
    path = folder / "lifetimes.csv"
    path.write_text("\n".join((HEAD, *rows)) + "\n", encoding="utf-8")
    return path


def text_file(folder: Path, name: str, *lines: str) -> Path:
    path = folder / name
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


# The cluster failure trace.


def test_nine_nodes_in_the_order_of_their_numbers_make_a_pool(tmp_path: Path) -> None:
    rows = [(f"G1/s1/c1/node{n}", AVAILABLE, 1000, 9000) for n in (10, 2, 1, 3, 4, 5, 6, 7, 8, 9)]
    trace = load(g5k_file(tmp_path, rows))
    assert [(p.name, p.hall, p.aggregate, p.size) for p in trace.pools] == [
        ("s1/c1/p01", "s1", "s1/c1", 9),
        ("s1/c1/p02", "s1", "s1/c1", 1),
    ]
    assert trace.nodes[9].name == "s1/c1/node10"


def test_a_nodes_leading_absence_is_no_loss_and_it_joins_at_its_end(tmp_path: Path) -> None:
    node = "G1/s1/c1/node1"
    rows = [
        (node, AWAY, 0, 5000),
        (node, AVAILABLE, 5000, 6000),
        (node, AWAY, 6000, 6500),
        (node, AVAILABLE, 6500, 9000),
    ]
    trace = load(g5k_file(tmp_path, rows))
    assert trace.nodes[0].joined_at == 5_000_000
    assert [(o.start, o.end) for o in trace.outages] == [(6_000_000, 6_500_000)]
    assert exposure_in(trace, 0, 9_000_000) == {"s1/c1/p01": pytest.approx(3500 / 3600)}


@pytest.mark.parametrize(("length", "count"), [(119, 0), (120, 1)])
def test_an_absence_counts_from_120_seconds_on(tmp_path: Path, length: int, count: int) -> None:
    node = "G1/s1/c1/node1"
    back = 1000 + length
    rows = [(node, AVAILABLE, 0, 1000), (node, AWAY, 1000, back), (node, AVAILABLE, back, 9000)]
    assert len(load(g5k_file(tmp_path, rows)).outages) == count


def test_an_absence_to_the_end_of_the_record_has_no_end(tmp_path: Path) -> None:
    node = "G1/s1/c1/node1"
    trace = load(g5k_file(tmp_path, [(node, AVAILABLE, 0, 1000), (node, AWAY, 1000, 9000)]))
    assert trace.outages[0].end is None


def test_absences_that_touch_are_one_loss(tmp_path: Path) -> None:
    node = "G1/s1/c1/node1"
    rows = [
        (node, AVAILABLE, 0, 1000),
        (node, AWAY, 1000, 1090),
        (node, AWAY, 1090, 1180),
        (node, AVAILABLE, 1180, 9000),
    ]
    assert [(o.start, o.end) for o in load(g5k_file(tmp_path, rows)).outages] == [(1_000_000, 1_180_000)]


def test_a_node_that_was_never_available_is_left_out_but_keeps_its_place_in_the_blocks(tmp_path: Path) -> None:
    rows = [(f"G1/s1/c1/node{n}", AVAILABLE if n != 3 else AWAY, 0, 9000) for n in range(1, 11)]
    trace = load(g5k_file(tmp_path, rows))
    assert [pool.size for pool in trace.pools] == [8, 1]
    assert "1 nodes were never available" in trace.notes[-1]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("1\t0\t0\t5\tG1/s1/c1/node1\t0\t5", r"event_trace\.tab:2:1: 7 tab-separated fields where 9"),
        ("1\t0\t0\t5\tG1/s1/c1/node1\t0\tfive\t6\tNULL", r"event_trace\.tab:2:1: type, start and stop"),
        ("1\t0\t0\t5\tG1/s1/c1/node1\t2\t5\t6\tNULL", r"event_trace\.tab:2:1: type must be 0 or 1"),
        ("1\t0\t0\t5\tG1/s1/c1/node1\t0\t7\t6\tNULL", r"event_trace\.tab:2:1: type must be 0 or 1 and stop not before"),
        ("1\t0\t0\t5\tG1/s1/nodeX\t0\t5\t6\tNULL", r"event_trace\.tab: node name"),
        ("1\t0\t0\t5\tG1/s1/c1/n\u00f6de\t0\t5\t6\tNULL", r"event_trace\.tab:2:1: a byte that is no ASCII"),
    ],
)
def test_a_malformed_line_is_refused_with_its_number(tmp_path: Path, line: str, message: str) -> None:
    path = text_file(tmp_path, "event_trace.tab", "# head", line)
    with pytest.raises(Refused, match=message):
        load(path)


def test_two_intervals_of_a_node_at_once_are_refused(tmp_path: Path) -> None:
    node = "G1/s1/c1/node1"
    with pytest.raises(Refused, match="two intervals at once"):
        load(g5k_file(tmp_path, [(node, AVAILABLE, 0, 1000), (node, AWAY, 900, 2000)]))


def test_a_torn_archive_and_an_empty_table_are_refused(tmp_path: Path) -> None:
    path = g5k_file(tmp_path, [("G1/s1/c1/node1", AVAILABLE, 0, 1000)])
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(Refused, match="no xz file"):
        load(path)
    with pytest.raises(Refused, match="holds no event"):
        load(text_file(tmp_path, "event_trace.tab", "# head"))


# Spot availability, in both readings.


def test_both_readings_of_a_set_are_listed_and_say_the_opposite(tmp_path: Path) -> None:
    spot_file(tmp_path / "set", "zone-a_v100_1.json", [1, 1, 0, 1])
    spot_file(tmp_path / "set", "zone-b_v100_1.json", [1, 0, 0, 0])
    names = [trace.name for trace in find_traces(tmp_path)]
    assert names == ["set:one-is-available", "set:one-is-not-available"]
    straight, inverse = (load(name, folder=tmp_path) for name in names)
    for tick in range(4):
        here = up_by_pool(straight, 600_000 * tick)
        assert (here + up_by_pool(inverse, 600_000 * tick)).tolist() == [1, 1]
    assert [(o.pool, o.start, o.end) for o in straight.outages] == [
        ("zone-b_v100_1", 600_000, None),
        ("zone-a_v100_1", 1_200_000, 1_800_000),
    ]
    assert {pool.hall for pool in straight.pools} == {"zone-a", "zone-b"}


def test_a_spot_set_without_its_reading_is_refused(tmp_path: Path) -> None:
    spot_file(tmp_path / "set", "zone-a_v100_1.json", [1, 0])
    with pytest.raises(Refused, match="0 traces"):
        load(tmp_path / "set")
    assert load(f"{tmp_path / 'set'}:one-is-available").pools[0].size == 1


def test_the_inverse_of_a_count_is_what_is_missing_from_the_largest(tmp_path: Path) -> None:
    spot_file(tmp_path / "set", "z_v100_1.json", [0, 3, 16, 10], gap=300)
    trace = load("set:one-is-not-available", folder=tmp_path)
    assert [int(up_by_pool(trace, 300_000 * tick)[0]) for tick in range(4)] == [16, 13, 0, 6]
    assert sum(o.start == 300_000 for o in trace.outages) == 3


def test_a_tick_can_be_replaced_where_the_stated_one_is_doubted(tmp_path: Path) -> None:
    spot_file(tmp_path / "set", "z_v100_1.json", [1, 0, 1])
    assert load("set:one-is-available", folder=tmp_path).ends_at == 1_800_000
    assert load("set:one-is-available", folder=tmp_path, gap_s=300).ends_at == 900_000


def test_a_pool_that_never_shows_a_node_is_left_out_with_a_note(tmp_path: Path) -> None:
    spot_file(tmp_path / "set", "a_v100_1.json", [0, 0])
    spot_file(tmp_path / "set", "b_v100_1.json", [1, 0])
    trace = load("set:one-is-available", folder=tmp_path)
    assert [pool.name for pool in trace.pools] == ["b_v100_1"]
    assert "a_v100_1 never shows a node" in trace.notes[-1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"metadata": {"gap_seconds": 600}, "data": [1,\n 0', r"z_v100_1\.json:\d+:\d+: no JSON"),
        ('{"metadata": {}, "data": [1]}', r"z_v100_1\.json:1:1: expected"),
        ('{"metadata": {"gap_seconds": 0}, "data": [1]}', r"z_v100_1\.json:1:1: expected"),
        ('{"metadata": {"gap_seconds": true}, "data": [1]}', r"z_v100_1\.json:1:1: expected"),
        ('{"metadata": {"gap_seconds": 600}, "data": []}', r"0 ticks"),
        ('{"metadata": {"gap_seconds": 600}, "data": [1, 0.5]}', r"data\[1\] is 0\.5"),
        ('{"metadata": {"gap_seconds": 600}, "data": [1, -1]}', r"data\[1\] is -1"),
        ('{"metadata": {"gap_seconds": 600}, "data": [true]}', r"data\[0\] is True"),
        ("[" * 100_000, r"no JSON"),
    ],
)
def test_a_malformed_spot_file_is_refused(tmp_path: Path, text: str, message: str) -> None:
    text_file(tmp_path, "z_v100_1.json", text)
    with pytest.raises(Refused, match=message):
        load(f"{tmp_path}:one-is-available")


# Lifetimes of preemptible machines.


def machine(name: str, *, start: str, cause: str, end: str, lifetime: float) -> str:
    return f"{name},zone-a,n1-standard-1,{start},{start},{cause},{end},{lifetime},idle,no"


def test_a_preemption_is_a_loss_and_an_owners_stop_only_ends_the_exposure(tmp_path: Path) -> None:
    start = "2019-02-18T08:00:00.000-08:00"
    path = lifetimes_file(
        tmp_path,
        machine("vm0", start=start, cause="preempted", end="2019-02-18T10:00:00.000-08:00", lifetime=7200),
        machine("vm1", start=start, cause="stopped_by_owner", end="2019-02-18T09:00:00.000-08:00", lifetime=3600),
    )
    trace = load(path)
    assert [(o.node, o.end, o.kind) for o in trace.outages] == [("vm0", None, OutageKind.RECLAIM)]
    assert exposure_in(trace, trace.starts_at, trace.ends_at) == {"zone-a/n1-standard-1": pytest.approx(3.0)}


def test_a_machine_ended_at_24_hours_is_told_from_one_that_was_wanted_back(tmp_path: Path) -> None:
    start = "2019-02-18T08:00:00-08:00"
    path = lifetimes_file(
        tmp_path,
        machine("vm0", start=start, cause="preempted", end="2019-02-19T08:01:00-08:00", lifetime=86_460),
        machine("vm1", start=start, cause="preempted", end="2019-02-19T07:30:00-08:00", lifetime=84_600),
    )
    assert {o.node: o.kind for o in load(path).outages} == {"vm0": OutageKind.AGE_LIMIT, "vm1": OutageKind.RECLAIM}


def test_two_offsets_in_one_file_come_to_one_clock(tmp_path: Path) -> None:
    path = lifetimes_file(
        tmp_path,
        machine(
            "vm0", start="2019-03-10T09:00:00-08:00", cause="preempted", end="2019-03-10T10:00:00-08:00", lifetime=3600
        ),
        machine(
            "vm1", start="2019-03-10T10:00:00-07:00", cause="preempted", end="2019-03-10T11:00:00-07:00", lifetime=3600
        ),
    )
    trace = load(path)
    assert trace.outages[0].start == trace.outages[1].start
    assert {node.joined_at for node in trace.nodes} == {trace.starts_at}


def test_a_lifetime_that_disagrees_with_its_times_is_counted_and_not_used(tmp_path: Path) -> None:
    start = "2019-03-27T10:00:00-07:00"
    path = lifetimes_file(
        tmp_path, machine("vm0", start=start, cause="preempted", end="2019-03-27T11:00:00-07:00", lifetime=3550)
    )
    trace = load(path)
    assert "1 stated lifetimes disagree" in trace.notes[-1]
    assert exposure_in(trace, trace.starts_at, trace.ends_at) == {"zone-a/n1-standard-1": pytest.approx(1.0)}


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("vm0,z,t,2019-03-27T10:00:00,,preempted,2019-03-27T11:00:00-07:00,3600,idle,no", r":2:1: .*no offset"),
        ("vm0,z,t,yesterday,,preempted,2019-03-27T11:00:00-07:00,3600,idle,no", r":2:1: 'yesterday' is no time"),
        ("vm0,z,t,2019-03-27T10:00:00Z,,vanished,2019-03-27T11:00:00Z,3600,idle,no", r":2:1: end cause 'vanished'"),
        ("vm0,z,t,2019-03-27T10:00:00Z,,preempted,2019-03-27T09:00:00Z,3600,idle,no", r":2:1: machine vm0 ends before"),
        ("vm0,z,t,2019-03-27T10:00:00Z,,preempted,2019-03-27T11:00:00Z,long,idle,no", r":2:1: lifetime 'long'"),
        ("vm0,z", r":2:1: end cause ''"),
    ],
)
def test_a_malformed_machine_is_refused_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(Refused, match=r"lifetimes\.csv" + message):
        load(lifetimes_file(tmp_path, row))


def test_a_table_without_a_column_or_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="lacks the columns"):
        load(text_file(tmp_path, "a.csv", "vm,lifetime_seconds", "vm0,5"))
    with pytest.raises(Refused, match="holds no machine"):
        load(lifetimes_file(tmp_path))


# Membership logs.


def test_named_nodes_come_and_go(tmp_path: Path) -> None:
    trace = load(text_file(tmp_path, "log.csv", "1000,add,a", "2000,add,b", "5000,remove,a", "9000,remove,b"))
    assert [(o.node, o.start, o.end) for o in trace.outages] == [("a", 5000, None), ("b", 9000, None)]
    assert trace.starts_at == 1000
    assert trace.pools[0].size == 2


def test_a_node_added_again_ends_its_absence(tmp_path: Path) -> None:
    trace = load(text_file(tmp_path, "log.csv", "1000,add,a", "5000,remove,a", "7000,add,a"))
    assert [(o.start, o.end) for o in trace.outages] == [(5000, 7000)]


def test_of_two_counts_at_one_instant_the_last_holds(tmp_path: Path) -> None:
    trace = load(text_file(tmp_path, "log.csv", "0,0", "10,0", "10,4", "20,4", "20,1"))
    assert [int(up_by_pool(trace, at)[0]) for at in (0, 10_000, 19_999, 20_000)] == [0, 4, 4, 1]
    assert len(trace.outages) == 3


def test_a_dated_count_that_steps_back_replaces_what_was_written_for_later(tmp_path: Path) -> None:
    trace = load(
        text_file(
            tmp_path,
            "log.txt",
            "2021-12-10, 13:00:00, 80",
            "2021-12-10, 13:02:00, 80",
            "2021-12-10, 13:01:00, 70",
            "2021-12-10, 13:03:00, 75",
        )
    )
    minute = 60_000
    counts = [int(up_by_pool(trace, trace.starts_at + k * minute)[0]) for k in range(4)]
    assert counts == [80, 70, 70, 75]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["1000,add,a", "1000,add,a"], r"log\.csv:2:1: node a is added twice"),
        (["1000,add,a", "1000,remove,b"], r"log\.csv:2:1: node b is removed but is not there"),
        (["1000,add,a", "999,remove,a"], r"log\.csv:2:1: the time steps back"),
        (["1000,add,a", "1000,gone,a"], r"log\.csv:2:1: expected 'milliseconds,add,node'"),
        (["1000,add,a", "soon,add,b"], r"log\.csv:2:1: 'soon' is no whole number"),
        (["10,5", "20,five"], r"log\.csv:2:1: 'five' is no whole number"),
        (["10,5", "20,50000"], r"log\.csv:2:1: '50000' is no whole number from 0 to 10000"),
        (["10,5", "9,5"], r"log\.csv:2:1: the time steps back"),
        (["10,5", "20"], r"log\.csv:2:1: expected 'seconds,count'"),
        (["2021-12-10, 13:00:00, 8", "2021-13-10, 13:00:00, 8"], r"log\.csv:2:1: .* is no date and time"),
        (["2021-12-10, 13:00:00, 8", "8"], r"log\.csv:2:1: expected 'date, time, count'"),
        (["10,5", "20,\u00bd"], r"log\.csv:2:1: a byte that is no ASCII"),
        (["10,0", "20,0"], r"pool log has no node"),
    ],
)
def test_a_malformed_log_is_refused_with_its_line(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(Refused, match=message):
        load(text_file(tmp_path, "log.csv", *lines))


# Finding and naming.


def test_a_folder_lists_what_can_be_loaded_and_passes_over_the_rest(tmp_path: Path) -> None:
    (tmp_path / "cluster").mkdir()
    g5k_file(tmp_path / "cluster", [("G1/s1/c1/node1", AVAILABLE, 0, 1000)])
    spot_file(tmp_path / "spot" / "set", "z_v100_1.json", [1, 0])
    lifetimes_file(tmp_path)
    text_file(tmp_path, "log.csv", "10,5")
    text_file(tmp_path, "notes.txt", "buy milk")
    text_file(tmp_path, "advisor.json", "{}")
    found = find_traces(tmp_path)
    assert [(trace.name, trace.format) for trace in found] == [
        ("cluster", TraceFormat.FAILURE_TRACE),
        ("lifetimes", TraceFormat.LIFETIMES),
        ("log", TraceFormat.MEMBERSHIP),
        ("spot/set:one-is-available", TraceFormat.SPOT_AVAILABILITY),
        ("spot/set:one-is-not-available", TraceFormat.SPOT_AVAILABILITY),
    ]
    assert load("set:one-is-available", folder=tmp_path) == read(found[3])
    assert load(tmp_path / "cluster").name == "cluster"


def test_an_unknown_name_lists_the_known_ones(tmp_path: Path) -> None:
    text_file(tmp_path, "log.csv", "10,5")
    with pytest.raises(Refused, match="there are: log"):
        load("other", folder=tmp_path)


def test_a_name_that_fits_two_traces_is_refused(tmp_path: Path) -> None:
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        text_file(tmp_path / folder, "log.csv", "10,5")
    with pytest.raises(Refused, match=r"2 traces .*: a/log, b/log"):
        load("log", folder=tmp_path)


def test_a_missing_folder_says_which_variable_names_it(tmp_path: Path) -> None:
    with pytest.raises(Refused, match="EBBTIDE_TRACES"):
        find_traces(tmp_path / "nowhere")
    with pytest.raises(Refused, match="no folder of traces to look in"):
        load("nowhere")
