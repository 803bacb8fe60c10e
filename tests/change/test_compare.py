"""Two commits side by side: the same verdicts as one by one, and the files that make up a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.findings import Fault
from repo_layout.change import Turn
from repo_layout.compare import Compared, FileChange, compare, file_changes
from repo_layout.consent import Ask, Asked, asked
from repo_layout.load import Known
from repo_layout.schema_layer import NoSchema, SchemaVerdict
from repo_layout.source import Source
from repo_layout.tree import Tree
from repo_layout.validate import estate_before, validate
from tests.change.edits import EDITS, WAIVER, Files, add, copied, drop, edited, swap
from tests.checks.estates import FORECAST, HINDCAST, minimal

some_edits = st.lists(st.sampled_from(sorted(EDITS)), unique=True, max_size=4)


def tree(files: Files) -> Tree:
    return Tree("worktree", dict(sorted(files.items())))


def compared(base: Files, head: Files) -> Compared:
    return compare(tree(base), tree(head), cue=NoSchema())


@dataclass
class Recording:
    """A schema checker that finds what it is told to, and remembers what it was asked."""

    bad: frozenset[str] = frozenset()
    asked: list[list[str]] = field(default_factory=list)

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        self.asked.append([source.file for source in sources])
        faults: Mapping[str, tuple[Fault, ...]] = {
            source.file: (Fault((), "EBT-120", "wrong"),) for source in sources if source.file in self.bad
        }
        return SchemaVerdict(faults)


@settings(max_examples=25)
@given(before=some_edits, now=some_edits)
def test_side_by_side_each_side_is_judged_as_if_alone(before: list[str], now: list[str]) -> None:
    base, head = (edited(*(EDITS[name] for name in names)) for names in (before, now))
    both = compared(base, head)
    assert both.base.findings == validate(tree(base), cue=NoSchema()).findings
    assert {(f.code, f.place) for f in both.head.findings} == {
        (f.code, f.place) for f in validate(tree(head), cue=NoSchema()).findings
    }


def test_the_schema_is_asked_about_a_file_once_when_all_were_clean() -> None:
    checker = Recording()
    compare(tree(minimal()), tree(edited(EDITS["floor"])), cue=checker)
    assert [len(files) for files in checker.asked] == [len(minimal()), 1]
    assert checker.asked[1] == [FORECAST]


def test_the_schema_is_asked_about_everything_again_when_something_was_wrong() -> None:
    checker = Recording(frozenset({HINDCAST}))
    found = compare(tree(minimal()), tree(edited(EDITS["floor"])), cue=checker)
    assert [len(files) for files in checker.asked] == [len(minimal()), len(minimal())]
    assert found.effects is None
    assert found.base.refused
    assert found.head.refused


def test_files_of_the_same_estate_are_asked_about_once_in_all() -> None:
    checker = Recording()
    compare(tree(minimal()), tree(minimal()), cue=checker)
    assert len(checker.asked) == 1


def test_a_reformatted_file_is_told_to_say_the_same() -> None:
    found = compared(minimal(), edited(EDITS["comment"], EDITS["floor"], add("README.md", b"read\n")))
    assert found.quiet == ("directory.yaml",)


def test_a_contract_in_another_folder_has_moved() -> None:
    before, now = {"contracts/a/x.yaml": b"1", "b.txt": b"1"}, {"contracts/b/x.yaml": b"2", "c.txt": b"1"}
    assert file_changes(before, now) == (
        FileChange("b.txt", Turn.REMOVED),
        FileChange("c.txt", Turn.ADDED),
        FileChange("contracts/b/x.yaml", Turn.CHANGED, "contracts/a/x.yaml"),
    )


def test_an_estate_before_that_is_not_well_formed_is_none() -> None:
    assert estate_before(tree(minimal()), known=Known()) is not None
    assert estate_before(tree(edited(add(FORECAST, b"flor: 3\n"))), known=Known()) is None
    assert estate_before(tree(edited(drop("ebbtide.yaml"))), known=Known()) is None


def people(base: Files, head: Files) -> tuple[Asked, ...]:
    found = compared(base, head)
    assert found.effects is not None
    assert found.head.estate is not None
    return asked(found.effects, found.head.estate)


def test_who_approves_beyond_an_authority_is_asked_when_a_sum_grows_above_it() -> None:
    surge = copied(FORECAST, "contracts/tides/surge.yaml", "forecast", "surge")
    (one,) = people(edited(surge), edited(surge, swap(FORECAST, "20.00", "30.00")))
    assert one == Asked(("head-of-cloud",), Ask.SPEND, "tides-lead", ("50.00 EUR", "40.00 EUR"))
    assert people(edited(surge, swap(FORECAST, "20.00", "30.00")), edited(surge)) == ()


def test_an_estate_in_another_currency_asks_again_and_mixes_no_amounts() -> None:
    files = {path: text.replace(b" EUR", b" NOK").replace(b"currency: EUR", b"currency: NOK")
             for path, text in edited(swap(FORECAST, "20.00", "50.00")).items()}  # fmt: skip
    (one,) = (one for one in people(edited(swap(FORECAST, "20.00", "50.00")), files) if one.ask is Ask.SPEND)
    assert one == Asked(("head-of-cloud",), Ask.SPEND, "tides-lead", ("50.00 NOK", "40.00 NOK"))


def test_a_waiver_asks_the_person_whose_word_it_carries() -> None:
    waiver = add("waivers/north/x86-64.yaml", WAIVER)
    assert people(minimal(), edited(waiver)) == (Asked(("head-of-cloud",), Ask.WAIVER, "waiver/north/x86-64"),)
    assert people(edited(waiver), minimal()) == ()


def test_a_removal_asks_for_an_approval_until_one_comes_with_it() -> None:
    fewer = EDITS["fewer"]
    (bare,) = people(minimal(), edited(fewer))
    assert bare == Asked((), Ask.REMOVAL, "north", ("15", "64"))
    consent = minimal()["approvals/2026-03-02-forecast.yaml"].replace(b"2026-03-02", b"2026-03-05")
    found = people(minimal(), edited(fewer, add("approvals/2026-03-05-forecast.yaml", consent)))
    assert {one.ask for one in found} == {Ask.APPROVAL, Ask.REMOVAL}
    assert all(one.who for one in found)


def test_a_base_that_is_whole_and_a_change_that_is_not_have_no_effect_to_tell() -> None:
    found = compared(minimal(), edited(add(FORECAST, b"flor: 3\n")))
    assert (found.effects, found.head.estate) == (None, None)
