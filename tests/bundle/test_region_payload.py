"""A region's payload gives back the estate it was made of, holds what its region needs, and nobody's else."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import replace
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from contracts.bundle import FORMAT, read_node
from contracts.canonical import JsonValue, canonical
from contracts.errors import Refused
from contracts.fields import Declared, read_document
from contracts.values import parse_money
from reconciler.desired import Partition, partition
from repo_layout.admission import view
from repo_layout.load import MODELS
from repo_layout.model import Estate
from repo_layout.payload import KNOWN, digest, narrowed, node_payloads, plain, read_region, region_payload
from tests.bundle.estates import REGIONS, estate_of, parts, reference
from tests.checks.documents import WHOLE
from tests.checks.estates import minimal


def taken(estate: Estate, region: str) -> Estate:
    return read_region(region_payload(estate, region), commit=estate.commit, committed_at=estate.committed_at)


@pytest.mark.parametrize("region", REGIONS)
def test_the_reference_estate_comes_back_equal(region: str) -> None:
    assert taken(reference(), region) == narrowed(reference(), region)


@settings(max_examples=25)
@given(parts(), st.sampled_from(REGIONS))
def test_any_part_of_an_estate_comes_back_equal(estate: Estate, region: str) -> None:
    back = taken(estate, region)
    assert back == narrowed(estate, region)
    assert region_payload(back, region) == region_payload(estate, region)
    assert node_payloads(back, region) == node_payloads(estate, region)


@pytest.mark.parametrize("region", REGIONS)
def test_a_reconciler_decides_by_the_payload_as_by_the_files(region: str) -> None:
    def decided_by(part: Partition) -> dict[str, object]:
        return {f.name: getattr(part, f.name) for f in dataclasses.fields(part) if f.name != "estate"}

    assert decided_by(partition(taken(reference(), region), region)) == decided_by(partition(reference(), region))


@pytest.mark.parametrize("region", REGIONS)
def test_admission_reads_the_payload_as_it_reads_the_files(region: str) -> None:
    digests = {name: digest(payload) for name, payload in node_payloads(reference(), region).items()}
    for cluster in reference().region(region).clusters:
        views = [
            view(estate, cluster.name, version=1, expires_ms=2, digests=digests)
            for estate in (reference(), taken(reference(), region))
        ]
        assert views[0] == views[1]


def test_every_field_of_an_estate_is_in_the_payload_or_stands_beside_it() -> None:
    beside = {"commit", "committed_at", "sources", "history"}  # signed about it; places in files; weighed when compiled
    camel = {name: name.replace("_p", "P") for name in ("join_profiles",)}
    fields = {camel.get(f.name, f.name) for f in dataclasses.fields(Estate)} - beside
    assert fields == KNOWN - {"kind", "region"}


def test_the_commit_does_not_change_a_byte() -> None:
    other = replace(reference(), commit="d" * 40, committed_at=5)
    assert region_payload(other, "cadiz") == region_payload(reference(), "cadiz")
    assert node_payloads(other, "cadiz") == node_payloads(reference(), "cadiz")


def test_the_directory_holds_those_whom_the_region_names_and_their_deputies_alone() -> None:
    estate = narrowed(reference(), "aarhus")
    named = {c.owner for c in estate.contracts} | {c.contact for c in estate.contracts}
    assert named <= estate.directory_by_id.keys()
    assert all(deputy in estate.directory_by_id for entry in estate.directory for deputy in entry.deputies)
    elsewhere = {c.owner for c in reference().contracts} - named
    assert elsewhere
    assert not elsewhere & estate.directory_by_id.keys()
    assert "@" in estate.directory[0].address  # somebody has to be called while the code host is down


def test_another_regions_contract_does_not_change_a_byte() -> None:
    estate = reference()
    here = {c.name for c in estate.contracts_of("aarhus")}
    grown = tuple(c if c.name in here else c.model_copy(update={"maximum": c.maximum + 1}) for c in estate.contracts)
    assert grown != estate.contracts
    assert region_payload(replace(estate, contracts=grown), "aarhus") == region_payload(estate, "aarhus")


def test_a_node_payload_names_no_person_bucket_or_key() -> None:
    for name, raw in node_payloads(reference(), "bremen").items():
        contract = reference().contract_by_name[name]
        secret = {contract.owner, contract.contact, contract.fallback.authority, contract.checkpoint.bucket}
        assert not [word for word in secret - {None} if f'"{word}"'.encode() in raw]


def test_a_node_payload_says_what_the_contract_says() -> None:
    for name, raw in node_payloads(reference(), "bremen").items():
        node, contract = read_node(raw), reference().contract_by_name[name]
        assert (node.workload, node.team, node.tier) == (name, contract.team, contract.tier.value)
        assert (node.drain.budget_s, node.drain.how) == (contract.drain.budget, contract.drain.how)
        assert (node.checkpoint.interval_s, node.checkpoint.size) == (
            contract.checkpoint.interval,
            contract.checkpoint.size,
        )
        assert node.place.cluster == contract.cluster
        assert node.contract == digest(canonical(plain(contract)))


def test_a_change_of_one_contract_changes_its_own_node_payload_alone() -> None:
    estate = reference()
    one = estate.contracts_of("cadiz")[3]
    later = one.model_copy(update={"drain": one.drain.model_copy(update={"budget": one.drain.budget + 1})})
    contracts = tuple(later if c.name == one.name else c for c in estate.contracts)
    before, after = node_payloads(estate, "cadiz"), node_payloads(replace(estate, contracts=contracts), "cadiz")
    assert [name for name in before if before[name] != after[name]] == [one.name]


WHOLES = [(MODELS[kind], data) for kind, documents in WHOLE.items() for data in documents]


@pytest.mark.parametrize(("model", "data"), WHOLES, ids=lambda value: getattr(value, "__name__", ""))
def test_every_field_of_every_document_survives_its_plain_form(model: type[Declared], data: dict[str, object]) -> None:
    document = read_document(model, data)
    assert model.model_validate(json.loads(canonical(plain(document))), by_alias=True, by_name=False) == document
    assert canonical(plain(document)) == canonical(plain(document.model_copy(deep=True)))


@pytest.mark.parametrize(("one", "other"), [("0.050", "0.05"), ("100", "100.00"), ("0.0000001", "0.00000010")])
def test_the_same_number_is_the_same_text_however_it_was_written(one: str, other: str) -> None:
    assert plain(Decimal(one)) == plain(Decimal(other)) == f"{Decimal(one).normalize():f}"
    assert plain(parse_money("12.5 EUR")) == plain(parse_money("12.500 EUR")) == "12.50 EUR"


GOOD = region_payload(reference(), "cadiz")
DOCUMENT = json.loads(GOOD)


def test_what_a_newer_compiler_adds_is_passed_over_unless_it_is_required() -> None:
    newer = {**DOCUMENT, "history": [1]}
    assert read_region(canonical(newer)) == read_region(GOOD)
    with pytest.raises(Refused, match="requires 'history', which this version does not know"):
        read_region(canonical({**newer, "require": ["history"]}))


@pytest.mark.parametrize(
    "change",
    [
        {"format": FORMAT + 1},
        {"kind": "node"},
        {"region": "bremen"},
        {"contracts": None},
        {"pools": [{}]},
        {"settings": {**DOCUMENT["settings"], "colour": "blue"}},
        {"settings": {**DOCUMENT["settings"], "lostHourWeight": 101}},
        {"contracts": [{**DOCUMENT["contracts"][0], "maximum": "7"}]},
    ],
    ids=",".join,
)
def test_what_no_compiler_wrote_is_no_region_payload(change: dict[str, JsonValue]) -> None:
    with pytest.raises(Refused, match="this is no region payload"):
        read_region(canonical({**DOCUMENT, **change}))


@given(st.binary(max_size=100))
def test_any_bytes_are_refused_and_never_anything_worse(raw: bytes) -> None:
    with pytest.raises(Refused):
        read_region(raw)


def test_a_region_that_no_reader_would_take_is_not_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("repo_layout.payload.MAX_REGION_PAYLOAD", len(GOOD))
    assert region_payload(reference(), "cadiz") == GOOD
    monkeypatch.setattr("repo_layout.payload.MAX_REGION_PAYLOAD", len(GOOD) - 1)
    with pytest.raises(Refused, match=f"the payload of cadiz has {len(GOOD):,} bytes, more than .*: split the region"):
        region_payload(reference(), "cadiz")


def test_a_region_that_is_not_there_is_a_key_error() -> None:
    with pytest.raises(KeyError):
        region_payload(reference(), "atlantis")


def test_the_minimal_estate_comes_back_equal() -> None:
    estate = estate_of(minimal())
    back = read_region(region_payload(estate, "north"), commit=estate.commit, committed_at=estate.committed_at)
    assert back == narrowed(estate, "north")
    assert {p.name for p in back.join_profiles} == {"kubeadm-join"}
