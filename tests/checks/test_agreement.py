"""The CUE schema and the model are two tellings of one format: what one takes the other takes."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from repo_layout.adapters.cue import Cue
from repo_layout.layout import Kind
from repo_layout.load import judge
from tests.checks.documents import SCALARS, WHOLE, documents, emptied, paths
from tests.checks.estates import source_of


def _differ(cue: Cue, drawn: list[tuple[Kind, dict[str, object]]]) -> list[object]:
    sources = [source_of(kind, data, at) for at, (kind, data) in enumerate(drawn)]
    verdict = cue.judge(sources)
    assert not verdict.findings, verdict.findings
    different: list[object] = []
    for source in sources:
        model, schema = judge(source).faults, verdict.faults.get(source.file, ())
        if bool(model) != bool(schema):
            different.append((source.kind, source.data, model, schema))
    return different


@settings(max_examples=14)
@given(drawn=st.lists(documents(), min_size=40, max_size=40))
def test_schema_and_model_give_the_same_verdict(cue: Cue, drawn: list[tuple[Kind, dict[str, object]]]) -> None:
    assert _differ(cue, drawn) == []


def test_schema_and_model_take_every_whole_document(cue: Cue) -> None:
    sources = [source_of(kind, data, at) for kind, whole in WHOLE.items() for at, data in enumerate(whole)]
    assert not cue.judge(sources).faults
    assert [judge(source).faults for source in sources] == [()] * len(sources)


def test_schema_and_model_agree_on_odd_scalars_at_every_field(cue: Cue) -> None:
    drawn: list[tuple[Kind, dict[str, object]]] = []
    for kind, whole in WHOLE.items():
        for at, name in enumerate(whole[0]):
            # every twelfth scalar, from another one at each field; all of them where the texts are dates
            odd = SCALARS if name == "granted" else SCALARS[at % 12 :: 12]
            drawn.extend((kind, {**whole[0], name: value}) for value in odd)
    assert _differ(cue, drawn) == []


def test_schema_and_model_agree_on_every_field_left_out_or_emptied(cue: Cue) -> None:
    drawn = [
        (kind, changed)
        for kind, wholes in WHOLE.items()
        for whole in wholes
        for path in paths(whole)
        for changed in emptied(whole, path)
    ]
    assert _differ(cue, drawn) == []
