"""How large a pod is, and that it is at most one unit of its contract: expressions, as `admission_cel` has them.

A pod is counted as the scheduler counts it, or a little more. Pure text.
"""

from __future__ import annotations

from repo_layout.admission_cel import Check, Subject, field_of, said

LEAST_MEMORY = "1Ki"
"""Less of it is a slip of the pen: `512m` is half a byte."""


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
            cpu=field_of("fields", "cpu"),
            memory=_mebibytes(field_of("fields", "memory")),
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
    unit = field_of("fields", name)
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
