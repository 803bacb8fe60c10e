"""JSON Schemas of the reviewed files, for editors: what may stand where, what it means, and how it looks.

`ebbtide schema` writes them. They come from the models that judge the files, so that completion and refusal agree; what
a schema can say of two fields together is added here, and `BEYOND` lists what it cannot say at all. Pure.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from contracts.model import Tier
from contracts.tiers import PRESETS, Preset
from contracts.values import format_duration, format_size
from repo_layout.canonical_text import inner_model
from repo_layout.field_notes import NOTES
from repo_layout.layout import Kind, shown
from repo_layout.load import MODELS

DRAFT = "http://json-schema.org/draft-07/schema#"
"""What every YAML language server reads."""

BEYOND = frozenset(f"EBT-{number}" for number in (150, 151, 152, 153, 160, 161, 162, 163, 164, 168, 169))
"""Rules that compare the values of two fields, which JSON Schema cannot; `ebbtide validate` does.

Nor can it know the calendar's time zones, nor tell `1.0` from `1`.
"""

if TYPE_CHECKING:
    import pydantic

Schema = dict[str, Any]


def editor_schema(kind: Kind) -> Schema:
    """The schema of one kind of file, without references, so that every draft reads it alike."""
    model = MODELS[kind]
    made = model.model_json_schema(by_alias=True)
    whole = _inlined(made, made.get("$defs", {}))
    whole.pop("$defs", None)
    _annotate(whole, model)
    told = f"{_title(kind)}: {shown(kind)}"
    return {"$schema": DRAFT, "title": told, **{key: value for key, value in whole.items() if key != "title"}}


def file_name(kind: Kind) -> str:
    """`correlation-group.schema.json`: the file that holds a kind's schema."""
    return f"{kind.value.replace(' ', '-')}.schema.json"


def editor_settings(folder: str) -> Schema:
    """Settings of VS Code's YAML extension: which schema, below `folder` of the repository, goes with which files."""
    return {
        "yaml.schemas": {f"./{folder}/{file_name(kind)}": _glob(kind) for kind in Kind if kind in MODELS},
        "yaml.format.enable": False,
    }


def _glob(kind: Kind) -> str:
    path = shown(kind)
    if "/" not in path:
        return path
    folder, *rest = path.split("/")
    return "/".join([folder, *("*" for _ in rest[:-1]), "*.yaml"])


def _title(kind: Kind) -> str:
    return kind.value[0].upper() + kind.value[1:]


# ------------------------------------------------------------------------------------------------ from models to schema


def _inlined(schema: Any, known: Mapping[str, Schema]) -> Any:  # noqa: ANN401 - any part of a JSON document
    """Without references, null and generated titles: null is refused in every file."""
    if isinstance(schema, list):
        return [_inlined(item, known) for item in schema]
    if not isinstance(schema, dict):
        return schema
    if reference := schema.get("$ref"):
        target = known[reference.rpartition("/")[2]]
        beside = {key: value for key, value in schema.items() if key != "$ref"}
        return _inlined({**copy.deepcopy(target), **beside}, known)
    flat = {key: value for key, value in schema.items() if key not in ("title", "default", "$defs")}
    if "anyOf" in flat:
        branches = [branch for branch in flat["anyOf"] if branch != {"type": "null"}]
        if len(branches) == 1:
            del flat["anyOf"]
            flat = {**branches[0], **flat}
            return _inlined(flat, known)
        flat["anyOf"] = branches
    properties = flat.get("properties")
    inlined = {key: _inlined(value, known) for key, value in flat.items() if key != "properties"}
    if properties is not None:
        inlined["properties"] = {name: _inlined(value, known) for name, value in properties.items()}
    return inlined


def _annotate(schema: Schema, model: type[pydantic.BaseModel]) -> None:
    """What every field means, down to the last one, and the rules between fields."""
    schema["description"] = _first_sentence(model)
    for name, info in model.model_fields.items():
        field = info.alias or name
        at = schema["properties"][field]
        inner = inner_model(info.annotation)
        if inner is not None:
            _annotate(at["items"] if at.get("type") == "array" else at, inner)
        at["description"] = NOTES.get(f"{model.__name__}.{field}", at.get("description", ""))
    if model.__name__ == "ContractFile":
        at = schema["properties"]["tier"]
        at["enumDescriptions"] = [_preset(tier) for tier in Tier]
        at["description"] += "\n\n" + "\n".join(f"- `{tier.value}`: {_preset(tier)}" for tier in Tier)
    if rules := _RULES.get(model.__name__):
        schema["allOf"] = copy.deepcopy(rules)


def _first_sentence(model: type[pydantic.BaseModel]) -> str:
    return " ".join((model.__doc__ or "").split("\n\n")[0].split())


_FOR = {
    Tier.ANCHORED: "a service with a floor",
    Tier.RESUMABLE: "training",
    Tier.STAGED: "pipelines redone from their last stage",
    Tier.REQUEUED: "jobs that are started again",
    Tier.SCAVENGER: "anything goes",
}


def _preset(tier: Tier) -> str:
    preset: Preset = PRESETS[tier]
    keep = preset.checkpoint
    saves = f"checkpoint {keep.mode}"
    if keep.interval is not None:
        saves += f" every {format_duration(keep.interval)}"
    if keep.size is not None:
        saves += f", {format_size(keep.size)} a unit"
    return (
        f"{_FOR[tier]}; drain {format_duration(preset.drain.budget)} {preset.drain.how}, {saves}, restart "
        f"{preset.restart}, tolerance {preset.tolerance}, a run of {format_duration(preset.expected_run_s)}"
    )


# ------------------------------------------------------------------------------------------- rules between two fields


def _when(field: str, values: list[Any], then: Schema) -> Schema:
    return {"if": {"required": [field], "properties": {field: {"enum": values}}}, "then": then}


def _one_of(first: str, second: str) -> Schema:
    return {"oneOf": [{"required": [first]}, {"required": [second]}]}


_SOME: Schema = {"minItems": 1}

_RULES: Mapping[str, list[Schema]] = {
    "RunsOn": [_one_of("kubernetes", "slurm")],
    "Drain": [
        _when("how", ["command"], {"required": ["command"], "properties": {"command": _SOME}}),
        _when("how", ["evict", "signal-and-wait", "nothing"], {"properties": {"command": {"maxItems": 0}}}),
    ],
    "Checkpoint": [
        _when("mode", ["periodic", "both"], {"required": ["interval"]}),
        _when("mode", ["on-notice", "both"], {"required": ["size"]}),
    ],
    "Deadline": [
        {"not": {"required": ["at", "after"]}},
        {"if": {"required": ["work"]}, "then": {"anyOf": [{"required": ["at"]}, {"required": ["after"]}]}},
    ],
    "Fallback": [_when("allowed", [True], {"required": ["authority", "limitPerDay"]})],
    "GroupFile": [_when("fallsWith", ["observed"], {"required": ["evidence"]})],
    "Pause": [
        _when("scope", ["estate"], {"not": {"required": ["name"]}}),
        _when("scope", ["region", "pool", "workload"], {"required": ["name"]}),
    ],
    "AdoptionFile": [
        {
            "oneOf": [
                {"required": ["servers"], "properties": {"servers": _SOME, "selector": {"maxProperties": 0}}},
                {
                    "required": ["selector"],
                    "properties": {"selector": {"minProperties": 1}, "servers": {"maxItems": 0}},
                },
            ]
        }
    ],
}
