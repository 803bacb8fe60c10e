"""What the two form layers say about one document, in one wording and told once.

`model_faults` turns pydantic's errors into faults, `merged` adds what only the schema layer saw. The loader and
`validate` call them; neither knows where a path stands in its file.
"""

from __future__ import annotations

import difflib
import typing
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

from pydantic import BaseModel, ValidationError

from contracts.fields import RULES_BROKEN, shown
from contracts.findings import Fault
from contracts.values import BadValue, shorten
from repo_layout.source import Path

UNKNOWN, MISSING, VALUE, VERSION, KIND = "EBT-118", "EBT-119", "EBT-120", "EBT-122", "EBT-123"
EMPTY = "EBT-124"
FORM = frozenset({UNKNOWN, MISSING, VALUE, VERSION, KIND})

_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "bool_type": "true or false",
    "model_type": "a mapping",
    "dict_type": "a mapping",
    "model_attributes_type": "a mapping",
    "tuple_type": "a list",
    "list_type": "a list",
}

RULE_SIBLINGS: Mapping[str, frozenset[str]] = {
    "EBT-150": frozenset({"floor", "maximum"}),
    "EBT-151": frozenset({"floor", "minimum"}),
    "EBT-152": frozenset({"minimum", "maximum"}),
    "EBT-153": frozenset({"restart", "floor", "maximum"}),
    "EBT-154": frozenset({"kubernetes", "slurm"}),
    "EBT-155": frozenset({"mode", "interval"}),
    "EBT-156": frozenset({"how", "command"}),
    "EBT-157": frozenset({"mode", "size"}),
    "EBT-158": frozenset({"allowed", "authority", "limitPerDay"}),
    "EBT-159": frozenset({"at", "after", "work"}),
    "EBT-160": frozenset({"authority", "approver"}),
    "EBT-161": frozenset({"eligibility", "maximum"}),
    "EBT-162": frozenset({"granted", "expires"}),
    "EBT-163": frozenset({"approver", "requester"}),
    "EBT-164": frozenset({"poolShare", "groupShare"}),
    "EBT-165": frozenset({"scope", "name"}),
    "EBT-166": frozenset({"fallsWith", "evidence"}),
    "EBT-167": frozenset({"servers", "selector"}),
    "EBT-168": frozenset({"since", "until"}),
    "EBT-169": frozenset({"exposureHours", "interruptions", "reclaims"}),
    "EBT-170": frozenset({"partitions", "clusters", "name"}),
    "EBT-171": frozenset({"partitions", "share", "committedShare", "authorityShare"}),
    "EBT-172": frozenset({"share", "guard"}),
}
"""The fields that each one-file rule compares: where one of them is wrong in itself, the rule says nothing new."""


def dotted(path: Path) -> str:
    """`drain.budget`, `rows[2].name`: a path as a person reads it."""
    text = "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
    return shorten(text.removeprefix(".")) or "the document"


def wrong_value(path: Path, value: object, expected: str, hint: str = "") -> Fault:
    """A value that its field does not take."""
    code = VERSION if path == ("apiVersion",) else KIND if path == ("kind",) else VALUE
    seen = shown(value)
    quoted = seen if isinstance(value, Mapping | list) else f'"{seen}"'
    return Fault(path, code, f"{dotted(path)} is {quoted}", seen, expected, hint)


def missing(path: Path) -> Fault:
    """A field that has to be there."""
    within = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    return Fault(path, MISSING, f"{path[-1]} is missing{within}", expected=f"a field {path[-1]}")


def unknown(path: Path, allowed: Sequence[str]) -> Fault:
    """A field that nobody reads."""
    name = str(path[-1])
    near = difflib.get_close_matches(name, allowed, n=1, cutoff=0.6)
    within = f" in {dotted(path[:-1])}" if len(path) > 1 else ""
    hint = f"did you mean {near[0]}?" if near else ""
    return Fault(path, UNKNOWN, f'there is no field "{shorten(name)}"{within}', shorten(name), ", ".join(allowed), hint)


def model_faults(model: type[BaseModel], error: ValidationError) -> tuple[Fault, ...]:
    """Everything that pydantic found, one fault each."""
    found: list[Fault] = []
    for told in error.errors(include_url=False):
        found.extend(_faults_of(model, told["type"], told["loc"], told["input"], told.get("ctx", {})))
    return tuple(found)


def fields_at(model: type[BaseModel], path: Path) -> tuple[str, ...]:
    """The names that a mapping at a path may have, as files write them; empty where any name goes."""
    at: type[BaseModel] | None = model
    for step in path:
        if at is None:
            return ()
        if isinstance(step, str):
            at = next((_inner(f.annotation) for f in at.model_fields.values() if f.alias == step), None)
    return tuple(f.alias or name for name, f in at.model_fields.items()) if at else ()


def merged(model: Sequence[Fault], schema: Iterable[Fault]) -> tuple[Fault, ...]:
    """The model's faults, and the schema's where the model says nothing about the same thing."""
    schema = tuple(schema)
    if any(fault.code == EMPTY for fault in model):
        return tuple(model)  # every field is missing, and that is said in one finding
    form = [fault for fault in (*model, *schema) if fault.code in FORM]
    known = {(fault.path, fault.code) for fault in model}
    wrong = {fault.path for fault in model if fault.code in FORM}
    # to the schema a field that is wrong inside is absent as well
    holds_wrong = {f.path[:n] for f in (*model, *schema) for n in range(1, len(f.path) + (f.code != MISSING))}
    extra: list[Fault] = []
    for fault in schema:
        if (fault.path, fault.code) in known:
            continue
        if fault.code == MISSING:
            told = fault.path in holds_wrong
        elif fault.code in FORM:
            told = False
        else:
            told = _compares_wrong(fault, form)
        if not told and not any(fault.path[:n] in wrong for n in range(1, len(fault.path) + 1)):
            extra.append(fault)
            known.add((fault.path, fault.code))
    return (*model, *extra)


def _compares_wrong(rule: Fault, form: Iterable[Fault]) -> bool:
    """Whether a field that the rule compares is wrong in itself."""
    siblings = RULE_SIBLINGS.get(rule.code, frozenset())
    for fault in form:
        for at, step in enumerate(fault.path):
            if step in siblings and rule.path[:at] == fault.path[:at] and fault.code != UNKNOWN:
                return True
    return False


def _faults_of(
    model: type[BaseModel], kind: str, path: Path, value: object, context: Mapping[str, Any]
) -> Iterable[Fault]:
    if kind == RULES_BROKEN:
        for fault in context["faults"]:
            yield Fault((*path, *fault.path), fault.code, fault.message, fault.seen, fault.expected, fault.hint)
    elif kind == "too_short" and isinstance(value, Sized) and len(value) >= context["min_length"]:
        return  # there are items enough, and each of them is told to be wrong
    elif kind == "missing":
        yield missing(path)
    elif kind == "extra_forbidden":
        yield unknown(path, fields_at(model, path[:-1]))
    elif kind == "literal_error":
        yield _wrong_choice(path, value, str(context["expected"]))
    elif isinstance(context.get("error"), BadValue):
        yield wrong_value(path, value, context["error"].expected, context["error"].hint)
    else:
        yield wrong_value(path, value, _EXPECTED.get(kind) or _bound(kind, context))


def _wrong_choice(path: Path, value: object, listed: str) -> Fault:
    choices = listed.replace(" or ", ", ").replace("'", "").split(", ")
    near = difflib.get_close_matches(str(value), choices, n=1)
    expected = choices[0] if len(choices) == 1 else f"one of {', '.join(choices)}"
    return wrong_value(path, value, expected, f"did you mean {near[0]}?" if near else "")


def _bound(kind: str, context: Mapping[str, Any]) -> str:
    """What a bounded field takes, from pydantic's own numbers."""
    low, high = context.get("ge", context.get("min_length")), context.get("le", context.get("max_length"))
    what = {"string": "characters", "too": "items"}.get(kind.split("_", maxsplit=1)[0], "")
    if kind == "string_pattern_mismatch":
        return f"text like {context['pattern']}"
    if low is not None:
        return f"at least {low} {what}".rstrip()
    if high is not None:
        return f"at most {high} {what}".rstrip()
    return "another value"


def _inner(annotation: object) -> type[BaseModel] | None:
    """The model inside an annotation such as `tuple[PoolRow, ...]` or `Drain | None`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for part in typing.get_args(annotation) if (found := _inner(part)) is not None), None)
