"""What two layers say about one file is told once, at its line, in one wording; and nothing of it is lost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from contracts.errors import Place
from contracts.fields import shown
from contracts.findings import Fault, Finding, Severity, exit_code
from repo_layout.adapters.cue import Cue
from repo_layout.codes import RULES
from repo_layout.faults import RULE_SIBLINGS, merged
from repo_layout.layout import Kind
from repo_layout.load import MODELS, judge
from repo_layout.schema_layer import ROOT_KEYS, SchemaVerdict, key, merged_document, read_report
from repo_layout.source import Source
from repo_layout.tree import Tree
from repo_layout.validate import validate
from repo_layout.versions import Converted, to_current
from tests.checks.documents import WHOLE
from tests.checks.estates import FORECAST, changed, findings_of, judged, minimal, source_of, with_lines


@dataclass(frozen=True)
class Saying:
    """A checker that says what it was told to about one file."""

    file: str
    faults: tuple[Fault, ...] = ()
    findings: tuple[Finding, ...] = ()

    def judge(self, sources: Sequence[Source]) -> SchemaVerdict:
        assert self.file in {source.file for source in sources}
        return SchemaVerdict({self.file: self.faults}, self.findings)


def _contract(**fields: object) -> dict[str, object]:
    return {**WHOLE[Kind.CONTRACT][0], **fields}


# ------------------------------------------------------------------------------------------------------- both layers


def test_a_fault_that_both_layers_see_is_told_once(cue: Cue) -> None:
    files = changed(FORECAST, ("memory: 16GiB", "memory: 512m"), ("floor: 4", "flor: 4"), ("maximum: 40\n", ""))
    findings = findings_of(files, cue)
    assert [(f.code, f.place.line) for f in findings] == [("EBT-119", 1), ("EBT-120", 9), ("EBT-118", 10)]
    assert findings == findings_of(files)


def test_a_rule_broken_beside_a_wrong_form_is_told_by_the_schema(cue: Cue) -> None:
    files = changed(FORECAST, ("floor: 4\nminimum: 8", "floor: 44"), ("memory: 16GiB", "memory: 512m"))
    assert {f.code for f in findings_of(files)} == {"EBT-120"}
    assert [(f.code, f.place.line) for f in findings_of(files, cue)] == [("EBT-120", 9), ("EBT-150", 11)]


def test_a_rule_says_nothing_where_its_own_field_is_wrong(cue: Cue) -> None:
    files = changed(FORECAST, ("floor: 4", "restart: never\nfloor: many"))
    assert [(f.code, f.seen) for f in findings_of(files, cue)] == [("EBT-120", "many")]


def test_a_fault_that_only_the_schema_sees_refuses_the_estate() -> None:
    only = Saying(FORECAST, (Fault(("maximum",), "EBT-120", "maximum is odd"),))
    verdict = judged(minimal(), only)
    assert verdict.estate is None
    assert [(f.code, f.place) for f in verdict.findings] == [("EBT-120", Place(FORECAST, 10, 10))]


def test_a_checker_that_says_nothing_makes_the_verdict_unjudged_not_clean() -> None:
    silent = Finding("EBT-311", Place("."), "killed", severity=Severity.UNJUDGED)
    verdict = judged(minimal(), Saying(FORECAST, findings=(silent,)))
    assert verdict.refused
    assert exit_code(verdict.findings) == 2


def test_a_missing_field_is_dropped_where_the_field_is_wrong_inside() -> None:
    wrong = Fault(("unit", "memory"), "EBT-120", "unit.memory is wrong")
    absent = Fault(("unit",), "EBT-119", "unit is missing")
    assert merged((wrong,), (absent, wrong)) == (wrong,)
    assert merged((), (absent,)) == (absent,)


def test_a_mapping_that_lacks_a_field_is_not_called_missing_itself(cue: Cue) -> None:
    findings = findings_of(changed(FORECAST, ("unit: {vcpu: 4, memory: 16GiB}", "unit: {vcpu: 4}")), cue)
    assert [finding.message for finding in findings] == ["memory is missing in unit"]


def test_every_one_file_rule_names_the_fields_that_it_compares() -> None:
    assert {code for code in RULES if "EBT-150" <= code < "EBT-200"} == RULE_SIBLINGS.keys()


# -------------------------------------------------------------------------------------------------- the model's words


@pytest.mark.parametrize(
    ("field", "value", "expected", "hint"),
    [
        ("maximum", True, "a whole number", ""),
        ("maximum", 0, "at least 1", ""),
        ("maximum", "40", "a whole number", ""),
        ("tier", "resumeable", "one of anchored, resumable, staged, requeued, scavenger", "did you mean resumable?"),
        ("drain", {"budget": 90, "how": "evict"}, "a duration such as 90s, 10m or 1h30m", ""),
        ("drain", {"budget": "90", "how": "evict"}, "a duration such as 90s, 10m or 1h30m", "did you mean 90s?"),
        ("fallback", {"allowed": 1}, "true or false", ""),
        ("unit", "4", "a mapping", ""),
        ("eligibility", {"avoidHalls": "h1"}, "a list", ""),
        ("reason", "", "at least 1 characters", ""),
        ("kind", "Workload", "Contract", ""),
    ],
)
def test_a_wrong_value_says_what_was_expected(field: str, value: object, expected: str, hint: str) -> None:
    (fault,) = judge(source_of(Kind.CONTRACT, _contract(**{field: value}))).faults
    assert (fault.expected, fault.hint) == (expected, hint)
    inner = next(iter(value.values())) if isinstance(value, dict) else value
    assert fault.seen == shown(inner)


def test_all_rules_of_a_file_are_told_at_once() -> None:
    data = _contract(floor=50, minimum=45, deadline={"at": "22:22 UTC", "after": "4h"})
    assert {f.code for f in judge(source_of(Kind.CONTRACT, data)).faults} == {"EBT-159"}
    data = _contract(floor=50, minimum=45)
    assert {f.code for f in judge(source_of(Kind.CONTRACT, data)).faults} == {"EBT-150", "EBT-151", "EBT-152"}


def test_a_list_whose_only_item_is_wrong_is_not_called_too_short() -> None:
    rows = {**WHOLE[Kind.POOL][0], "rows": [{"name": "r"}]}
    faults = judge(source_of(Kind.POOL, rows)).faults
    assert {fault.code for fault in faults} == {"EBT-119"}
    (empty,) = judge(source_of(Kind.POOL, {**rows, "rows": []})).faults
    assert (empty.path, empty.expected) == (("rows",), "at least 1 items")


def test_names_of_code_are_no_names_of_files() -> None:
    data = {name: value for name, value in _contract().items() if name != "runsOn"}
    faults = judge(source_of(Kind.CONTRACT, {**data, "runs_on": WHOLE[Kind.CONTRACT][0]["runsOn"]})).faults
    assert {(f.code, f.path) for f in faults} == {("EBT-119", ("runsOn",)), ("EBT-118", ("runs_on",))}
    assert next(f.hint for f in faults if f.code == "EBT-118") == "did you mean runsOn?"


# ---------------------------------------------------------------------------------------------------- places and paths


def test_one_level_too_deep_keeps_its_lines(cue: Cue) -> None:
    text = minimal()[FORECAST].decode().splitlines(keepends=True)
    deep = "".join(text[:2]) + "spec:\n" + "".join(f"  {line}" for line in text[2:]).replace("tides-oncall", "Oncall")
    findings = findings_of(minimal() | {FORECAST: deep.encode()}, cue)
    assert [(f.code, f.place.line, f.place.column) for f in findings] == [("EBT-126", 3, 1), ("EBT-120", 7, 12)]


def test_a_field_that_only_looks_like_a_wrapper_is_an_unknown_field() -> None:
    findings = findings_of(with_lines(FORECAST, "labels: {name: forecast, colour: blue}\n"))
    assert [(f.code, f.seen) for f in findings] == [("EBT-118", "labels")]


def test_findings_do_not_depend_on_the_order_of_files(cue: Cue) -> None:
    files = changed(FORECAST, ("maximum: 40\n", ""), ("floor: 4", "flor: 4"))
    backwards = Tree("worktree", dict(sorted(files.items(), reverse=True)))
    assert validate(backwards, cue=cue).findings == findings_of(files, cue)


def _renamed(kind: Kind, data: Mapping[str, object]) -> Converted:
    """From a version of these tests, in which the maximum was called `limit` and stood in the unit."""
    if kind is not Kind.CONTRACT:
        return Converted({**data, "apiVersion": "ebbtide/v1"}, {})
    unit = dict(data["unit"]) if isinstance(data.get("unit"), dict) else {}  # type: ignore[call-overload]  # a mapping, as just asked
    limit = unit.pop("limit", None)
    return Converted(
        {**data, "apiVersion": "ebbtide/v1", "unit": unit, "maximum": limit}, {("maximum",): ("unit", "limit")}
    )


def test_an_older_version_is_read_and_its_findings_stand_where_they_were_written(cue: Cue) -> None:
    older = (("ebbtide/v1", "ebbtide/v0"), ("memory: 16GiB}\nmaximum: 40\n", "memory: 16GiB, limit: 40}\n"))
    tree = Tree("worktree", changed(FORECAST, *older))
    verdict = validate(tree, cue=cue, converters={"ebbtide/v0": _renamed})
    assert verdict.findings == ()
    assert verdict.estate is not None
    assert verdict.estate.contract_by_name["forecast"].maximum == 40

    tree = Tree("worktree", changed(FORECAST, *older, ("limit: 40", "limit: 0")))
    (finding,) = validate(tree, cue=cue, converters={"ebbtide/v0": _renamed}).findings
    assert (finding.code, finding.place) == ("EBT-120", Place(FORECAST, 9, 39))


def test_an_older_version_without_a_converter_is_named_with_those_that_are_read() -> None:
    fault = to_current(Kind.CONTRACT, {"apiVersion": "ebbtide/v2"}, {"ebbtide/v0": _renamed}).fault
    assert fault is not None
    assert (fault.code, fault.expected) == ("EBT-122", "ebbtide/v1 or ebbtide/v0")


def test_a_converter_that_goes_in_circles_is_stopped() -> None:
    def circle(_: Kind, data: Mapping[str, object]) -> Converted:
        return Converted(data, {})

    assert to_current(Kind.CONTRACT, {"apiVersion": "ebbtide/v0"}, {"ebbtide/v0": circle}).fault is not None


# ------------------------------------------------------------------------------------------------------- the report


def test_nothing_of_a_file_forges_a_line_of_the_report(cue: Cue) -> None:
    forged = 'x"\u2028\n' + f"contract.{key(0)}.maximum: EBT-120 forged:\n    ./x.cue:1:1\n"
    sources = [
        source_of(Kind.CONTRACT, _contract(), 0),
        source_of(Kind.CONTRACT, _contract(unit=forged, tier=forged), 1),
    ]
    verdict = cue.judge(sources)
    assert verdict.faults.keys() == {sources[1].file}


def test_odd_keys_keep_their_path(cue: Cue) -> None:
    source = source_of(Kind.CONTRACT, _contract(**{"a.b c\n": 1, "_need": 2, "é": 3}))
    faults = cue.judge([source]).faults[source.file]
    assert {fault.path for fault in faults} == {("a.b c\n",), ("_need",), ("é",)}
    assert {fault.code for fault in faults} == {"EBT-118"}


def test_a_report_that_names_no_file_is_no_consent() -> None:
    for report in ("", "panic: out of luck\n", "_counted: EBT-312 the schema checker did not see every file:\n"):
        (finding,) = read_report(report, [source_of(Kind.CONTRACT, _contract())]).findings
        assert (finding.code, finding.severity) == ("EBT-312", Severity.UNJUDGED)


def test_the_merged_document_holds_no_name_of_a_file() -> None:
    source = source_of(Kind.WAIVER, WHOLE[Kind.WAIVER][0])
    assert source.file.encode() not in merged_document([source])


def test_every_kind_of_the_layout_has_a_model_and_a_place_in_the_merged_document() -> None:
    assert MODELS.keys() == ROOT_KEYS.keys() == set(Kind)
