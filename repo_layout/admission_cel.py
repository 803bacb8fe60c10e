"""The questions that admission asks of a pod, as expressions of the Common Expression Language.

Both Kubernetes renderings (ValidatingAdmissionPolicy, Kyverno) are made of them word for word, so that they cannot
disagree about who is admitted. Pure text: it must not know how either policy is laid out, nor what the table holds.

A `Subject` says where a pod's metadata and spec stand in the object that is asked about: in a pod itself, or in the
template of a Deployment or CronJob. Expressions read `variables.NAME`, in the order in which `*_variables` list them.
"""

from __future__ import annotations

import string
from dataclasses import dataclass

from repo_layout.admission import CONTRACT_ANNOTATION, TAINT_KEY, WORKLOAD_LABEL

TAINT_EFFECT = "NoSchedule"
"""Of the taint that instances register with: what runs there already is never thrown out by it."""
INFRASTRUCTURE_LABEL = "ebbtide/infrastructure"
"""On a namespace: its pods are software of the nodes themselves and are not asked for a contract."""
LEAST_MEMORY = "1Ki"
"""Less of it is a slip of the pen: `512m` is half a byte."""
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
    of one of our instances (`reconciler.fleet.name_of`), which no taint keeps out.
    """
    tolerations = f"{spec}.?tolerations.orValue([])"
    terms = (
        f"{spec}.?affinity.?nodeAffinity.?requiredDuringSchedulingIgnoredDuringExecution.?nodeSelectorTerms.orValue([])"
    )
    wanted = f"{spec}.?affinity.?nodeAffinity.?preferredDuringSchedulingIgnoredDuringExecution.orValue([])"
    named = f"e.key == '{WORKLOAD_LABEL}' && !(e.operator in ['NotIn', 'DoesNotExist'])"
    every = f"t.?key.orValue('') == '' && t.?effect.orValue('') in ['', '{TAINT_EFFECT}']"
    return (
        f"{tolerations}.exists(t, t.?key.orValue('') == '{TAINT_KEY}') ? 'tolerates the taint {TAINT_KEY}' :\n"
        f"{tolerations}.exists(t, {every}) ? 'tolerates every taint' :\n"
        f"{spec}.?nodeSelector[?'{WORKLOAD_LABEL}'].hasValue() ? 'selects nodes by {WORKLOAD_LABEL}' :\n"
        f"({terms}.exists(n, n.?matchExpressions.orValue([]).exists(e, {named}))\n"
        f"  || {wanted}.exists(n, n.preference.?matchExpressions.orValue([]).exists(e, {named})))\n"
        f"  ? 'selects nodes by {WORKLOAD_LABEL}' :\n"
        f"{spec}.?nodeName.orValue('').startsWith('eb-{region}-') ? 'names the instance ' + {spec}.nodeName : ''"
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
    key = f"t.?key.orValue('') in ['', '{TAINT_KEY}']"
    effect = f"t.?effect.orValue('') in ['', '{TAINT_EFFECT}']"
    return Check(
        f"variables.label == '' || (object.spec.?nodeSelector[?'{WORKLOAD_LABEL}'].orValue('') == variables.label\n"
        f"  && object.spec.?tolerations.orValue([]).exists(t, {key} && {effect}))",
        said(
            "this pod of workload {label} would not land on its own instances: add to its spec "
            f"nodeSelector: {{{{{WORKLOAD_LABEL}: {{label}}}}}} and "
            f"tolerations: [{{{{key: {TAINT_KEY}, operator: Exists, effect: {TAINT_EFFECT}}}}}]",
            label="variables.label",
        ),
    )


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
        "known": f"variables.label != '' && variables.label in {table}",
        "fields": f"variables.known ? {table}[variables.label].split(' ') : []",
        "bundle": f"{table}['{BUNDLE_KEY}'].split(' ')",
        "home": _field("fields", "namespace"),
        "file": f"'contracts/' + {_field('fields', 'team')} + '/' + variables.label + '.yaml'",
        # Its kind of value differs between a checked pod and a running expression: a text in both, this way.
        "created": "string(dyn(object.metadata).?creationTimestamp.orValue(''))",
        "lacks": f"{_field('fields', 'selector')}.split(',')"
        f".filter(p, {labels}[?p.split('=')[0]].orValue('=') != p.split('=')[1])",
    }


def need_variables(subject: Subject) -> dict[str, str]:
    """What the pod needs at once of each resource, as the scheduler counts it or a little more.

    The largest of: all containers together, each initial container, both with the initial ones that keep running, and
    the request of the pod as a whole; plus its overhead. A limit stands for an absent request.
    """
    spec = subject.spec
    return {
        "every": f"{spec}.containers + {spec}.?initContainers.orValue([])",
        "aside": f"{spec}.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') == 'Always')",
        "first": f"{spec}.?initContainers.orValue([]).filter(c, c.?restartPolicy.orValue('') != 'Always')",
        "cpu": _needed(spec, _amount("c", "cpu"), _amount(f"dyn({spec})", "cpu"), _number(f"{spec}.?overhead[?'cpu']")),
        "memory": _needed(
            spec, _amount("c", "memory"), _amount(f"dyn({spec})", "memory"), _number(f"{spec}.?overhead[?'memory']")
        ),
        "gpu": _needed(spec, _GPUS, "0.0", "0.0"),
    }


def contract_checks(subject: Subject) -> tuple[Check, ...]:
    """That the contract exists, is for this pod and has not ended. Ends are held against the time of creation.

    The API server sets that time before it asks; a change of an object keeps it, so that only what is new is refused.
    A bundle past its end stops what is new and never a replacement, which a controller makes.
    """
    digest = f"{subject.metadata}.?annotations[?'{CONTRACT_ANNOTATION}'].orValue('')"
    made = "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))"
    words = {
        "word": f"'{subject.word}'",
        "label": "variables.label",
        "file": "variables.file",
        "here": "object.metadata.namespace",
        "there": "variables.home",
        "version": _field("bundle", "version"),
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
                selector=_field("fields", "selector"),
                lacks="variables.lacks.join(', ')",
                **words,
            ),
        ),
        Check(
            f"!variables.known || {digest} in ['', {_field('fields', 'digest')}]",
            said(
                "the contract of workload {label} is not the one that {word} was written for: its annotation "
                f"{CONTRACT_ANNOTATION} says {{seen}}, in force is {{digest}}; read {{file}} again and set the "
                "annotation to the digest in force, or take it out",
                seen=digest,
                digest=_field("fields", "digest"),
                **words,
            ),
        ),
        Check(
            f"!variables.known || {_not_ended('fields')}",
            said(
                "the contract of workload {label} ended at {end}: renew {file} and what it was approved by",
                end=_field("fields", "expires"),
                **words,
            ),
        ),
        Check(
            f"!variables.known || {made} || {_not_ended('bundle')}",
            said(
                "the bundle of version {version} that admits workload {label} ended at {end}, and nothing new starts "
                "on it: sign and publish it again (`ebbtide sign`, `ebbtide publish`), then `ebbtide admission`",
                end=_field("bundle", "expires"),
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
            selector=_field("fields", "selector"),
            lacks="variables.lacks.join(', ')",
        ),
    )


def size_checks(subject: Subject, *, complete: bool) -> tuple[Check, ...]:
    """That the pod is at most one unit of its contract; `complete`: and says how large it is.

    A template may be silent: its namespace may have defaults that only its pods show.
    """
    doubtful = f"quantity(string({_written('c', 'memory', LEAST_MEMORY)})).isLessThan(quantity('{LEAST_MEMORY}'))"
    slip = Check(
        f"variables.label == '' || !variables.every.exists(c, {doubtful})",
        said(
            "container {name} asks for {seen} of memory, less than {least} bytes: m means thousandths; did you mean "
            "Mi?",
            name=f"variables.every.filter(c, {doubtful})[0].name",
            seen=f"variables.every.filter(c, {doubtful}).map(c, string({_written('c', 'memory', '')}))[0]",
            least=f"'{LEAST_MEMORY}'",
        ),
    )
    return (slip, *([_sized(subject)] if complete else []), *(_within(subject, *row) for row in _SIZES))


def _sized(subject: Subject) -> Check:
    whole = f"dyn({subject.spec}).?resources.?requests"
    silent = " || ".join(
        f"(!{whole}[?'{name}'].hasValue() && {_amount('c', name)} == 0.0)" for name in ("cpu", "memory")
    )
    return Check(
        f"!variables.known || !variables.every.exists(c, {silent})",
        said(
            "container {name} of workload {label} does not say how large it is: add resources.requests with cpu and "
            "memory, all containers together at most one unit of its contract (cpu {cpu}, memory {memory})",
            name=f"variables.every.filter(c, {silent})[0].name",
            label="variables.label",
            cpu=_field("fields", "cpu"),
            memory=_mebibytes(_field("fields", "memory")),
        ),
    )


def _mebibytes(amount: str) -> str:
    return f"string(int({amount}) / 1048576) + 'Mi'"


_SIZES = (
    # vCPU are whole and requests have thousandths: half of one is what a sum of floating numbers may be off
    ("cpu", "variables.cpu > double({unit}) + 0.0005", "string(variables.cpu)", "{unit}"),
    ("memory", "variables.memory > double({unit})", _mebibytes("variables.memory"), _mebibytes("{unit}")),
    ("gpu", "variables.gpu > double({unit})", "string(int(variables.gpu))", "{unit}"),
)


def _within(subject: Subject, name: str, exceeds: str, asked: str, given: str) -> Check:
    unit = _field("fields", name)
    return Check(
        f"!variables.known || !({exceeds.format(unit=unit)})",
        said(
            f"{subject.word} asks for {name} {{asked}}, and one unit of workload {{label}} has {{given}}: ask for "
            "less, or change unit in {file}",
            asked=asked,
            given=given.format(unit=unit),
            label="variables.label",
            file="variables.file",
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


def _field(line: str, name: str) -> str:
    """The value of `name=value` in a line of the table; a table without it is an error, which refuses."""
    return f"variables.{line}.filter(f, f.startsWith('{name}='))[0].substring({len(name) + 1})"


def _not_ended(line: str) -> str:
    end = _field(line, "expires")
    return f"{end} == 'never' || variables.created == '' || timestamp(variables.created) < timestamp({end})"


def _written(holder: str, name: str, otherwise: str) -> str:
    """What is written for a resource: the request, else the limit."""
    limit = f"{holder}.?resources.?limits[?'{name}']"
    return f"{holder}.?resources.?requests[?'{name}'].or({limit}).orValue('{otherwise}')"


def _amount(holder: str, name: str) -> str:
    return f"quantity(string({_written(holder, name, '0')})).asApproximateFloat()"


def _number(optional: str) -> str:
    return f"quantity(string({optional}.orValue('0'))).asApproximateFloat()"


# The names that device plug-ins give to whole and shared GPUs, and to slices of one.
_GPUS = (
    "c.?resources.?requests.or(c.?resources.?limits).orValue({})"
    ".filter(k, k.contains('gpu') || k.contains('/mig-'))"
    ".map(k, quantity(string(c.?resources.?requests[?k].or(c.?resources.?limits[?k]).orValue('0')))"
    ".asApproximateFloat()).sum()"
)


def _needed(spec: str, of_container: str, of_pod: str, overhead: str) -> str:
    aside = f"variables.aside.map(c, {of_container}).sum()"
    return (
        f"([{spec}.containers.map(c, {of_container}).sum() + {aside}, {of_pod}]\n"
        f"  + variables.first.map(c, {of_container} + {aside})).max() + {overhead}"
    )
