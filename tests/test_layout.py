"""The layout table: where files belong, what they may be called, and names across files."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.errors import Place
from contracts.findings import Finding
from repo_layout.codes import RULES
from repo_layout.layout import Kind, Located, Named, disagreement, duplicates, locate


@pytest.mark.parametrize(
    ("path", "kind", "scope", "name"),
    [
        ("ebbtide.yaml", Kind.SETTINGS, "", "ebbtide"),
        ("directory.yaml", Kind.DIRECTORY, "", "directory"),
        ("contracts/search/indexer.yaml", Kind.CONTRACT, "search", "indexer"),
        ("pools/north/hall-a-general.yaml", Kind.POOL, "north", "hall-a-general"),
        ("correlation_groups/north/hall-a.yaml", Kind.CORRELATION_GROUP, "north", "hall-a"),
        ("approvals/2026-03-01-search-budget.yaml", Kind.APPROVAL, "", "2026-03-01-search-budget"),
        ("adoptions/north/old-batch.yaml", Kind.ADOPTION, "north", "old-batch"),
        ("waivers/north/gpu-large.yaml", Kind.WAIVER, "north", "gpu-large"),
    ],
)
def test_a_file_in_its_folder_has_its_kind(path: str, kind: Kind, scope: str, name: str) -> None:
    assert locate(path) == Located(kind, path, name, scope)


@pytest.mark.parametrize(
    "path",
    ["README.md", "pools/README.md", "CODEOWNERS", ".github/workflows/x.yml", ".gitlab/CODEOWNERS", "docs/a/b.png"],
)
def test_files_for_people_and_code_hosts_are_ignored(path: str) -> None:
    assert locate(path) is None


@pytest.mark.parametrize(
    ("path", "code", "said"),
    [
        ("contracts/indexer.yaml", "EBT-130", "a folder too high"),
        ("contracts/search/eu/indexer.yaml", "EBT-130", "too deep"),
        ("approvals/north/2026-03-01-x.yaml", "EBT-130", "too deep"),
        ("contract/search/indexer.yaml", "EBT-131", 'no kind of file lies in "contract/"'),
        ("indexer.yaml", "EBT-131", "at the root"),
        ("contracts/search/indexer", "EBT-131", "no file of a known kind"),
        ("contracts/search/run.sh", "EBT-131", "no file of a known kind"),
        ("contracts/search/indexer.yml", "EBT-132", 'the extension is ".yml"'),
        ("contracts/search/indexer.YAML", "EBT-132", 'the extension is ".YAML"'),
        ("ebbtide.yml", "EBT-132", "not named ebbtide.yaml"),
        ("contracts/Search/indexer.yaml", "EBT-133", "did you mean search?"),
        ("contracts/search/index\u0435r.yaml", "EBT-133", "U+0435 CYRILLIC SMALL LETTER IE"),
        ("pools/north/hall_a.yaml", "EBT-133", "did you mean hall-a?"),
        ("approvals/budget.yaml", "EBT-133", "a date such as 2026-03-29"),
        ("approvals/2026-02-30-x.yaml", "EBT-133", "a day of the calendar"),
        ("approvals/2026-03-01.yaml", "EBT-133", "the subject is missing"),
        ("contracts/search/.yaml", "EBT-131", ""),
    ],
)
def test_a_file_elsewhere_or_misnamed_is_one_finding(path: str, code: str, said: str) -> None:
    finding = locate(path)
    assert isinstance(finding, Finding)
    assert (finding.code, finding.place) == (code, Place(path))
    assert said in finding.message
    assert finding.expected


def test_a_near_folder_name_is_offered() -> None:
    finding = locate("contract/search/indexer.yaml")
    assert isinstance(finding, Finding)
    assert finding.hint == "did you mean contracts/?"


@given(
    st.text(min_size=1, max_size=30) | st.lists(st.sampled_from(["contracts", "a", ".", ".yaml", "é"])).map("/".join)
)
@settings(max_examples=200, deadline=None)
def test_any_path_is_located_ignored_or_a_finding(path: str) -> None:
    outcome = locate(path)
    assert outcome is None or isinstance(outcome, Located) or outcome.code in RULES


def test_a_name_inside_that_differs_from_the_path_is_found_where_it_stands() -> None:
    place = Place("contracts/search/indexer.yaml", 2, 7)
    finding = disagreement(place, field="name", seen="indexr", wanted="indexer")
    assert finding is not None
    assert (finding.code, finding.place, finding.seen, finding.expected) == ("EBT-134", place, "indexr", "indexer")
    assert disagreement(place, field="name", seen="indexer", wanted="indexer") is None


def test_a_repeated_name_is_found_at_each_repetition_and_names_the_first() -> None:
    first, second, third = (Place(f"contracts/{team}/web.yaml", 2, 7) for team in ("a", "b", "c"))
    names = [Named(Kind.CONTRACT, "web", place) for place in (third, first, second)]
    findings = duplicates([*names, Named(Kind.POOL, "web", Place("pools/r/web.yaml"))])
    assert [finding.place for finding in findings] == [second, third]
    assert all(str(first) in finding.message and finding.code == "EBT-135" for finding in findings)


def test_a_name_may_repeat_where_it_need_be_unique_within_its_region_only() -> None:
    names = [Named(Kind.POOL, "hall-a", Place(f"pools/{region}/hall-a.yaml"), region) for region in ("n", "s")]
    assert duplicates(names) == ()
