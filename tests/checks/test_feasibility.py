"""Rules across files: what is refused, with which numbers, and what is left to the rule that is to blame."""

from __future__ import annotations

import pytest

from contracts.errors import Place
from contracts.findings import Severity, exit_code
from repo_layout.codes import FEASIBILITY
from repo_layout.feasibility import RULES
from tests.checks.estates import (
    FORECAST,
    GENERAL,
    HINDCAST,
    changed,
    findings_of,
    in_hall_1,
    judged,
    minimal,
    with_lines,
)

WAIVER = """apiVersion: ebbtide/v1
kind: Waiver
region: north
class: x86-64
pools: 6
poolShare: 20
groupShare: 40
reason: One hall is being rebuilt.
approver: head-of-cloud
expires: 2027-12-31
"""


def test_the_table_and_the_list_of_codes_are_the_same() -> None:
    assert [rule.code for rule in RULES] == sorted(FEASIBILITY)
    assert {rule.code: rule.title for rule in RULES} == FEASIBILITY


def test_a_drain_of_112_s_fits_two_minutes_and_113_s_does_not() -> None:
    fits = with_lines(FORECAST, "drain: {budget: 112s, how: evict}\n")
    assert findings_of(fits) == ()
    (finding,) = findings_of(with_lines(FORECAST, "drain: {budget: 113s, how: evict}\n"))
    assert (finding.code, finding.place) == ("EBT-201", Place(FORECAST, 14, 17))
    for number in ("121 s", "113 s budget", "1 s relay", "2 s reaction", "5 s verification", "8 of 8 pools", "120 s"):
        assert number in finding.message
    assert finding.expected == "at most 112s for all of these pools"


def test_one_pool_with_a_short_notice_is_left_out_and_blamed_for_the_spread() -> None:
    files = changed(GENERAL, ("hosts:", "noticeWindow: 30s\nhosts:"))
    by_code = {finding.place.file: finding for finding in findings_of(files)}
    assert {finding.code for finding in by_code.values()} == {"EBT-201"}
    assert "h1-general-a-4x16 30 s" in by_code[FORECAST].message
    assert "the 7 that are left" in by_code[FORECAST].message


def test_pools_with_a_short_notice_are_no_fault_while_enough_are_left() -> None:
    more = {
        f"pools/north/h1-general-{extra}.yaml": minimal()[GENERAL]
        .replace(b"h1-general-a", f"h1-general-{extra}".encode())
        .replace(b"hosts:", f"noticeWindow: {window}\nhosts:".encode())
        for extra, window in (("c", "30s"), ("d", "20s"))
    }
    assert findings_of(in_hall_1(minimal() | more, "h1-general-c", "h1-general-d")) == ()


def test_a_lost_hall_says_how_many_domains_are_asked_for_and_offered() -> None:
    findings = findings_of(with_lines(FORECAST, "eligibility: {avoidHalls: [h2]}\n"))
    (finding,) = findings
    assert (finding.code, finding.place.line) == ("EBT-202", 10)
    assert "8 capacity domains are asked for and 6 are eligible" in finding.message
    assert "waivers/north/x86-64.yaml" in finding.hint


def test_a_waiver_widens_the_bound_and_shows_the_largest_loss() -> None:
    files = with_lines(FORECAST, "eligibility: {avoidHalls: [h2]}\n") | {"waivers/north/x86-64.yaml": WAIVER.encode()}
    verdict = judged(files)
    notes = {finding.place.file: finding for finding in verdict.findings}
    assert {(finding.code, finding.severity) for finding in notes.values()} == {("EBT-220", Severity.NOTE)}
    assert "can lose 15 of 36 interruptible units (41 %) at once, with hall hall-1" in notes[FORECAST].message
    assert exit_code(verdict.findings) == 0
    assert not verdict.refused


def test_a_small_workload_asks_for_no_more_pools_than_it_has_units() -> None:
    files = changed(FORECAST, ("maximum: 40", "maximum: 10"))
    assert findings_of(files | with_lines(FORECAST, "eligibility: {avoidHalls: [h2]}\n", files)) == ()


def test_floors_are_counted_in_whole_instances_of_the_committed_pools() -> None:
    assert findings_of(changed(FORECAST, ("floor: 4\nminimum: 8", "floor: 32"))) == ()
    (finding,) = findings_of(changed(FORECAST, ("floor: 4\nminimum: 8", "floor: 33")))
    assert (finding.code, finding.place) == ("EBT-203", Place(FORECAST, 11, 8))
    assert "33 units are asked for" in finding.message
    assert "1 of its 33 find no room" in finding.message


def test_two_floors_share_the_committed_capacity() -> None:
    files = changed(FORECAST, ("floor: 4\nminimum: 8", "floor: 20"))
    files = with_lines(HINDCAST, "floor: 13\n", files)
    (finding,) = findings_of(files)
    assert (finding.code, finding.place.file) == ("EBT-203", HINDCAST)
    assert "1 of its 13 find no room" in finding.message


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("authority: tides-lead", "authority: tides-oncall", "is a role"),
        ("authority: tides-lead", "authority: tides-leed", "there is no directory entry tides-leed"),
        ("authority: tides-lead", "authority: head-of-cloud", "no spend authority"),
        ("approver: head-of-cloud", "approver: nobody", "there is no directory entry nobody"),
        ("owner: tides-lead", "owner: tides-led", "there is no directory entry tides-led"),
        ("contact: tides-oncall", "contact: pager", "there is no directory entry pager"),
    ],
)
def test_people_are_known_and_within_their_authority(old: str, new: str, message: str) -> None:
    swaps = [(old, new)]
    if new == "authority: head-of-cloud":
        swaps.append(("approver: head-of-cloud", "approver: tides-lead"))
    findings = findings_of(changed(FORECAST, *swaps))
    assert {finding.code for finding in findings} == {"EBT-204"}
    assert any(message in finding.message for finding in findings)


def test_an_approval_and_a_waiver_carry_the_word_of_a_person_and_not_of_a_role() -> None:
    approval = "approvals/2026-03-02-forecast.yaml"
    files = changed(approval, ("approver: head-of-cloud", "approver: tides-oncall"))
    files = with_lines(FORECAST, "eligibility: {avoidHalls: [h2]}\n", files)
    files["waivers/north/x86-64.yaml"] = WAIVER.replace("head-of-cloud", "tides-oncall").encode()
    told = {f.place.file: f.message for f in findings_of(files) if f.code == "EBT-204"}
    assert told == dict.fromkeys(
        (approval, "waivers/north/x86-64.yaml"), "tides-oncall is a role, and only a person gives their word"
    )


def test_a_limit_at_the_authority_is_allowed() -> None:
    assert findings_of(changed(FORECAST, ('"20.00 EUR"', '"40.00 EUR"'))) == ()


@pytest.mark.parametrize(
    ("path", "old", "new", "hint"),
    [
        (FORECAST, "cluster: north-k8s", "cluster: nort-k8s", "did you mean north-k8s?"),
        (FORECAST, "cluster: north-k8s", "cluster: north-slurm", ""),
        (GENERAL, "hall: h1", "hall: h9", ""),
        (GENERAL, "project: ebbtide-north", "project: ebbtide-nort", "did you mean ebbtide-north?"),
        ("adoptions/north/old-forecast.yaml", "workload: forecast", "workload: forecats", "did you mean forecast?"),
        ("correlation_groups/north/hall-3.yaml", "h3-general-b]", "h3-general-c]", "did you mean h3-general-b?"),
        ("correlation_groups/north/hall-3.yaml", "h3-general-b]", "h3-general-b, h3-general-b]", ""),
        (
            "ebbtide.yaml",
            "teams:",
            "pauses: [{scope: workload, name: hindcasts, reason: audit}]\nteams:",
            "did you mean hindcast?",
        ),
    ],
)
def test_names_are_declared_somewhere(path: str, old: str, new: str, hint: str) -> None:
    findings = findings_of(changed(path, (old, new)))
    told = [finding for finding in findings if finding.code == "EBT-206"]
    assert [(finding.place.file, finding.hint) for finding in told] == [(path, hint)], findings


def test_a_broken_file_does_not_make_others_look_wrong() -> None:
    """Without the pool file its domain is unknown and the spread too small, and neither is anybody's fault."""
    findings = findings_of(changed(GENERAL, ("hall: h1\n", "")))
    assert [(finding.code, finding.place.file) for finding in findings] == [("EBT-119", GENERAL)]
    findings = findings_of(minimal() | {"directory.yaml": b"entries: [\n"})
    assert {finding.place.file for finding in findings} == {"directory.yaml"}


def test_rules_that_do_not_need_the_broken_file_are_still_asked() -> None:
    files = changed(GENERAL, ("hall: h1\n", ""))
    files = changed(FORECAST, ("authority: tides-lead", "authority: tides-leed"), files=files)
    assert {finding.code for finding in findings_of(files)} == {"EBT-119", "EBT-204"}


def test_no_settings_no_rules_across_files_and_no_estate() -> None:
    verdict = judged({path: content for path, content in minimal().items() if path != "ebbtide.yaml"})
    assert verdict.estate is None
    assert [finding.code for finding in verdict.findings] == ["EBT-125"]


def test_an_empty_commit_is_no_estate() -> None:
    assert {finding.code for finding in findings_of({})} == {"EBT-125"}
