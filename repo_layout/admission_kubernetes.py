"""What a Kubernetes cluster applies so that nothing enters reclaimable capacity without an admitted contract.

`render` gives four files: the table (one ConfigMap, one key a contract), the mutation by which a workload's pods land
on its own instances, and the policies, once for the API server itself and once for Kyverno. `ebbtide admission`
writes them. Pure; it must not know where the view came from, nor whether a cluster has Kyverno.
"""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping

from contracts.errors import Refused
from repo_layout.admission import AdmissionView, Admitted
from repo_layout.admission_cel import BUNDLE_KEY
from repo_layout.admission_kyverno import kyverno_documents
from repo_layout.admission_policies import LANDING, Policy, constraints, landing, policies
from repo_layout.admission_yaml import Document, written

NAMESPACE = "ebbtide-system"
TABLE = "ebbtide-contracts"
FOUND_BINDING = "ebbtide-table-is-written-by-ebbtide-admission"
"""Of the policy that refuses without its table: the server's own refusal prints nothing of ours but this name."""
MAX_TABLE = 1024 * 1024 - 64 * 1024
"""Bytes of a ConfigMap's data that the API server takes, less what the rest of the object needs."""
API = "admissionregistration.k8s.io/v1"

_LABEL_KEY = re.compile(r"(?:[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?")
_LABEL_VALUE = re.compile(r"(?:[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?")


def render(view: AdmissionView, *, enforce: bool = True) -> Mapping[str, str]:
    """File name to text; without `enforce` a refusal is a warning and a line of the audit log.

    Raises `Refused` for a selector that no pod can carry and for a table that no ConfigMap holds.
    """
    found = policies(view.region, "params.data")
    return {
        "table.yaml": written(_about("the table of admitted contracts", view), [_namespace(), _table(view)]),
        "land.yaml": written(_about("the mutation that lands pods on their own instances", view), _landing()),
        "admission.yaml": written(
            _about("the checks, by the API server itself", view),
            [document for policy in found for document in (_policy(policy), _binding(policy, enforce=enforce))],
        ),
        "kyverno.yaml": written(
            _about("the same checks and mutation, by Kyverno", view),
            kyverno_documents(view.region, namespace=NAMESPACE, table=TABLE, enforce=enforce),
        ),
    }


def _about(what: str, view: AdmissionView) -> str:
    return f"{what} for cluster {view.cluster}, rendered by ebbtide admission: change the estate, not this file"


# ------------------------------------------------------------------------------------------------------------ the table


def _namespace() -> Document:
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}}


def _table(view: AdmissionView) -> Document:
    data = {BUNDLE_KEY: _bundle_line(view), **{one.workload: line(one, view.version) for one in view.table}}
    size = sum(len(key) + len(value) for key, value in data.items())
    if size > MAX_TABLE:
        raise Refused(
            f"the table of cluster {view.cluster} is {size} bytes, and a ConfigMap holds {MAX_TABLE}: spread its "
            f"{len(view.table)} contracts over more clusters"
        )
    metadata = {"name": TABLE, "namespace": NAMESPACE, "labels": {"app.kubernetes.io/managed-by": "ebbtide"}}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data}


def _bundle_line(view: AdmissionView) -> str:
    return (
        f"estate={view.estate} region={view.region} cluster={view.cluster} version={view.version} "
        f"expires={_moment(view.expires_ms)}"
    )


def line(one: Admitted, version: int) -> str:
    """A contract's line of the table: `name=value`, one blank between; the policies read it by these names.

    The bundle's version stands in each line: one that an older table left behind admits nobody.
    """
    for key, value in one.selector.items():
        if not _LABEL_KEY.fullmatch(key) or not _LABEL_VALUE.fullmatch(value):
            raise Refused(
                f"contracts/{one.team}/{one.workload}.yaml: no pod can carry the label {key}={value} of its selector"
            )
    selector = ",".join(f"{key}={value}" for key, value in sorted(one.selector.items()))
    return (
        f"version={version} namespace={one.namespace} cpu={one.vcpu} memory={one.memory} gpu={one.gpu} "
        f"expires={_moment(one.expires_ms)} team={one.team} digest={one.digest} selector={selector}"
    )


def _moment(at_ms: int) -> str:
    if not at_ms:
        return "never"
    whole, rest = divmod(at_ms, 1000)
    return f"{dt.datetime.fromtimestamp(whole, dt.UTC):%Y-%m-%dT%H:%M:%S}.{rest:03d}Z"


# --------------------------------------------------------------------------------------------------------- the checks


def _policy(policy: Policy) -> Document:
    spec: dict[str, object] = {"failurePolicy": "Fail" if policy.strict else "Ignore"}
    if policy.reads_table:
        spec["paramKind"] = {"apiVersion": "v1", "kind": "ConfigMap"}
    spec["matchConstraints"] = constraints(policy)
    if policy.conditions:
        spec["matchConditions"] = [{"name": name, "expression": text} for name, text in policy.conditions.items()]
    spec["variables"] = [{"name": name, "expression": text} for name, text in policy.variables.items()]
    spec["validations"] = [
        {"expression": check.holds, "messageExpression": check.message, "reason": "Forbidden"}
        for check in policy.checks
    ]
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicy", "metadata": {"name": policy.name}, "spec": spec}


def _binding(policy: Policy, *, enforce: bool) -> Document:
    name = FOUND_BINDING if policy.reads_table and policy.strict else policy.name
    spec: dict[str, object] = {
        "policyName": policy.name,
        "validationActions": ["Deny"] if enforce else ["Warn", "Audit"],
    }
    if policy.reads_table:
        absent = "Deny" if policy.strict else "Allow"
        spec["paramRef"] = {"name": TABLE, "namespace": NAMESPACE, "parameterNotFoundAction": absent}
    return {"apiVersion": API, "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": name}, "spec": spec}


# --------------------------------------------------------------------------------------------------------- the mutation


def _landing() -> list[Document]:
    spec = {"reinvocationPolicy": "IfNeeded", **landing()}
    metadata = {"name": LANDING}
    binding = {"policyName": LANDING}
    return [
        {"apiVersion": API, "kind": "MutatingAdmissionPolicy", "metadata": metadata, "spec": spec},
        {"apiVersion": API, "kind": "MutatingAdmissionPolicyBinding", "metadata": metadata, "spec": binding},
    ]
