"""The questions that admission asks of a pod, as expressions of the Common Expression Language.

Both Kubernetes renderings (ValidatingAdmissionPolicy, Kyverno) are made of them word for word, so that they cannot
disagree about who is admitted. Pure text: it must not know how either policy is laid out, nor what the table holds.

A `Subject` says where a pod's metadata and spec stand in the object that is asked about: in a pod itself, or in the
template of a Deployment or CronJob. Expressions read `variables.NAME`, in the order in which `*_variables` list them.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from repo_layout.admission import CONTRACT_ANNOTATION, TAINT_EFFECT, TAINT_KEY, WORKLOAD_LABEL, instance_prefix

INFRASTRUCTURE_LABEL = "ebbtide/infrastructure"
"""On a namespace: its pods are software of the nodes themselves and are not asked for a contract."""
BUNDLE_KEY = "_bundle"
"""Line of the table about the table; no workload's name may hold an underscore."""
HOW = "see `ebbtide explain contract`"
MAX_MESSAGE = 5 * 1024  # what the API server takes of one messageExpression


@dataclass(frozen=True, slots=True)
class Subject:
    """Where the pod stands within the object, and what to call it in a refusal."""

    word: str
    path: str

    @property
    def metadata(self) -> str:
        """The pod's metadata; a template may have none."""
        return f"object{self.path}.?metadata"

    @property
    def spec(self) -> str:
        """The pod's spec."""
        return f"object{self.path}.spec"


POD = Subject("this pod", "")
TEMPLATE = Subject("this template", ".spec.template")
CRON_TEMPLATE = Subject("this template", ".spec.jobTemplate.spec.template")


@dataclass(frozen=True, slots=True)
class Check:
    """One demand: refused with `message`, an expression that gives one line, where `holds` is false."""

    holds: str
    message: str


# --------------------------------------------------------------------------------------------- who asks for capacity


def ask_variables(subject: Subject, region: str) -> dict[str, str]:
    """What a pod asks for, from its own text alone."""
    return {**label_variable(subject), "asks": asks(subject.spec, region)}


def label_variable(subject: Subject) -> dict[str, str]:
    """The workload that a pod names."""
    return {"label": f"{subject.metadata}.?labels[?'{WORKLOAD_LABEL}'].orValue('')"}


def asks(spec: str, region: str) -> str:
    """An expression: how the pod at `spec` could come to stand on a reclaimable instance, empty where it cannot.

    By the taint's own toleration, a toleration of every taint, our label in a node selector or affinity, or the name
    of one of our instances, which no taint keeps out.
    """
    tolerations = f"{spec}.?tolerations.orValue([])"
    terms = (
        f"{spec}.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"
    )
    wanted = f"{spec}.?affinity.?nodeAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"
    named = f"e.key == '{WORKLOAD_LABEL}' && !(e.operator in ['NotIn', 'DoesNotExist'])"
    ours = instance_prefix(region)
    every = f"t.?key.orValue('') == '' && t.?effect.orValue('') in ['', '{TAINT_EFFECT}']"
    return (
        f"{tolerations}.exists(t, t.?key.orValue('') == '{TAINT_KEY}') ? 'tolerates the taint {TAINT_KEY}' :\n"
        f"{tolerations}.exists(t, {every}) ? 'tolerates every taint' :\n"
        f"{spec}.?nodeSelector[?'{WORKLOAD_LABEL}'].hasValue() ? 'selects nodes by {WORKLOAD_LABEL}' :\n"
        f"({terms}.exists(n, n.?matchExpressions.orValue([]).exists(e, {named}))\n"
        f"  || {wanted}.exists(n, n.preference.?matchExpressions.orValue([]).exists(e, {named})))\n"
        f"  ? 'selects nodes by {WORKLOAD_LABEL}' :\n"
        f"{spec}.?nodeName.orValue('').startsWith('{ours}') ? 'names the instance ' + {spec}.nodeName : ''"
    )


def labelled(subject: Subject) -> Check:
    """Whoever asks says by its label which contract covers it."""
    return Check(
        "variables.asks == '' || variables.label != ''",
        said(
            "{word} {asks} and has no label {label}: with a contract, add that label with the name of the workload; "
            "without one, add contracts/<team>/<workload>.yaml to the estate ({how}); software of the nodes themselves "
            "belongs into a namespace labelled {exempt}",
            word=f"'{subject.word}'",
            asks="variables.asks",
            label=f"'{WORKLOAD_LABEL}'",
            how=f"'{HOW}'",
            exempt=f"'{INFRASTRUCTURE_LABEL}'",
        ),
    )


def unplaced(subject: Subject) -> Check:
    """The scheduler places what has a contract: a node named by hand is held by no taint."""
    return Check(
        f"variables.label == '' || {subject.spec}.?nodeName.orValue('') == ''",
        said(
            "{word} of workload {label} names the node {node}: take nodeName out, the scheduler finds an instance of "
            "its workload",
            word=f"'{subject.word}'",
            label="variables.label",
            node=f"{subject.spec}.nodeName",
        ),
    )


def lands() -> Check:
    """A pod with a contract carries what keeps it on its own workload's instances."""
    return Check(
        f"variables.label == '' || (object.spec.?nodeSelector[?'{WORKLOAD_LABEL}'].orValue('') == variables.label\n"
        f"  && {tolerates('variables.label')})",
        said(
            "this pod of workload {label} would not land on its own instances: add to its spec "
            f"nodeSelector: {{{{{WORKLOAD_LABEL}: {{label}}}}}} and "
            f"tolerations: [{{{{key: {TAINT_KEY}, operator: Exists, effect: {TAINT_EFFECT}}}}}]",
            label="variables.label",
        ),
    )


def tolerates(label: str) -> str:
    """An expression: whether the pod in `object` tolerates the taint of the instances of the workload `label`."""
    key = f"t.?key.orValue('') in ['', '{TAINT_KEY}']"
    effect = f"t.?effect.orValue('') in ['', '{TAINT_EFFECT}']"
    value = f"t.?operator.orValue('') in ['', 'Equal'] && t.?value.orValue('') == {label}"
    matches = f"(t.?operator.orValue('') == 'Exists' || ({value}))"
    return f"object.spec.?tolerations.orValue([]).exists(t, {key} && {effect} && {matches})"


def label_kept() -> Check:
    """What a pod belongs to is settled when it is created; for a change of a pod, with `BEFORE` among its variables."""
    return Check(
        "variables.label == variables.before",
        said(
            f"the label {WORKLOAD_LABEL} of a pod stays as it was created ({{before}}): delete the pod and create it "
            "again as it should be",
            before="variables.before == '' ? 'absent' : variables.before",
        ),
    )


def table_found(table: str, named: str) -> Check:
    """That there is a table at all, where a policy reads it itself; `named` says which."""
    return Check(
        f"'{BUNDLE_KEY}' in {table}",
        said(
            f"the table of admitted contracts, {named}, is not there, and nothing with a label {WORKLOAD_LABEL} starts "
            "until it is: run `ebbtide admission` and apply its table.yaml"
        ),
    )


BEFORE = {"before": f"oldObject.metadata.?labels[?'{WORKLOAD_LABEL}'].orValue('')"}


# ------------------------------------------------------------------------------------------ what its contract demands


def contract_variables(subject: Subject, table: str) -> dict[str, str]:
    """The contract's line of the table; `table` is an expression for the table's data."""
    labels = f"{subject.metadata}.?labels.orValue({{}})"
    return {
        "bundle": f"{table}['{BUNDLE_KEY}'].split(' ')",
        "fields": f"variables.label != '' && variables.label in {table} ? {table}[variables.label].split(' ') : []",
        # A line that an older table left behind (two pipelines that apply it own its lines together) admits nobody.
        "known": f"variables.fields.exists(f, f == 'version=' + {field_of('bundle', 'version')})",
        "home": field_of("fields", "namespace"),
        "file": f"'contracts/' + {field_of('fields', 'team')} + '/' + variables.label + '.yaml'",
        # Its kind of value differs between a checked pod and a running expression: a text in both, this way.
        "created": "string(dyn(object.metadata).?creationTimestamp.orValue(''))",
        "lacks": f"{field_of('fields', 'selector')}.split(',')"
        f".filter(p, {labels}[?p.split('=')[0]].orValue('=') != p.split('=')[1])",
    }


def contract_checks(subject: Subject) -> tuple[Check, ...]:
    """That the contract exists, is for this pod and has not ended. Ends are held against the time of creation.

    The API server sets that time before it asks; a change of an object keeps it, so that only what is new is refused.
    A bundle past its end stops what is new and never a replacement, which a controller makes.
    """
    digest = f"{subject.metadata}.?annotations[?'{CONTRACT_ANNOTATION}'].orValue('')"
    words = {
        "word": f"'{subject.word}'",
        "label": "variables.label",
        "file": "variables.file",
        "here": "object.metadata.namespace",
        "there": "variables.home",
        "version": field_of("bundle", "version"),
    }
    return (
        Check(
            "variables.label == '' || variables.known",
            said(
                "no contract admits workload {label} in namespace {here}: add contracts/<team>/{label}.yaml to the "
                f"estate ({HOW}), or, where it is there, run `ebbtide admission` for its commit and apply the table "
                "(this one is of bundle version {version})",
                **words,
            ),
        ),
        Check(
            "!variables.known || variables.home == object.metadata.namespace",
            said(
                "the contract of workload {label} is for namespace {there}, not {here}: create it there, or change "
                "runsOn in {file}",
                **words,
            ),
        ),
        Check(
            "!variables.known || variables.lacks.size() == 0",
            said(
                "the contract of workload {label} is for pods labelled {selector}, and {word} lacks {lacks}: add the "
                "labels, or change the selector in {file}",
                selector=field_of("fields", "selector"),
                lacks="variables.lacks.join(', ')",
                **words,
            ),
        ),
        Check(
            f"!variables.known || {digest} in ['', {field_of('fields', 'digest')}]",
            said(
                "the contract of workload {label} is not the one that {word} was written for: its annotation "
                f"{CONTRACT_ANNOTATION} says {{seen}}, in force is {{digest}}; read {{file}} again and set the "
                "annotation to the digest in force, or take it out",
                seen=digest,
                digest=field_of("fields", "digest"),
                **words,
            ),
        ),
        *_end_checks(words),
    )


def _end_checks(words: dict[str, str]) -> tuple[Check, ...]:
    made = "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
    return (
        Check(
            f"!variables.known || {_not_ended('fields')}",
            said(
                "the contract of workload {label} ended at {end}: renew {file} and what it was approved by",
                end=field_of("fields", "expires"),
                **words,
            ),
        ),
        Check(
            f"!variables.known || {made} || {_not_ended('bundle')}",
            said(
                "the bundle of version {version} that admits workload {label} ended at {end}, and nothing new starts "
                "on it: sign and publish it again (`ebbtide sign`, `ebbtide publish`), then `ebbtide admission`",
                end=field_of("bundle", "expires"),
                **words,
            ),
        ),
    )


def selector_kept() -> Check:
    """For a change of a pod: the labels by which its contract knows it stay, where the contract is known."""
    return Check(
        "!variables.known || variables.home != object.metadata.namespace || variables.lacks.size() == 0",
        said(
            "this pod belongs to workload {label} by its labels {selector}, and {lacks} would change: delete the pod "
            "and create it again as it should be",
            label="variables.label",
            selector=field_of("fields", "selector"),
            lacks="variables.lacks.join(', ')",
        ),
    )


# ---------------------------------------------------------------------------------------------------------- small parts


def said(text: str, **values: str) -> str:
    """An expression for `text` with each `{name}` taken from the expression of that name; braces are doubled."""
    parts: list[str] = []
    for literal, name, _, _ in string.Formatter().parse(text):
        parts += [f"'{_quoted(literal)}'"] if literal else []
        parts += [f"({values[name]})" if "?" in values[name] else values[name]] if name else []
    return " + ".join(parts)


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def field_of(line: str, name: str) -> str:
    """An expression: the value of `name=value` in a line of the table; without it an error, which refuses."""
    return f"variables.{line}.filter(f, f.startsWith('{name}='))[0].substring({len(name) + 1})"


def _not_ended(line: str) -> str:
    end = field_of(line, "expires")
    return f"{end} == 'never' || variables.created == '' || timestamp(variables.created) < timestamp({end})"
