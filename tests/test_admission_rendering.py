"""What is rendered for a Kubernetes cluster, as text: without a server, and what no server would tell."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import yaml

from contracts.errors import Refused
from repo_layout.admission_cel import MAX_MESSAGE, said
from repo_layout.admission_kubernetes import NAMESPACE, TABLE, line, render
from tests.servers.admission_cases import DIGEST, GIB, contract, view


def documents(name: str) -> list[dict[str, Any]]:
    return [one for one in yaml.safe_load_all(render(view())[name]) if one is not None]


def of_kind(name: str, kind: str) -> dict[str, dict[str, Any]]:
    return {one["metadata"]["name"]: one["spec"] for one in documents(name) if one["kind"] == kind}


def test_the_same_view_gives_the_same_bytes() -> None:
    assert render(view()) == render(view())


def test_a_higher_version_changes_the_table_alone() -> None:
    before, after = render(view(version=7)), render(view(version=8))
    assert [name for name in before if before[name] != after[name]] == ["table.yaml"]


def test_a_line_of_the_table_says_everything_that_is_asked_of_a_pod() -> None:
    one = contract("nightly", selector={"b": "2", "a": "1"}, expires_ms=1_577_836_800_123)
    assert line(one, 7) == (
        f"version=7 namespace=astro cpu=4 memory={8 * GIB} gpu=0 expires=2020-01-01T00:00:00.123Z team=astronomy "
        f"digest={DIGEST} selector=a=1,b=2"
    )


@pytest.mark.parametrize(
    ("key", "value"), [("a b", "c"), ("a", "b c"), ("a", "b=c"), ("a", "b,c"), ("-a", "b"), ("a", "x" * 64)]
)
def test_a_selector_that_no_pod_can_carry_is_refused_with_its_file(key: str, value: str) -> None:
    with pytest.raises(Refused, match=r"contracts/astronomy/nightly\.yaml: no pod can carry the label"):
        line(contract("nightly", selector={key: value}), 7)


def test_a_table_that_no_configmap_holds_is_refused() -> None:
    many = tuple(contract(f"workload-{number}") for number in range(6_000))
    with pytest.raises(Refused, match="spread its 6000 contracts over more clusters"):
        render(replace(view(), table=many))


def test_one_policy_alone_waits_for_the_table_and_it_looks_at_labelled_pods_alone() -> None:
    bindings = of_kind("admission.yaml", "ValidatingAdmissionPolicyBinding").values()
    absent = {one["policyName"]: one.get("paramRef", {}).get("parameterNotFoundAction") for one in bindings}
    assert absent.pop("ebbtide-contract") == "Deny"
    assert absent.pop("ebbtide-ask") is None
    assert set(absent.values()) == {"Allow"}
    constraints = of_kind("admission.yaml", "ValidatingAdmissionPolicy")["ebbtide-contract"]["matchConstraints"]
    assert constraints["objectSelector"] == {"matchExpressions": [{"key": "ebbtide/workload", "operator": "Exists"}]}


def test_kyverno_is_told_word_for_word_what_the_api_server_is_told() -> None:
    own = of_kind("admission.yaml", "ValidatingAdmissionPolicy")
    others = of_kind("kyverno.yaml", "ValidatingPolicy")
    assert sorted(own) == sorted(others)
    for name, policy in own.items():
        text, other = yaml.safe_dump(policy["validations"]), yaml.safe_dump(others[name]["validations"])
        there = "!('_bundle' in variables.table) || ("
        for one in policy["validations"]:
            expression = one["expression"].replace("params.data", "variables.table")
            wanted = {expression, f"{there}{expression})"}
            assert wanted & {each["expression"] for each in others[name]["validations"]}, (text, other)
        assert {one["messageExpression"] for one in policy["validations"]} <= {
            one["messageExpression"] for one in others[name]["validations"]
        }
        assert policy.get("matchConditions") == others[name].get("matchConditions")
        assert policy["matchConstraints"] == others[name]["matchConstraints"]


def test_every_refusal_is_one_line_that_the_api_server_prints() -> None:
    for policy in of_kind("admission.yaml", "ValidatingAdmissionPolicy").values():
        for one in policy["validations"]:
            assert "\n" not in one["messageExpression"]
            assert len(one["messageExpression"]) <= MAX_MESSAGE


def test_the_table_lies_where_the_policies_look_for_it() -> None:
    found = [one for one in documents("table.yaml") if one["kind"] == "ConfigMap"]
    assert [(one["metadata"]["namespace"], one["metadata"]["name"]) for one in found] == [(NAMESPACE, TABLE)]


def test_text_in_a_refusal_cannot_end_its_quotes() -> None:
    assert said("it's {name}\\", name="variables.x") == r"'it\'s ' + variables.x + '\\'"
