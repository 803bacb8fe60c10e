"""Whose change a finding is: what rests on others' files, the calendar or history refuses only what it rests on."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.findings import Finding, Severity
from repo_layout import change
from repo_layout.blame import Attributed
from repo_layout.feasibility import RULES, check
from repo_layout.load import assemble, judge, read
from repo_layout.model import Estate
from repo_layout.reach import Ground
from repo_layout.tree import Tree
from tests.checks.estates import (
    FORECAST,
    GENERAL,
    HINDCAST,
    INVALID,
    ROOT,
    assembled,
    changed,
    files_of,
    laid_over,
    minimal,
    with_lines,
)

SHARED = frozenset(rule.code for rule in RULES if rule.shared)
COMMITTED = "pools/north/h1-committed.yaml"
JULY = 1_782_907_200_000
"""Noon of 2026-07-01, UTC."""


def estate_of(files: Mapping[str, bytes], *, at: int = 0) -> Estate:
    return assembled(Tree("worktree", dict(files), committed_at=at))


def troubled_files() -> dict[str, bytes]:
    """The minimal estate with something wrong for most shared rules at once."""
    files = with_lines(FORECAST, "checkpoint: {mode: both, interval: 5m, size: 12GiB}\n")
    files = changed(HINDCAST, ("maximum: 24", "maximum: 60"), files=files)
    more = (
        "floor: 30",
        "tolerance: 0.01",
        "checkpoint: {mode: on-notice, size: 1GiB}",
        'fallback: {allowed: true, authority: tides-lead, limitPerDay: "39.00 EUR"}',
    )
    files = with_lines(HINDCAST, "".join(f"{line}\n" for line in more), files)
    swaps = (("ncuLimit: 400", "ncuLimit: 100"), ("    halls:", "    checkpointGateway: 1MiB\n    halls:"))
    files = changed("ebbtide.yaml", *swaps, files=files)
    for code in ("EBT-219", "EBT-221"):
        (sample,) = INVALID.glob(f"{code}-*")
        files |= {path: content for path, content in files_of(sample).items() if path.endswith(".yaml")}
    return files


TROUBLED = estate_of(troubled_files(), at=JULY)
KEYS = sorted(TROUBLED.sources)
EVERYTHING = check(TROUBLED)


def errors(findings: tuple[Finding, ...]) -> set[tuple[str, str]]:
    return {(f.code, f.message) for f in findings if f.severity is Severity.ERROR}


def severity(estate: Estate, code: str, touched: set[str]) -> Severity:
    """How the one finding of a code is weighed when a change touched some keys."""
    (found,) = {f.severity for f in check(estate, changed=frozenset(touched)) if f.code == code}
    return found


def test_the_troubled_estate_has_a_finding_of_most_shared_rules() -> None:
    assert {code for code, _ in errors(EVERYTHING)} >= {
        "EBT-203",
        "EBT-207",
        "EBT-215",
        "EBT-216",
        "EBT-217",
        "EBT-219",
        "EBT-221",
    }


def test_the_page_of_refusals_lists_the_shared_rules() -> None:
    text = (ROOT / "docs" / "refusals.md").read_text(encoding="utf-8")
    (paragraph,) = [part for part in text.split("\n\n") if part.startswith("Some rules weigh")]
    assert {f"EBT-{code}" for code in _numbers(paragraph)} == SHARED


def _numbers(paragraph: str) -> set[str]:
    listed = paragraph.partition(":")[2].partition(".")[0]
    return {word.removeprefix("EBT-") for word in listed.replace(",", " ").split() if word[-3:].isdigit()}


def test_shared_rules_attribute_what_they_find_and_others_do_not() -> None:
    for rule in RULES:
        for found in rule.check(Ground(TROUBLED)):
            assert isinstance(found, Attributed) == rule.shared
            assert not isinstance(found, Attributed) or found.to


# ---------------------------------------------------------------------------------------------------------- properties

_keys = st.frozensets(
    st.one_of(st.sampled_from(KEYS), st.sampled_from(["pool/gone", "aggregate/north/gone", "team/x"]))
)


@given(touched=_keys, more=_keys)
@settings(max_examples=60, deadline=None)
def test_a_change_only_ever_turns_errors_of_shared_rules_into_warnings(
    touched: frozenset[str], more: frozenset[str]
) -> None:
    found = check(TROUBLED, changed=touched)
    assert {(f.code, f.message) for f in found} == {(f.code, f.message) for f in EVERYTHING}
    assert errors(found) <= errors(EVERYTHING)
    assert errors(found) <= errors(check(TROUBLED, changed=touched | more))
    assert {pair for pair in errors(EVERYTHING) - errors(found) if pair[0] not in SHARED} == set()


def test_a_merged_estate_has_no_error_of_a_shared_rule() -> None:
    assert {code for code, _ in errors(check(TROUBLED, changed=frozenset()))} & SHARED == set()


def test_a_change_of_everything_is_a_first_look() -> None:
    found = check(TROUBLED, changed=frozenset(KEYS))
    assert [replace(f, hint="") for f in found] == [replace(f, hint="") for f in EVERYTHING]


@given(seed=st.integers(0, 10_000), changed_keys=_keys)
@settings(max_examples=15, deadline=None)
def test_findings_do_not_depend_on_the_order_of_files(seed: int, changed_keys: frozenset[str]) -> None:
    paths = sorted(troubled_files())
    random.Random(seed).shuffle(paths)
    files = troubled_files()
    estate = estate_of({path: files[path] for path in paths}, at=JULY)
    assert check(estate) == EVERYTHING
    assert check(estate, changed=changed_keys) == check(TROUBLED, changed=changed_keys)


@pytest.mark.parametrize("sample", sorted(INVALID.glob("EBT-2*")), ids=lambda path: path.name)
def test_every_refusal_of_a_sample_is_caused_by_what_the_sample_changes(sample: Path) -> None:
    over, day = laid_over(sample)
    estate = estate_of(over, at=JULY if day else 0)
    base = estate_of(minimal(), at=JULY if day else 0)
    touched = frozenset(key for key in estate.sources if _value(base, key) != _value(estate, key))
    touched |= base.sources.keys() - estate.sources.keys()
    caused = errors(check(estate, changed=touched))
    # a history alone refuses nobody
    assert caused == (set() if sample.name.startswith("EBT-219") else errors(check(estate)))


def _value(estate: Estate, key: str) -> object:
    kind, _, name = key.partition("/")
    things: dict[str, object] = {
        "contract": estate.contract_by_name.get(name),
        "pool": estate.pool_by_name.get(name),
        "aggregate": [pool for pool in estate.pools if f"{pool.region}/{pool.aggregate}" == name],
        "group": [group for group in estate.groups if f"{group.region}/{group.name}" == name],
        "waiver": [one for one in estate.waivers if f"{one.region}/{one.eligibility_class}" == name],
        "directory": estate.directory_by_id.get(name),
        "approval": [one for one in estate.approvals if f"{one.granted}-{one.subject}" == name],
        "history": [one for one in estate.history if one.region == name.partition("/")[0]],
        "team": estate.team_by_name.get(name),
        "region": [one for one in estate.settings.regions if one.name == name],
    }
    return things.get(kind, estate.settings)


NUMBERS = ("0", "1", "2", "7", "99", "10000000")
SIZES = ("0B", "1B", "300MiB", "16GiB", "999999999TiB")
DURATIONS = ("0s", "1s", "100s", "9999999s")
MONEY = ("0 EUR", "0.000001 EUR", "999999999999999.999999 EUR")
_PATTERNS = (
    (re.compile(r"(?<=: )\d+(?=[,}\n])"), NUMBERS),
    (re.compile(r"(?<=: )\d+[KMGT]iB"), SIZES),
    (re.compile(r"(?<=: )\d+s(?=[,}\n])"), DURATIONS),
    (re.compile(r"(?<=\")[\d.]+ EUR(?=\")"), MONEY),
)


def _swap(rng: random.Random, share: float, values: Sequence[str]) -> Callable[[re.Match[str]], str]:
    return lambda match: rng.choice(values) if rng.random() < share else match[0]


@given(seed=st.integers(0, 2**32), share=st.sampled_from([0.03, 0.2, 0.6]))
@settings(max_examples=40, deadline=None)
def test_no_value_that_a_file_may_hold_breaks_a_rule(seed: int, share: float) -> None:
    rng = random.Random(seed)
    files = {}
    for path, content in troubled_files().items():
        text = content.decode()
        for pattern, values in _PATTERNS:
            text = pattern.sub(_swap(rng, share, values), text)
        files[path] = text.encode()
    tree = Tree("worktree", files, committed_at=JULY)
    estate = assemble(tree, [judge(source) for source in read(tree).sources]).estate
    if estate is not None:
        found = check(estate)
        assert check(estate) == found
        assert errors(check(estate, changed=frozenset())) <= errors(found)


# ------------------------------------------------------------------------------------------------------ who is to blame


def test_a_committed_pool_that_shrinks_is_refused_for_the_floor_of_somebody_else() -> None:
    estate = estate_of(changed(COMMITTED, ("count: 2", "count: 1"), files=with_lines(HINDCAST, "floor: 13\n")))
    assert severity(estate, "EBT-203", {"aggregate/north/h1-committed"}) is Severity.ERROR
    assert severity(estate, "EBT-203", {"pool/h1-committed-4x16"}) is Severity.ERROR
    assert severity(estate, "EBT-203", {"contract/forecast"}) is Severity.ERROR
    assert severity(estate, "EBT-203", {"team/tides", "directory/tides-lead", "history/north"}) is Severity.WARNING


def test_a_refusal_says_what_of_the_change_it_is_for() -> None:
    estate = estate_of(changed(COMMITTED, ("count: 2", "count: 1"), files=with_lines(HINDCAST, "floor: 13\n")))
    touched = frozenset({"aggregate/north/h1-committed", "pool/h1-committed-4x16", "team/tides", "contract/forecast"})
    (found,) = [f for f in check(estate, changed=touched) if f.code == "EBT-203"]
    assert found.hint == (
        "lower a floor, or commit more hosts; this change touches what it rests on: aggregate/north/h1-committed, "
        "contract/forecast"
    )
    (merged,) = [f for f in check(estate, changed=frozenset({"team/tides"})) if f.code == "EBT-203"]
    assert merged.hint == "lower a floor, or commit more hosts"


def test_an_aggregate_that_is_gone_is_refused_for_the_spread_it_took_away() -> None:
    files = {path: content for path, content in minimal().items() if path != GENERAL}
    files = changed("correlation_groups/north/hall-1.yaml", ("h1-general-a, ", ""), files=files)
    estate = estate_of(files)
    for touched in ({"aggregate/north/h1-general-a"}, {"pool/h1-general-a-4x16"}, {"waiver/north/x86-64"}):
        assert severity(estate, "EBT-202", touched) is Severity.ERROR
    for touched in ({"aggregate/south/h1-general-a", "pool/h1-general-a-4x16"}, {"contract/other"}, {"group/south/x"}):
        assert severity(estate, "EBT-202", touched) is Severity.WARNING


def test_a_lowered_limit_of_a_team_is_refused_and_an_edit_elsewhere_is_not() -> None:
    estate = estate_of(changed("ebbtide.yaml", ("ncuLimit: 400", "ncuLimit: 255")))
    assert severity(estate, "EBT-216", {"team/tides"}) is Severity.ERROR
    assert severity(estate, "EBT-216", {"contract/hindcast"}) is Severity.ERROR
    assert severity(estate, "EBT-216", {"contract/hindcast/maximum"}) is Severity.ERROR
    assert (
        severity(estate, "EBT-216", {"contract/hindcast/contact", "aggregate/north/h1-general-a"}) is Severity.WARNING
    )


def test_a_lowered_authority_is_refused_for_the_limits_that_it_no_longer_covers() -> None:
    fallback = 'fallback: {allowed: true, authority: tides-lead, limitPerDay: "20.00 EUR"}\n'
    estate = estate_of(changed("directory.yaml", ("40.00 EUR", "39.99 EUR"), files=with_lines(HINDCAST, fallback)))
    assert severity(estate, "EBT-217", {"directory/tides-lead"}) is Severity.ERROR
    assert severity(estate, "EBT-217", {"contract/forecast"}) is Severity.ERROR
    assert severity(estate, "EBT-217", {"directory/head-of-cloud"}) is Severity.WARNING


def test_what_was_observed_refuses_nobody_until_the_contract_changes_or_a_pool_goes() -> None:
    over, _ = laid_over(INVALID / "EBT-219-pool-worse-than-tolerated")
    estate = estate_of(over)
    assert severity(estate, "EBT-219", {"history/north", "aggregate/north/h1-general-a"}) is Severity.WARNING
    assert severity(estate, "EBT-219", {"contract/forecast"}) is Severity.ERROR
    assert severity(estate, "EBT-219", {"contract/hindcast"}) is Severity.WARNING
    assert severity(estate, "EBT-219", {"settings/pauses", "team/tides"}) is Severity.WARNING
    assert severity(estate, "EBT-219", {"settings/bounds"}) is Severity.ERROR
    assert severity(estate, "EBT-219", {"aggregate/north/h1-general-z"}) is Severity.ERROR


def test_a_waiver_that_ran_out_stops_whoever_leans_on_it_and_nobody_else() -> None:
    waiver = files_of(INVALID / "EBT-220-largest-loss")["waivers/north/x86-64.yaml"]
    files = with_lines(FORECAST, "eligibility: {avoidHalls: [h2]}\n") | {
        "waivers/north/x86-64.yaml": waiver.replace(b"pools: 8", b"pools: 6")
        .replace(b"poolShare: 15", b"poolShare: 20")
        .replace(b"2027-12-31", b"2026-06-30")
    }
    estate = estate_of(files, at=JULY)
    (found,) = [f for f in check(estate) if f.code == "EBT-221"]
    assert "expired on 2026-06-30, before this commit of 2026-07-01; relied on by forecast" in found.message
    assert severity(estate, "EBT-221", {"waiver/north/x86-64"}) is Severity.ERROR
    assert severity(estate, "EBT-221", {"contract/forecast"}) is Severity.ERROR
    assert severity(estate, "EBT-221", {"contract/hindcast", "contract/forecast/contact"}) is Severity.WARNING
    assert "EBT-202" not in {f.code for f in check(estate)}


# --------------------------------------------------------------------------------------- what an edit of a file touches

OVER_THE_CEILING = (FORECAST, ('limitPerDay: "20.00 EUR"', 'limitPerDay: "99.00 EUR"'))


def weighed(before: Mapping[str, bytes], after: Mapping[str, bytes], code: str) -> set[Severity]:
    """How the findings of a code are weighed for the change from one set of files to another."""
    base, head = estate_of(before, at=JULY), estate_of(after, at=JULY)
    return {f.severity for f in check(head, changed=change.touched(base, head)) if f.code == code}


@pytest.mark.parametrize(
    ("path", "swap", "expected"),
    [
        (FORECAST, ("maximum: 40", "maximum: 39"), Severity.WARNING),
        (FORECAST, ("tier: anchored", "tier: resumable"), Severity.WARNING),
        (FORECAST, ("contact: tides-oncall", "contact: head-of-cloud"), Severity.WARNING),
        (FORECAST, ('"99.00 EUR"', '"98.00 EUR"'), Severity.ERROR),
        ("ebbtide.yaml", ("ncuLimit: 400", "ncuLimit: 399"), Severity.WARNING),
        ("ebbtide.yaml", ('spendCeilingPerDay: "50.00 EUR"', 'spendCeilingPerDay: "51.00 EUR"'), Severity.ERROR),
    ],
)
def test_a_sum_over_its_limit_refuses_whoever_touches_a_part_of_it_and_no_other_field(
    path: str, swap: tuple[str, str], expected: Severity
) -> None:
    merged = changed(FORECAST, OVER_THE_CEILING[1], files=changed("directory.yaml", ("40.00 EUR", "99.00 EUR")))
    assert weighed(merged, changed(path, swap, files=merged), "EBT-216") == {expected}


@pytest.mark.parametrize(
    ("swap", "expected"),
    [
        (("contact: tides-oncall", "contact: head-of-cloud"), Severity.WARNING),
        (("maximum: 40", "maximum: 41"), Severity.ERROR),
    ],
)
def test_a_bad_month_stops_nobody_who_names_another_contact(swap: tuple[str, str], expected: Severity) -> None:
    over, _ = laid_over(INVALID / "EBT-219-pool-worse-than-tolerated")
    assert weighed(over, changed(FORECAST, swap, files=over), "EBT-219") == {expected}


def test_a_floor_without_room_rests_on_the_size_and_the_place_of_each_rival() -> None:
    estate = estate_of(changed(COMMITTED, ("count: 2", "count: 1"), files=with_lines(HINDCAST, "floor: 13\n")))
    for key in ("contract/forecast/unit", "contract/forecast/runsOn", "cluster/north-k8s"):
        assert severity(estate, "EBT-203", {key}) is Severity.ERROR
    assert severity(estate, "EBT-203", {"contract/forecast/contact"}) is Severity.WARNING
