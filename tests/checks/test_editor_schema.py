"""The editors' schemas: whole, explained to the last field, and of one mind with the models as far as they can be."""

from __future__ import annotations

import json
from collections.abc import Iterator

import jsonschema
import pytest
from hypothesis import given, settings
from pydantic import BaseModel, ValidationError

from contracts.fields import read_document
from repo_layout.canonical_text import inner_model
from repo_layout.editor_schema import BEYOND, editor_schema, editor_settings, file_name
from repo_layout.faults import model_faults
from repo_layout.field_notes import NOTES
from repo_layout.layout import Kind, Located, locate
from repo_layout.load import MODELS
from repo_layout.strict_yaml import parse
from tests.checks.documents import WHOLE, documents
from tests.checks.estates import MINIMAL, ROOT

ESTATE = ROOT / "repo_layout" / "estate"
JUDGES = {
    kind: jsonschema.Draft7Validator(editor_schema(kind), format_checker=jsonschema.Draft7Validator.FORMAT_CHECKER)
    for kind in MODELS
}


def models(model: type[BaseModel]) -> Iterator[type[BaseModel]]:
    yield model
    for info in model.model_fields.values():
        if inner := inner_model(info.annotation):
            yield from models(inner)


def test_every_field_is_explained_and_no_note_is_left_of_one_that_went() -> None:
    known = {model for document in MODELS.values() for model in models(document)}
    fields = {f"{model.__name__}.{info.alias}" for model in known for info in model.model_fields.values()}
    noted = {note for note in NOTES if note.partition(".")[0] in {model.__name__ for model in known}}
    assert fields == noted


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.value)
def test_a_schema_is_one_and_stands_alone(kind: Kind) -> None:
    jsonschema.Draft7Validator.check_schema(editor_schema(kind))
    jsonschema.Draft202012Validator.check_schema(editor_schema(kind) | {"$schema": ""})
    assert "$ref" not in json.dumps(editor_schema(kind))


@pytest.mark.parametrize("folder", [ESTATE, MINIMAL], ids=lambda folder: folder.name)
def test_the_files_of_our_estates_agree_with_their_schemas(folder: object) -> None:
    for path in sorted((ESTATE if folder is ESTATE else MINIMAL).rglob("*.yaml")):
        root = ESTATE if folder is ESTATE else MINIMAL
        located = locate(str(path.relative_to(root)))
        assert isinstance(located, Located)
        data = parse(str(path), path.read_bytes()).data
        assert [error.message for error in JUDGES[located.kind].iter_errors(data)] == [], path


def beyond_a_schema(kind: Kind, document: dict[str, object]) -> bool:
    """Whether everything that the model has against a document is of what a schema cannot say."""
    try:
        read_document(MODELS[kind], document)
    except ValidationError as error:
        faults = model_faults(MODELS[kind], error)
        return all(
            fault.code in BEYOND
            or "zone" in fault.expected.lower()
            or (fault.expected == "a whole number" and fault.seen.endswith(".0"))
            for fault in faults
        )
    return True


@settings(max_examples=400, deadline=None)
@given(documents())
def test_schema_and_model_judge_alike(drawn: tuple[Kind, dict[str, object]]) -> None:
    kind, document = drawn
    told = [error.message for error in JUDGES[kind].iter_errors(document)]
    try:
        read_document(MODELS[kind], document)
    except ValidationError:
        assert told or beyond_a_schema(kind, document)
    else:
        assert told == []


@pytest.mark.parametrize("kind", MODELS, ids=lambda kind: kind.value)
def test_a_whole_document_passes_and_one_with_an_unknown_field_does_not(kind: Kind) -> None:
    for document in WHOLE[kind]:
        assert JUDGES[kind].is_valid(document)
        assert not JUDGES[kind].is_valid({**document, "flor": 3})


def test_the_tier_tells_its_presets() -> None:
    tier = editor_schema(Kind.CONTRACT)["properties"]["tier"]
    assert "`anchored`: a service with a floor; drain 1m evict, checkpoint both every 5m" in tier["description"]
    assert len(tier["enumDescriptions"]) == len(tier["enum"]) == 5


def test_editors_are_told_which_files_have_which_schema() -> None:
    told = editor_settings(".ebbtide/schema")["yaml.schemas"]
    assert told["./.ebbtide/schema/contract.schema.json"] == "contracts/*/*.yaml"
    assert told["./.ebbtide/schema/settings.schema.json"] == "ebbtide.yaml"
    assert set(told) == {f"./.ebbtide/schema/{file_name(kind)}" for kind in MODELS}
