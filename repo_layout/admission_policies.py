"""Which requests to a Kubernetes API server are checked, when, and what stops when a check cannot be made.

Five policies, as values that both renderings lay out. What each does without its table, or in an error of its own, is
decided here; `docs/admission.md` says it in words and names the test of each answer. Pure.

Only `contract`, which asks about new pods that carry our label, needs the table to let anything pass. The others either
need no table or are early words to whoever writes a template: a pod without our label never waits for a table, and an
update, by which a controller lets go of a finished pod, is never held up by one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from repo_layout import admission_cel as cel
from repo_layout import admission_size as size
from repo_layout.admission import TAINT_EFFECT, TAINT_KEY, WORKLOAD_LABEL
from repo_layout.admission_cel import CRON_TEMPLATE, INFRASTRUCTURE_LABEL, POD, TEMPLATE, Check, Subject

PREFIX = "ebbtide"
LANDING = f"{PREFIX}-land"
SYSTEM_NAMESPACES = ("kube-system",)
"""Where every cluster keeps what its nodes cannot do without; other such namespaces are labelled."""

Operation = Literal["CREATE", "UPDATE"]


@dataclass(frozen=True, slots=True)
class Matched:
    """Kinds of one API group, with what is done to them."""

    group: str
    resources: tuple[str, ...]
    operations: tuple[Operation, ...]
    version: str = "v1"


@dataclass(frozen=True, slots=True)
class Policy:
    """One policy: what it looks at, what it demands, and what happens when it cannot tell.

    `labelled_only`: asked about objects that carry our label alone. `reads_table`: its checks read the table.
    `strict`: refuses where the table is missing or an expression fails; otherwise it then says nothing.
    """

    name: str
    matched: tuple[Matched, ...]
    variables: Mapping[str, str]
    checks: tuple[Check, ...]
    conditions: Mapping[str, str] = field(default_factory=dict)
    labelled_only: bool = False
    reads_table: bool = False
    strict: bool = True


# Nodes may create mirror pods of themselves alone (NodeRestriction); refusing one would hide a static pod, not stop it.
_NO_MIRROR = {
    "no-mirror-pod": "!('system:nodes' in request.userInfo.?groups.orValue([])"
    " && object.metadata.?annotations[?'kubernetes.io/config.mirror'].hasValue())"
}
# What a controller makes from an object that was asked about is asked about as a pod.
_BY_A_PERSON = {"not-made-by-a-controller": "!object.metadata.?ownerReferences.orValue([])"
                ".exists(o, o.?controller.orValue(false))"}  # fmt: skip


def policies(region: str, table: str) -> tuple[Policy, ...]:
    """All of them for one region's cluster; `table` is the expression by which the table's data is read."""
    return (_ask(region), _contract(table), _relabel(table), *_templates(region, table))


def _ask(region: str) -> Policy:
    """Who asks for reclaimable capacity says for which workload; needs no table and no answer of anybody.

    Its conditions are judged by the API server itself, for Kyverno too: a pod that asks for nothing, and a change of
    one that matters nothing here, never wait for a webhook.
    """
    label, before = (f"{one}.metadata.?labels[?'{WORKLOAD_LABEL}'].orValue('')" for one in ("object", "oldObject"))
    now, then = (f"({cel.asks(f'{one}.spec', region)})" for one in ("object", "oldObject"))
    concerns = (
        f"request.operation == 'CREATE'\n? {label} != '' || {now} != ''\n"
        f": {label} != {before} || ({label} == '' && {now} != '' && {then} == '')"
    )
    creates = "request.operation != 'CREATE'"
    checks = (
        _or("request.operation == 'CREATE'", cel.label_kept()),
        cel.labelled(POD),
        _or(creates, cel.unplaced(POD)),
        _or(creates, cel.lands()),
    )
    return Policy(
        f"{PREFIX}-ask",
        (Matched("", ("pods",), ("CREATE", "UPDATE")),),
        {**cel.ask_variables(POD, region), **cel.BEFORE},
        checks,
        {**_NO_MIRROR, "concerns-us": concerns},
    )


def _contract(table: str) -> Policy:
    """A new pod with our label, or one that grows, has an admitted contract and is at most one unit of it."""
    return Policy(
        f"{PREFIX}-contract",
        (Matched("", ("pods",), ("CREATE",)), Matched("", ("pods/resize",), ("UPDATE",))),
        {**cel.label_variable(POD), **cel.contract_variables(POD, table), **size.need_variables(POD)},
        (*cel.contract_checks(POD), *size.size_checks(POD, complete=True)),
        _NO_MIRROR,
        labelled_only=True,
        reads_table=True,
    )


def _relabel(table: str) -> Policy:
    """A pod keeps the labels by which its contract knows it, as long as the table tells which they are."""
    own = f"[?'{WORKLOAD_LABEL}']"
    changed = {
        "labels-change": "object.metadata.?labels.orValue({}) != oldObject.metadata.?labels.orValue({})",
        # `ask` speaks about this one.
        "workload-stays": f"object.metadata.?labels{own} == oldObject.metadata.?labels{own}",
    }
    return Policy(
        f"{PREFIX}-relabel",
        (Matched("", ("pods",), ("UPDATE",)),),
        {**cel.label_variable(POD), **cel.contract_variables(POD, table)},
        (cel.selector_kept(),),
        changed,
        labelled_only=True,
        reads_table=True,
        strict=False,
    )


def _templates(region: str, table: str) -> tuple[Policy, ...]:
    """The same, said early to whoever writes a template; the pods are asked again."""
    operations: tuple[Operation, ...] = ("CREATE", "UPDATE")
    usual = (
        Matched("apps", ("deployments", "replicasets", "statefulsets", "daemonsets"), operations),
        Matched("batch", ("jobs",), operations),
        Matched("", ("replicationcontrollers",), operations),
    )
    cron = (Matched("batch", ("cronjobs",), operations),)
    return (
        _template(f"{PREFIX}-template", usual, TEMPLATE, region, table),
        _template(f"{PREFIX}-cron-template", cron, CRON_TEMPLATE, region, table),
    )


def _template(name: str, matched: tuple[Matched, ...], subject: Subject, region: str, table: str) -> Policy:
    # Only what changes is judged: an object from before its contract ended can still be scaled down and deleted.
    changes = f"request.operation == 'CREATE' || object{subject.path} != oldObject{subject.path}"
    variables = {
        **cel.ask_variables(subject, region),
        **cel.contract_variables(subject, table),
        **size.need_variables(subject),
    }
    checks = (
        cel.labelled(subject),
        cel.unplaced(subject),
        *cel.contract_checks(subject),
        *size.size_checks(subject, complete=False),
    )
    conditions = {**_BY_A_PERSON, "template-changes": changes}
    return Policy(name, matched, variables, checks, conditions, reads_table=True, strict=False)


def _or(condition: str, check: Check) -> Check:
    return Check(f"{condition} || ({check.holds})", check.message)


def constraints(policy: Policy) -> dict[str, object]:
    """`matchConstraints` of a policy, as Kubernetes and Kyverno write it."""
    return _constraints(policy.matched, labelled_only=policy.labelled_only)


def _constraints(matched: tuple[Matched, ...], *, labelled_only: bool) -> dict[str, object]:
    rules = [
        {
            "apiGroups": [one.group],
            "apiVersions": [one.version],
            "operations": list(one.operations),
            "resources": list(one.resources),
        }
        for one in matched
    ]
    everywhere_else = [
        {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": list(SYSTEM_NAMESPACES)},
        {"key": INFRASTRUCTURE_LABEL, "operator": "DoesNotExist"},
    ]
    found: dict[str, object] = {
        "matchPolicy": "Equivalent",
        "resourceRules": rules,
        "namespaceSelector": {"matchExpressions": everywhere_else},
    }
    if labelled_only:
        found["objectSelector"] = {"matchExpressions": [{"key": WORKLOAD_LABEL, "operator": "Exists"}]}
    return found


def landing() -> dict[str, object]:
    """The part of a mutation that both renderings share: it lands a new pod on its workload's own instances.

    Adds toleration and selector where the pod has none; what is there already stays, and is checked.
    """
    label = f"object.metadata.labels['{WORKLOAD_LABEL}']"
    # Maps, no typed objects: a list of those ends Kyverno 1.19 with a panic.
    taint = f"{{'key': '{TAINT_KEY}', 'operator': 'Exists', 'effect': '{TAINT_EFFECT}'}}"
    key = WORKLOAD_LABEL.replace("~", "~0").replace("/", "~1")
    expression = (
        f"({cel.tolerates(label)} ? [] : has(object.spec.tolerations)\n"
        f"  ? [JSONPatch{{op: 'add', path: '/spec/tolerations/-', value: {taint}}}]\n"
        f"  : [JSONPatch{{op: 'add', path: '/spec/tolerations', value: [{taint}]}}])\n"
        f"+ (object.spec.?nodeSelector[?'{WORKLOAD_LABEL}'].hasValue() ? [] : has(object.spec.nodeSelector)\n"
        f"  ? [JSONPatch{{op: 'add', path: '/spec/nodeSelector/{key}', value: {label}}}]\n"
        f"  : [JSONPatch{{op: 'add', path: '/spec/nodeSelector', value: {{'{WORKLOAD_LABEL}': {label}}}}}])"
    )
    return {
        "failurePolicy": "Ignore",  # a pod that it failed to change is refused by the checks, which say what to add
        "matchConstraints": _constraints((Matched("", ("pods",), ("CREATE",)),), labelled_only=True),
        # One list of both: each mutation costs a conversion of the pod there and back.
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}],
    }
