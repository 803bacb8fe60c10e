"""The story of a broken history, against one that was reviewed, and what it must never leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest  # noqa: TC002 - as in every other test

from ledger.causes import Cause
from ledger.events import EventType
from pools.provider import Mark, Notice, NoticeKind
from reconciler.drafts import Scribe
from simulation.check_reading import Broken
from simulation.chronicle import Act, Call, Chronicle, Ended, Led, Look, Node, NodeWord
from simulation.cloud_model import EndCause
from simulation.faults import Fault
from simulation.hunt import History, Question
from simulation.transcript import transcript

GOLDEN = Path(__file__).parents[1] / "golden" / "hunt" / "two_servers.txt"
BEGAN = 1_767_225_600_000
SECOND, MINUTE, HOUR = 1000, 60_000, 3_600_000
FIRST, SECOND_REPLICA = "replica-1", "replica-2"
TWICE = "eb-north-1-000007"


def look(minute: int, replica: str = FIRST, **more: object) -> Look:
    told: dict[str, object] = {
        "epoch": 1, "leads": True, "whole": frozenset({"north-a", "north-b"}), "listed_at": BEGAN + minute * MINUTE,
        "told": True, "silent": frozenset(), "git": True, "clock": True, "disk": True, "pending": 0, "stopped": "",
    }  # fmt: skip
    return Look(BEGAN + minute * MINUTE, replica, **(told | more))  # type: ignore[arg-type]  # the dataclass checks the names


def create(at: int, number: int, *, server: str = "", replica: str = FIRST, **more: object) -> Act:
    name = f"eb-north-1-{number:06d}"
    made = Act(at, replica, 1, Call.CREATE, name, server or f"server-{number}", "north-a", f"pool-{number % 3}",
               "forecast", 1, "reclaimable")  # fmt: skip
    return replace(made, **more)  # type: ignore[arg-type]  # the dataclass checks the names


def chronicle() -> Chronicle:
    """A create whose answer is lost, a crash, and a second server under the same name; fair weather before."""
    crash, lost = BEGAN + 3 * HOUR, BEGAN + 3 * HOUR - 2 * MINUTE
    notice = Notice(
        "n-1", "server-3", "eb-north-1-000003", "pool-0", "rc-9", NoticeKind.RECLAIM, lost, lost + 2 * MINUTE
    )
    mark = Mark("small", "north", "eb-north-1-000003", 1, "forecast", 1, "reclaimable")
    scribe = Scribe("north", BEGAN + 5 * MINUTE, "c0ffee", 1)
    asked = [
        scribe.event(EventType.INSTANCE_REQUESTED, f"r{number}", Cause.CLAIM_GREW, pool="pool-1", workload="forecast",
                     instance=f"eb-north-1-{number:06d}", data={"units": 1, "paid": "reclaimable"})
        for number in range(1, 7)
    ]  # fmt: skip
    return Chronicle(
        faults=(
            Fault("answer_lost", 1, lost, lost + 10 * MINUTE, size=80),
            Fault("crash", 2, crash, crash + 4 * MINUTE, "after", 3),
        ),
        acts=[
            *(create(BEGAN + 5 * MINUTE, number) for number in range(1, 7)),
            create(lost + 90 * SECOND, 7, answered=False),
            create(crash + 5 * MINUTE, 7, server="server-8", replica=SECOND_REPLICA, epoch=2),
        ],
        looks=[
            *(look(minute) for minute in range(5, 178, 5)),
            look(178, whole=frozenset({"north-b"}), listed_at=BEGAN + 170 * MINUTE),
            look(184, SECOND_REPLICA, epoch=2, told=False),
        ],
        led=[Led(BEGAN, FIRST, 1), Led(crash + 3 * MINUTE, SECOND_REPLICA, 2)],
        killed=[(crash, FIRST, "disk")],
        wanted=[(BEGAN, "forecast", 6), (lost, "forecast", 7)],
        given=[(lost, notice)],
        nodes=[
            Node(lost + 400, "server-3", "eb-north-1-000003", NodeWord.HEARD, lost + 2 * MINUTE, "n-1"),
            Node(lost + 50 * SECOND, "server-3", "eb-north-1-000003", NodeWord.VERIFIED),
        ],
        ended=[Ended(lost + 2 * MINUTE, "server-3", "eb-north-1-000003", mark, EndCause.RECLAIMED, notice)],
        events={FIRST: asked},
        quiet_from=crash + 4 * MINUTE,
        end=BEGAN + 6 * HOUR,
    )


def broken_history() -> History:
    at = BEGAN + 3 * HOUR + 5 * MINUTE
    sentence = f"{TWICE} has two servers, server-7 and server-8"
    return History(
        Question(41, 0.25, ("answer_lost#1", "crash#2")), BEGAN, chronicle(), (Broken(at, "owners", sentence),)
    )


def test_the_story_reads_as_the_reviewed_one(request: pytest.FixtureRequest) -> None:
    text = "\n".join(transcript(broken_history())) + "\n"
    if request.config.getoption("--rewrite-golden", default=False):
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8"), "the story reads otherwise; see --rewrite-golden"


def test_every_line_about_the_broken_instance_and_its_servers_is_marked() -> None:
    told = transcript(broken_history())
    about = [line for line in told if TWICE in line and "creates" in line]
    assert len(about) == 2
    assert all(line.startswith(">") for line in about)
    assert not any(line.startswith(">") for line in told if "eb-north-1-000003" in line)


def test_faults_leases_deaths_and_what_is_not_seen_are_told_however_long_before() -> None:
    text = "\n".join(transcript(broken_history()))
    for told in ("takes the lease with epoch 1", "DIES", "crash#2 begins", "no whole listing of north-a", "answer"):
        assert told in text
    assert "00:05:00.000  replica-1  creates" not in text  # three hours before, and about nobody who matters
    assert "this hour besides" in text


def test_a_history_in_which_nothing_broke_tells_its_end() -> None:
    history = History(Question(41), BEGAN, chronicle())
    told = transcript(history)
    assert "broken  nothing" in told
    assert not any(line.startswith(">") for line in told)
