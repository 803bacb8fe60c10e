"""The same policies as Kyverno reads them: `policies.kyverno.io/v1`, word for word the same expressions.

`repo_layout.admission_kubernetes` calls it. Kyverno has no parameters: a policy reads the table through its own client,
so that a missing table is an error of the expression. Pure.
"""

from __future__ import annotations

from repo_layout.admission_policies import Policy, constraints, policies
from repo_layout.admission_yaml import Document

API = "policies.kyverno.io/v1"


def kyverno_documents(region: str, *, namespace: str, table: str, enforce: bool) -> list[Document]:
    """One document a policy."""
    read = f"resource.Get('v1', 'configmaps', '{namespace}', '{table}').data"
    return [_policy(policy, read, enforce=enforce) for policy in policies(region, "variables.table")]


def _policy(policy: Policy, read: str, *, enforce: bool) -> Document:
    variables = {**({"table": read} if policy.reads_table else {}), **policy.variables}
    spec: dict[str, object] = {
        "failurePolicy": "Fail" if policy.strict else "Ignore",
        "validationActions": ["Deny"] if enforce else ["Warn", "Audit"],
        "autogen": {"podControllers": {"controllers": []}},
        "evaluation": {"background": {"enabled": False}},
        "matchConstraints": constraints(policy),
    }
    if policy.conditions:
        spec["matchConditions"] = [{"name": name, "expression": text} for name, text in policy.conditions.items()]
    spec["variables"] = [{"name": name, "expression": text} for name, text in variables.items()]
    spec["validations"] = [{"expression": one.holds, "messageExpression": one.message} for one in policy.checks]
    return {"apiVersion": API, "kind": "ValidatingPolicy", "metadata": {"name": policy.name}, "spec": spec}
