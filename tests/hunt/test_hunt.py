"""What a hunt makes of histories: small failing ones, sums, the corpus; and the same whatever number of processes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from contracts.errors import Refused
from ebbtide.hunting import hunters
from simulation.hunt import Outcome, Question, Shrunk, corpus, outcome, read_corpus, smallest, tally, to_shrink
from tests.hunt.stand_in import StandIn, stand_in


def found(seed: int, **more: object) -> Outcome:
    return outcome(StandIn().live(replace(Question(seed), **more)))  # type: ignore[arg-type]  # the dataclass checks


def shrunk_of(failed: Outcome, **more: int) -> Shrunk:
    return smallest(StandIn(), failed, failed.first[0], **more)


def without_time(outcomes: list[Outcome]) -> list[Outcome]:
    return [replace(one, seconds=0.0) for one in outcomes]


def test_processes_side_by_side_find_what_one_finds() -> None:
    questions = [Question(seed) for seed in range(1, 16)]
    heard: list[int] = []
    with hunters(stand_in, jobs=1) as alone:
        serial = alone.outcomes(questions, lambda one: heard.append(one.question.seed))
        causes = alone.causes(to_shrink(tally(serial).failing), budget=60, told=lambda _: None)
    with hunters(stand_in, jobs=3) as several:
        parallel = several.outcomes(questions, lambda _: None)
        others = several.causes(to_shrink(tally(parallel).failing), budget=60, told=lambda _: None)
    assert heard == list(range(1, 16))
    assert without_time(serial) == without_time(parallel)
    assert [(c.shrunk, c.story) for c in causes] == [(c.shrunk, c.story) for c in others]


def test_a_failing_history_shrinks_to_the_faults_that_break_it_and_its_command_repeats_it() -> None:
    shrunk = shrunk_of(found(5))
    assert set(shrunk.reduced.faults) == {"crash#2", "listing_stale#1"}
    assert shrunk.reduced.minimal
    assert shrunk.broken.checker == "bounds"
    assert shrunk.question.days == 1.0  # so that the seed draws the same
    assert 4 / 24 <= shrunk.question.until < 0.25
    assert "--faults crash#2,listing_stale#1" in shrunk.question.command
    assert [one.checker for one in StandIn().live(shrunk.question).broken] == ["bounds"]


def test_a_history_that_fails_without_faults_says_none() -> None:
    shrunk = shrunk_of(found(7))
    assert shrunk.question.faults == ("none",)
    assert shrunk.question.until >= 0.75


def test_shrinking_follows_one_promise_and_no_other() -> None:
    shrunk = shrunk_of(found(35))
    assert shrunk.broken.checker == "bounds"
    assert set(shrunk.reduced.faults) == {"crash#2", "listing_stale#1"}


def test_nothing_to_cut_leaves_the_words_as_they_were_typed() -> None:
    failed = found(5, faults=("crash#2", "listing_stale#1"), until=0.18)
    assert shrunk_of(failed, budget=0).question == failed.question


def test_a_hunt_counts_days_breaches_and_kinds() -> None:
    summed = tally([found(seed) for seed in range(1, 11)])
    assert (summed.histories, summed.days, summed.breaches) == (10, 10.0, 3)
    assert [one.question.seed for one in summed.failing] == [5, 7, 10]
    assert summed.faults == {"crash": 80, "listing_stale": 80, "reclaim": 80}
    assert [(one.question.seed, broken.checker) for one, broken in to_shrink(summed.failing)] == [
        (5, "bounds"),
        (7, "liveness"),
    ]


@pytest.mark.parametrize(
    ("question", "command"),
    [
        (Question(7), "ebbtide simulate --seed 7 --days 1 --faults all"),
        (
            Question(7, 0.5, ("crash#2", "disk_full"), "full", "cadiz", 0.25),
            "ebbtide simulate --seed 7 --days 0.5 --until 0.25 --faults crash#2,disk_full --size full --region cadiz",
        ),
    ],
)
def test_a_question_is_one_command(question: Question, command: str) -> None:
    assert question.command == command


def test_a_line_of_the_corpus_is_a_question_with_its_reason() -> None:
    told = list(
        read_corpus("# comment\n\n7 0.5 small crash#2,listing_stale two servers for one name\n9 1/0.25 full all why\n")
    )
    assert told[0].question == Question(7, 0.5, ("crash#2", "listing_stale"))
    assert told[0].why == "two servers for one name"
    assert told[1].question == Question(9, 1.0, ("all",), "full", until=0.25)


@pytest.mark.parametrize("line", ["7 0.5 small all", "x 1 small all why", "7 soon small all why", "7 1 huge all why"])
def test_a_line_that_is_none_is_refused_with_its_number(line: str) -> None:
    with pytest.raises(Refused, match="line 1 of the corpus"):
        list(read_corpus(line))


def test_the_corpus_names_each_history_once_with_a_reason() -> None:
    kept = corpus()
    assert kept
    assert len({one.question for one in kept}) == len(kept)
    assert all(one.why for one in kept)
