"""The world with faults: the same seed is the same history, and every kind of fault does what its sentence says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import cache

import pytest

from ledger.events import EventType, to_line
from pools.provider import NoticeKind
from simulation.chronicle import Act, Call, Chronicle, NodeWord
from simulation.cloud_model import EndCause
from simulation.faults import KINDS, Fault
from simulation.git_host import ACCEPTED
from simulation.hunted import START, HuntedWorld, drawn, hunted, small
from simulation.line import LATEST_MS
from simulation.replica import TERMS, jumped
from simulation.replicas import Replicas

MINUTE, HOUR = 60_000, 3_600_000
AT = START + 80 * MINUTE + 7_000
"""Between two cycles, when everything stands."""
HOURS = 3
DAYS = HOURS / 24


def lived(*faults: Fault, seed: int = 1, days: float = DAYS) -> HuntedWorld:
    world = hunted(seed, days, faults, small())
    world.run()
    return world


def fault(kind: str, minutes: float = 30, target: str = "", size: int = 0, at: int = AT) -> Fault:
    return Fault(kind, 1, at, at + int(minutes * MINUTE), target, size)


@cache
def one(kind: str, minutes: float = 30, target: str = "", size: int = 0) -> HuntedWorld:
    return lived(fault(kind, minutes, target, size))


@cache
def two(first: Fault, second: Fault) -> HuntedWorld:
    return lived(first, second)


def lines(world: HuntedWorld) -> list[bytes]:
    return [to_line(event) for name in sorted(world.chronicle.events) for event in world.chronicle.events[name]]


def acts(chronicle: Chronicle, call: Call, since: int = AT, until: int = 1 << 60) -> list[Act]:
    return [act for act in chronicle.acts if act.call is call and since <= act.at < until]


def words(chronicle: Chronicle) -> Counter[NodeWord]:
    return Counter(node.word for node in chronicle.nodes)


def refused(world: HuntedWorld) -> set[str]:
    return set(world.world.run_result.refusals)


# -- the world itself -------------------------------------------------------------------------------------------------


def test_the_same_seed_and_faults_tell_the_same_events_byte_for_byte() -> None:
    faults = drawn(7, 0.25, small())
    first, second = lived(*faults, seed=7, days=0.25), lived(*faults, seed=7, days=0.25)
    assert lines(first) == lines(second)
    assert first.chronicle == second.chronicle


def test_without_faults_everything_that_is_wanted_runs() -> None:
    calm = lived()
    for name, work in calm.world.work.workloads.items():
        assert work.running == work.target, name
    assert not calm.chronicle.killed
    assert {led.replica for led in calm.chronicle.led} == {"a"}


def test_a_standby_notes_the_commit_that_the_leader_takes_and_takes_none_of_before_over_an_older_store() -> None:
    world = lived(fault("commit_removal", 180, "hindcast"), fault("git_older", 150, at=AT + 10 * MINUTE))
    control = world.world.control
    assert isinstance(control, Replicas)
    leader, standby = control.all
    assert (leader.leads, standby.leads) == (True, False)
    assert standby.disk.accepted.version == 2
    assert standby.process is not None
    held = control.scene.store.get(ACCEPTED)
    assert held is not None
    control.scene.store.put(ACCEPTED, b"1", expected=held.revision)
    found = standby.process.follower.look()
    assert (found.version, found.trusted) == (2, False)


def test_about_sixty_instances_stand() -> None:
    assert 45 <= len(lived().world.cloud.state.records) <= 90


def test_the_quiet_end_begins_before_the_history_ends() -> None:
    chronicle = lived().chronicle
    assert START < chronicle.quiet_from < chronicle.end == START + HOURS * HOUR
    quiet = [look.at for look in chronicle.looks if look.at >= chronicle.quiet_from]
    assert quiet
    assert [at for at, _ in chronicle.room if at >= chronicle.quiet_from] == quiet


def test_the_hook_hears_of_every_cycle_of_a_leader() -> None:
    heard: list[int] = []
    world = hunted(1, 1 / 24, (), small(), after=lambda chronicle: heard.append(len(chronicle.looks)))
    run, chronicle = world.run()
    assert heard == list(range(1, len(chronicle.looks) + 1))
    assert run.decisions in (len(heard), len(heard) - 1)


# -- each kind does what it says --------------------------------------------------------------------------------------

Seen = Callable[[HuntedWorld], bool]


def _ended(cause: EndCause, kind: NoticeKind | None = None) -> Seen:
    def seen(world: HuntedWorld) -> bool:
        found = [e for e in world.chronicle.ended if e.cause is cause]
        return any(kind is None or (e.noticed is not None and e.noticed.kind is kind) for e in found)

    return seen


def _unanswered(world: HuntedWorld) -> bool:
    return any(not act.answered for act in world.chronicle.acts if act.at >= AT)


def _look(**wanted: object) -> Seen:
    def seen(world: HuntedWorld) -> bool:
        looks = [look for look in world.chronicle.looks if look.at >= AT]
        return any(all(getattr(look, name) == value for name, value in wanted.items()) for look in looks)

    return seen


def _killed(how: str) -> Seen:
    return lambda world: any(what == how for _, _, what in world.chronicle.killed)


def _led_by_b(world: HuntedWorld) -> bool:
    return any(led.replica == "b" and led.at > AT for led in world.chronicle.led)


def _commits(world: HuntedWorld) -> bool:
    return len(world.chronicle.reviewed) > 2


def _hidden(world: HuntedWorld) -> bool:
    return any(look.hidden for look in world.chronicle.looks)


DOMAIN, HALL = "h2-general-a", "h3"
ALONE: dict[tuple[str, float, str, int], Seen] = {
    ("reclaim", 30, DOMAIN, 80): _ended(EndCause.RECLAIMED, NoticeKind.RECLAIM),
    ("hall_wave", 30, HALL, 100): _ended(EndCause.RECLAIMED, NoticeKind.RECLAIM),
    ("two_halls", 30, "h2,h3", 100): lambda w: (
        len({r.id for _, r in w.chronicle.reclaims}) == 1 and len(w.chronicle.reclaims[0][1].domains) == 4
    ),
    ("drought", 60, "h1,h2,h3,h4", 95): lambda w: any(act.paid == "fallback" for act in w.chronicle.acts),
    ("power_wave", 30, "h1-general-a,h2-general-a", 100): _ended(EndCause.LOST),
    ("withdrawn", 10, DOMAIN, 90): lambda w: any(n.withdrawn for _, n in w.chronicle.given),
    ("host_loss", 30, DOMAIN, 60): lambda w: any(e.cause is EndCause.LOST and e.told for e in w.chronicle.ended),
    ("silent_loss", 30, DOMAIN, 60): lambda w: any(not e.told for e in w.chronicle.ended),
    ("maintenance", 40, DOMAIN, 2): _ended(EndCause.MAINTENANCE, NoticeKind.MAINTENANCE),
    ("migration", 1, DOMAIN, 80): lambda w: bool(w.chronicle.moved),
    ("drill", 5, DOMAIN, 1): lambda w: any(n.kind is NoticeKind.DRILL for _, n in w.chronicle.given),
    ("false_advisory", 30, DOMAIN, 0): lambda w: not w.chronicle.given,
    ("spool_stuck", 60, "", 0): lambda w: max(look.pending for look in w.chronicle.looks) > 0,
    ("people_stop", 30, "", 0): lambda w: [s.reason != "" for s in w.chronicle.stops] == [True, False],
    ("listing_half", 20, "", 60): _hidden,
    ("listing_lying", 20, "", 0): lambda w: any(
        look.at - look.listed_at > MINUTE for look in w.chronicle.looks if look.listed_at
    ),
    ("listing_stale", 20, "", 0): _look(whole=frozenset()),
    ("listing_partial", 20, "ebbtide-north", 50): _look(whole=frozenset({"ebbtide-north-b"})),
    ("signals_silent", 20, "", 0): _look(told=False),
    ("api_down", 30, "", 0): _look(told=False, listed_at=0),
    ("scheduler_silent", 30, "north-slurm", 0): _look(silent=frozenset({"north-slurm"})),
    ("scheduler_stale", 30, "", 0): _look(silent=frozenset({"north-k8s", "north-slurm"})),
    ("git_unreachable", 30, "", 0): _look(git=False),
    ("git_rewritten", 30, "", 0): _look(git=False),
    ("git_unsigned", 30, "", 0): _look(git=False),
    ("clock_forward", 30, "", 3600): _led_by_b,
    ("clock_back", 30, "", 3600): _led_by_b,
    ("disk_full", 30, "", 0): _look(disk=False),
    ("crash", 5, "before", 2): _killed("disk"),
    ("empty_disk", 5, "after", 2): _killed("empty"),
    ("journal_damaged", 5, "after", 2): _killed("disk"),
    ("commit_adoption", 8, DOMAIN, 2): lambda w: (
        {act.call for act in w.chronicle.acts if act.name.startswith("other-")} >= {Call.MARK, Call.UNMARK}
    ),
    ("pause", 20, "before", 1): _led_by_b,
    ("guest_pause", 20, "before", 1): _led_by_b,
    ("site_lost", 60, "", 0): lambda w: {led.replica for led in w.chronicle.led if led.at > AT} < {"a.2", "b.2"},
    ("control_down", 60, "", 0): lambda w: not [x for x in w.chronicle.looks if AT <= x.at < AT + 59 * MINUTE],
    ("standby_dies", 20, "", 0): lambda w: [name for _, name, _ in w.chronicle.killed] == ["b"],
    ("store_cut", 20, "", 0): _led_by_b,
    ("commit_maxima", 40, "", 60): _commits,
    ("commit_floors", 40, "forecast", 3): _commits,
    ("commit_removal", 40, "hindcast", 0): _commits,
    ("rate_change", 1, "", 0): lambda w: any(
        e.type is EventType.RATE_KNOWN and e.occurred_at == AT for e in w.chronicle.events["a"]
    ),
}


@pytest.mark.parametrize("key", ALONE, ids=lambda key: key[0])
def test_a_fault_alone_is_seen(key: tuple[str, float, str, int]) -> None:
    assert ALONE[key](one(*key)), key[0]


WAVE = Fault("reclaim", 1, AT + 3 * MINUTE, AT + 40 * MINUTE, DOMAIN, 100)
LOSS = Fault("host_loss", 1, AT + 3 * MINUTE, AT + 40 * MINUTE, DOMAIN, 100)
DURING: dict[tuple[str, str, int], Seen] = {
    ("boots_fail", "", 90): lambda w: any(
        e.type is EventType.INSTANCE_FAILED and e.cause.value in ("create_failed", "quota_exhausted")
        for e in w.chronicle.events["a"]
    ),
    ("boots_hang", "", 100): lambda w: any(
        e.type is EventType.INSTANCE_FAILED and e.cause.value == "never_joined" for e in w.chronicle.events["a"]
    ),
    ("never_joins", "", 100): lambda w: any(
        e.type is EventType.INSTANCE_FAILED and e.cause.value == "never_joined" for e in w.chronicle.events["a"]
    ),
    ("stop_midway", "", 2): lambda w: (
        [bool(stop.reason) for stop in w.chronicle.stops] == [True, False]
        and any(act.at == w.chronicle.stops[0].at for act in w.chronicle.acts)
    ),
    ("crash_midway", "before", 2): _killed("disk"),
    ("pause_midway", "before", 2): _led_by_b,
    ("create_doubled", "", 100): lambda w: (
        max(Counter(act.name for act in w.chronicle.acts if act.call is Call.CREATE and act.fresh).values()) == 2
    ),
    ("quota_cut", "ebbtide-north", 0): lambda w: "quota_exhausted" in refused(w) or bool(w.chronicle.acts),
    ("answer_lost", "", 100): _unanswered,
    ("api_late", "", 100): lambda w: any(
        not act.answered and act.at < AT + 60 * MINUTE + LATEST_MS for act in w.chronicle.acts if act.at >= AT
    ),
    ("api_lies", "", 100): lambda w: not acts(w.chronicle, Call.CREATE, AT, AT + 60 * MINUTE),
    ("notice_lost", "", 100): lambda w: words(w.chronicle)[NodeWord.HEARD] == 0 or not drained_for(w, WAVE),
    ("notice_doubled", "", 0): lambda w: max(heard_of(w, WAVE).values()) == 2,
    ("notice_late", "", 60): lambda w: bool(heard_of(w, WAVE)),
    ("signals_lost", "", 100): lambda w: not w.chronicle.given and bool(heard_of(w, WAVE)),
    ("signals_late", "", 0): lambda w: bool(w.chronicle.given),
    ("agent_dead", DOMAIN, 100): lambda w: words(w.chronicle)[NodeWord.UNCOVERED] > 0 and not drained_for(w, WAVE),
    ("agent_killed", "", 100): lambda w: words(w.chronicle)[NodeWord.COVERED] > words(w.chronicle)[NodeWord.JOINED],
}


def heard_of(world: HuntedWorld, wave: Fault) -> Counter[tuple[str, str]]:
    said = [n for n in world.chronicle.nodes if n.word is NodeWord.HEARD and n.notice.startswith(wave.name)]
    return Counter((node.name, node.notice) for node in said)


def drained_for(world: HuntedWorld, wave: Fault) -> list[str]:
    begun = [n for n in world.chronicle.nodes if n.word is NodeWord.DRAINING and wave.at <= n.at < wave.at + 2 * MINUTE]
    return [node.name for node in begun if any(name == node.name for name, _ in heard_of(world, wave))]


@pytest.mark.parametrize("key", DURING, ids=lambda key: key[0])
def test_a_fault_during_a_wave_is_seen(key: tuple[str, str, int]) -> None:
    kind, target, size = key
    assert DURING[key](two(fault(kind, 60, target, size), WAVE)), kind


def test_every_kind_is_tried_somewhere() -> None:
    """What these tests do not name alone lives in whole histories, and changes what happens there."""
    elsewhere = {
        "api_fails", "api_garbles", "api_slow", "race_lost", "quota_lie", "quota_silent", "rates_silent",
        "forward_silent", "listing_doubled", "listing_no_id", "listing_garbled", "no_client_token", "notice_forged",
        "notice_reordered", "scheduler_forgets", "signals_doubled", "signals_forged",
        "signals_reordered", "store_answer_lost", "store_lost", "store_restored", "store_silent", "strangers",
        "git_older",
    }  # fmt: skip
    assert {key[0] for key in ALONE} | {key[0] for key in DURING} | elsewhere == set(KINDS)


# -- what some of them must never lead to -----------------------------------------------------------------------------


def test_a_forged_notice_of_another_instance_drains_nobody() -> None:
    world = one("notice_forged", 1, "", 6)
    assert not [n for n in world.chronicle.nodes if n.word is NodeWord.DRAINING and n.at == AT]
    assert not world.chronicle.given


def test_forged_ends_and_notices_of_strangers_touch_no_server() -> None:
    world = two(fault("strangers", 1, "ebbtide-north", 4), fault("signals_forged", 40, "", 5))
    strangers = [r.server for r in world.world.cloud.state.records.values() if r.server.created_at == AT]
    assert len(strangers) == 4
    assert not {act.server for act in world.chronicle.acts} & {server.id for server in strangers}


def test_a_provider_that_takes_no_client_token_makes_twins_of_a_create_that_is_asked_again() -> None:
    begins = START + 1000
    world = lived(
        fault("no_client_token", 20, at=begins),
        fault("answer_lost", 5, "", 100, at=begins),
        fault("listing_lying", 10, at=begins),
    )
    made = Counter(act.name for act in world.chronicle.acts if act.call is Call.CREATE and act.fresh)
    assert max(made.values()) > 1


def test_a_paused_leader_lets_one_call_slip_at_most() -> None:
    """After the pause its call in flight takes effect; the next one does not go out."""
    world = lived(fault("pause", 20, "before", 1), LOSS)
    deposed = world.chronicle.acts
    since = next(led.at for led in world.chronicle.led if led.replica == "b")
    assert sum(act.replica == "a" and act.at > since and act.epoch == 1 for act in deposed) <= 1


def test_a_call_in_the_middle_of_which_its_caller_stood_still_says_when_it_was_begun() -> None:
    world = lived(fault("pause_midway", 20, "before", 3), LOSS)
    (act,) = (act for act in world.chronicle.acts if act.sent_at)
    assert act.at == AT + 20 * MINUTE
    assert LOSS.at < act.sent_at < LOSS.at + MINUTE


def test_a_new_leader_waits_the_term_and_one_call_after_a_crash() -> None:
    world = lived(fault("control_down", 20))
    back = AT + 20 * MINUTE
    led = next(led for led in world.chronicle.led if led.at > back and not led.renewed)
    assert led.at >= back + TERMS.term + TERMS.call


def test_agents_that_are_killed_in_a_drain_go_on_with_it_from_their_journal() -> None:
    world = two(fault("agent_killed", 60, "", 100), WAVE)
    heard = {name for name, _ in heard_of(world, WAVE)}
    ends = {n.name for n in world.chronicle.nodes if n.word in (NodeWord.VERIFIED, NodeWord.OVERRUN)}
    assert heard & ends


def test_what_the_stream_hid_from_the_reconciler_the_nodes_heard_all_the_same() -> None:
    world = two(fault("signals_lost", 60, "", 100), WAVE)
    assert drained_for(world, WAVE)


@pytest.mark.parametrize(
    ("before", "read", "now", "has_jumped"),
    [
        (None, 22_000, 22_000, False),  # a process that starts has nothing to compare with
        (None, 0, 22_000, True),  # it was set after the look had begun: the brake sees it before each step
        (0, 22_000, 22_000, True),
        (0, 0, 22_000, True),
        (0, 0, 0, False),  # so is the look after that one, where it was set right again in between
        (22_000, 0, 0, True),
        (0, 2_000, 2_000, False),
    ],
)
def test_a_clock_jumped_where_it_moved_since_the_process_read_it_for_its_last_look(
    before: int | None, read: int, now: int, has_jumped: bool
) -> None:
    assert jumped(before, read, now) is has_jumped
