"""The same policies as Kyverno reads them: `policies.kyverno.io/v1`, word for word the same expressions.

`repo_layout.admission_kubernetes` calls it. Kyverno has no parameters: a policy reads the table through its own client,
so that a missing table is an error of the expression. Pure.
"""

from __future__ import annotations

from repo_layout.admission_cel import Check, table_found
from repo_layout.admission_policies import LANDING, Policy, constraints, landing, policies
from repo_layout.admission_yaml import Document

API = "policies.kyverno.io/v1"
# It would derive rules for templates from those for pods; ours say less of a template, and say it better.
_NO_AUTOGEN: Document = {"podControllers": {"controllers": []}}


def kyverno_documents(region: str, *, namespace: str, table: str, enforce: bool) -> list[Document]:
    """One document a policy, the mutation first."""
    read = f"resource.get('v1', 'configmaps', '{namespace}', '{table}')"
    there = table_found("variables.table", f"ConfigMap {table} in namespace {namespace}")
    found = policies(region, "variables.table")
    return [_landing(), *(_policy(policy, read, there, enforce=enforce) for policy in found)]


def _landing() -> Document:
    spec = {
        "autogen": _NO_AUTOGEN,
        "evaluation": {"mutateExisting": {"enabled": False}},
        "reinvocationPolicy": "IfNeeded",
        **landing(),
    }
    return {"apiVersion": API, "kind": "MutatingPolicy", "metadata": {"name": LANDING}, "spec": spec}


def _policy(policy: Policy, read: str, there: Check, *, enforce: bool) -> Document:
    variables, checks = dict(policy.variables), policy.checks
    if policy.reads_table:
        variables = {"table": f"{read}.?data.orValue({{}})", **variables}
        # An error refuses whatever the policy says of errors, so that nothing may depend on one.
        passes = tuple(Check(f"!({there.holds}) || ({one.holds})", one.message) for one in checks)
        checks = (there, *checks) if policy.strict else passes
    spec: dict[str, object] = {
        "failurePolicy": "Fail" if policy.strict else "Ignore",
        "validationActions": ["Deny"] if enforce else ["Warn", "Audit"],
        "autogen": _NO_AUTOGEN,
        "evaluation": {"background": {"enabled": False}},
        "matchConstraints": constraints(policy),
    }
    if policy.conditions:
        spec["matchConditions"] = [{"name": name, "expression": text} for name, text in policy.conditions.items()]
    spec["variables"] = [{"name": name, "expression": text} for name, text in variables.items()]
    spec["validations"] = [{"expression": one.holds, "messageExpression": one.message} for one in checks]
    return {"apiVersion": API, "kind": "ValidatingPolicy", "metadata": {"name": policy.name}, "spec": spec}
