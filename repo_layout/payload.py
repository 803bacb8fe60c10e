"""Payloads: what one region's reconciler and each workload's nodes are given of a commit, as canonical bytes.

The compiler writes them, `read_region` makes an estate of a region's again. Pure: the same reviewed content gives the
same bytes on any machine, whatever the order and names of its files, and whichever commit holds it; the commit stands
in what is signed about a payload. It must not know signatures, folders or how a file was written.

What goes into a region's payload, and why:

- everything that its reconciler decides by: settings (this region alone, and the pauses that touch it), its contracts
  with their tiers' gaps filled, pools, groups, approvals, adoptions, waivers, and the join profiles of its pools;
- of the directory whole entries, names and addresses included, of those people only whom these files name, and their
  deputies: a reconciler has to page them while the code host is down. Bundles travel in refs of the estate's own
  repository, whose readers can read `directory.yaml` anyway.

Observed history stays out: the compiler weighs it, a reconciler has its own.

A node payload names no person at all, for it ends in user data, which any process on the node can read.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from enum import Enum
from typing import Any, Final, TypeVar, cast

from pydantic import BaseModel, ValidationError

from contracts.bundle import (
    FORMAT,
    FormatConverter,
    NodeCheckpoint,
    NodeDrain,
    NodePayload,
    NodePlace,
    NodeUnit,
    open_payload,
    write_node,
)
from contracts.canonical import JsonValue, canonical
from contracts.errors import Refused
from contracts.fields import Declared
from contracts.model import Contract
from contracts.values import ClockTime, Money, format_money
from correlation_groups.model import GroupFile
from pools.eligibility import eligible
from pools.join_profiles import JoinProfileFile
from pools.model import Pool, PoolFile, PoolRow, rows_of
from repo_layout.documents import (
    AdoptionFile,
    ApprovalFile,
    DirectoryEntry,
    RegionEntry,
    SettingsFile,
    WaiverFile,
)
from repo_layout.model import Estate

MAX_REGION_PAYLOAD: Final = 16 * 2**20
"""Bytes; a region of 5,000 contracts has 5 MiB."""

SHELVES: Final = (
    "contracts", "pools", "groups", "directory", "approvals", "adoptions", "waivers", "joinProfiles",
)  # fmt: skip
KNOWN: Final = frozenset({"kind", "region", "settings", *SHELVES})
"""The fields of a region payload that this version reads."""

CONVERTERS: Mapping[int, FormatConverter] = {}
"""As `contracts.bundle.CONVERTERS`, for region payloads."""

One = TypeVar("One", bound=Declared)


def digest(payload: bytes) -> str:
    """The name of a payload in everything that is signed: hexadecimal SHA-256."""
    return hashlib.sha256(payload).hexdigest()


# ---------------------------------------------------------------------------------------------------------- the region


def narrowed(estate: Estate, region: str) -> Estate:
    """The estate as one region needs it, without places in files and without history.

    Doing it again changes nothing. Raises `KeyError` for a region that is not there.
    """
    entry = estate.region(region)
    contracts, pools = estate.contracts_of(region), estate.pools_of(region)
    named = {pool.join_profile for pool in pools}
    own = {c.name for c in contracts}
    elsewhere = set(estate.contract_by_name) - own
    here = {"region": {region}, "pool": {p.name for p in pools}, "workload": own}
    pauses = tuple(p for p in estate.settings.pauses if p.scope == "estate" or p.name in here[p.scope])
    less = replace(
        estate,
        settings=estate.settings.model_copy(update={"regions": (entry,), "pauses": pauses}),
        contracts=contracts,
        pools=pools,
        groups=estate.groups_of(region),
        approvals=tuple(a for a in estate.approvals if a.subject not in elsewhere),
        adoptions=tuple(a for a in estate.adoptions if a.region == region),
        waivers=tuple(w for w in estate.waivers if w.region == region),
        join_profiles=tuple(p for p in estate.join_profiles if p.name in named),
        history=(),
        sources={},
    )
    return replace(less, directory=_answering(less))


def region_payload(estate: Estate, region: str) -> bytes:
    """The canonical bytes of one region.

    Raises `KeyError` for a region that the estate does not have, `Refused` above `MAX_REGION_PAYLOAD`, which no reader
    would take.
    """
    less = narrowed(estate, region)
    shelves: dict[str, Iterable[BaseModel]] = {
        "contracts": less.contracts,
        "pools": _files_of(less.pools),
        "groups": less.groups,
        "directory": less.directory,
        "approvals": less.approvals,
        "adoptions": less.adoptions,
        "waivers": less.waivers,
        "joinProfiles": less.join_profiles,
    }
    document: dict[str, JsonValue] = {
        "format": FORMAT,
        "require": [],
        "kind": "region",
        "region": region,
        "settings": plain(less.settings),
        **{name: [plain(item) for item in items] for name, items in shelves.items()},
    }
    raw = canonical(document)
    if len(raw) > MAX_REGION_PAYLOAD:
        raise Refused(
            f"the payload of {region} has {len(raw):,} bytes, more than {MAX_REGION_PAYLOAD:,}: split the region"
        )
    return raw


def read_region(
    payload: bytes,
    *,
    commit: str = "",
    committed_at: int = 0,
    converters: Mapping[int, FormatConverter] = CONVERTERS,
) -> Estate:
    """The estate of a region's payload, equal to the one `narrowed` gave; the commit is what was signed about it.

    Raises `Refused` for bytes that `region_payload` of this version or the one before did not write.
    """
    try:
        document = open_payload(payload, limit=MAX_REGION_PAYLOAD, known=KNOWN, converters=converters)
        settings = _settings(document)
        read = {name: _list(document, name) for name in SHELVES}
        rows = [row for declared in _all(PoolFile, read["pools"]) for row in rows_of(declared, default_window_s=0)]
        return Estate(
            commit=commit,
            committed_at=committed_at,
            settings=settings,
            directory=_all(DirectoryEntry, read["directory"]),
            contracts=_all(Contract, read["contracts"]),
            pools=tuple(sorted(rows, key=lambda row: row.name)),
            groups=_all(GroupFile, read["groups"]),
            approvals=_all(ApprovalFile, read["approvals"]),
            adoptions=_all(AdoptionFile, read["adoptions"]),
            waivers=_all(WaiverFile, read["waivers"]),
            join_profiles=_all(JoinProfileFile, read["joinProfiles"]),
        )
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(map(str, first["loc"]))
        raise Refused(f"this is no region payload: {where}: {first['msg']}") from None
    except ValueError as error:
        raise Refused(f"this is no region payload: {error}") from None


def _answering(estate: Estate) -> tuple[DirectoryEntry, ...]:
    """The entries of everybody whom the estate's files name, of their deputies, and of who may sign approvals."""
    wanted: list[str | None] = [
        *(entry.id for entry in estate.directory if entry.approval_key),
        *(name for c in estate.contracts for name in (c.owner, c.contact, c.fallback.authority, c.fallback.approver)),
        *(name for a in estate.approvals for name in (a.approver, a.requester)),
        *(w.approver for w in estate.waivers),
    ]
    found: dict[str, DirectoryEntry] = {}
    while wanted:
        name = wanted.pop()
        entry = estate.directory_by_id.get(name or "")
        if entry is not None and entry.id not in found:
            found[entry.id] = entry
            wanted.extend(entry.deputies)
    return tuple(found[name] for name in sorted(found))


def _files_of(pools: Sequence[Pool]) -> list[PoolFile]:
    """Rows as the files that declare them, one an aggregate: what its rows share is written once."""
    aggregates: dict[tuple[str, str], list[Pool]] = {}
    for pool in pools:
        aggregates.setdefault((pool.region, pool.aggregate), []).append(pool)
    return [_file_of(rows) for _, rows in sorted(aggregates.items())]


def _file_of(rows: Sequence[Pool]) -> PoolFile:
    one = rows[0]
    return PoolFile(
        api_version="ebbtide/v1",
        kind="Pools",
        region=one.region,
        hall=one.hall,
        aggregate=one.aggregate,
        domain=one.domain,
        project=one.project,
        join_profile=one.join_profile,
        notice_window=one.notice_window_s,
        checkpoint_throughput=one.checkpoint_throughput,
        user_data_limit=one.user_data_limit,
        hosts=one.hosts,
        attributes=one.attributes,
        maintenance=one.maintenance,
        rows=tuple(
            PoolRow(
                name=row.name,
                flavor=row.flavor,
                rate_class="committed" if row.committed else "reclaimable",
                instance=row.instance,
            )
            for row in rows
        ),
    )


def _settings(document: Mapping[str, JsonValue]) -> SettingsFile:
    """The settings of a document that says it is a region's. Raises `ValueError` where they are another's."""
    if document.get("kind") != "region":
        raise ValueError("its kind is not region")
    settings = _read(SettingsFile, document.get("settings"))
    if [entry.name for entry in settings.regions] != [document.get("region")]:
        raise ValueError("its settings are not those of its region alone")
    return settings


def _list(document: Mapping[str, JsonValue], name: str) -> Sequence[JsonValue]:
    items = document.get(name)
    if not isinstance(items, list):
        raise ValueError(f"{name} is no list")  # noqa: TRY004 - callers turn ValueError into their refusal
    return cast("Sequence[JsonValue]", items)


def _all(model: type[One], items: Sequence[JsonValue]) -> tuple[One, ...]:
    return tuple(_read(model, item) for item in items)


def _read(model: type[One], item: JsonValue | None) -> One:
    return model.model_validate(item, by_alias=True, by_name=False)


# ----------------------------------------------------------------------------------------------------------- the nodes


def node_payloads(estate: Estate, region: str) -> Mapping[str, bytes]:
    """The canonical bytes of every workload of a region, by its name.

    Raises `Refused` for one that is too large, which a checked estate does not have.
    """
    entry = estate.region(region)
    pools = [pool for pool in estate.pools_of(region) if not pool.committed]
    return {
        contract.name: write_node(node_payload(estate.settings.estate, entry, contract, pools))
        for contract in estate.contracts_of(region)
    }


def node_payload(estate: str, region: RegionEntry, contract: Contract, pools: Sequence[Pool]) -> NodePayload:
    """What the nodes of one workload are given; `pools` are the region's reclaimable ones."""
    margin = region.verification_margin
    windows = [p.notice_window_s for p in pools if eligible(contract, p, verification_margin_s=margin)]
    kubernetes, slurm = contract.runs_on.kubernetes, contract.runs_on.slurm
    return NodePayload(
        estate=estate,
        region=region.name,
        workload=contract.name,
        team=contract.team,
        tier=contract.tier.value,
        contract=digest(canonical(plain(contract))),
        restart=contract.restart,
        gang=contract.gang_size,
        notice_window_s=min(windows, default=region.notice_window),
        verification_margin_s=margin,
        unit=NodeUnit(contract.unit.vcpu, contract.unit.memory, contract.unit.gpu, contract.unit.local_disk),
        place=NodePlace(
            scheduler="kubernetes" if kubernetes else "slurm",
            cluster=contract.cluster,
            namespace=kubernetes.namespace if kubernetes else "",
            selector=kubernetes.selector if kubernetes else {},
            partition=slurm.partition if slurm else "",
            account=slurm.account if slurm else "",
        ),
        drain=NodeDrain(contract.drain.budget, contract.drain.how, contract.drain.command),
        checkpoint=NodeCheckpoint(
            contract.checkpoint.mode,
            contract.checkpoint.interval,
            contract.checkpoint.size,
            contract.checkpoint.start_up,
        ),
    )


# ------------------------------------------------------------------------------------------------------- plain values


def plain(value: object) -> JsonValue:
    """A declared value in the names of its file and in one form each: seconds, bytes, shortest decimals, dates.

    A field that is absent is left out; one that has its default is written out, because defaults may change.
    """
    match value:
        case BaseModel():
            return _fields_of(value)
        case None | bool() | int() | str():
            return value
        case Enum():
            return str(value.value)
        case Money():
            return format_money(value)
        case Decimal():
            return f"{value.normalize():f}"
        case ClockTime():
            return str(value)
        case dt.date():
            return value.isoformat()
        case Mapping():
            return {str(key): plain(item) for key, item in value.items()}
        case list() | tuple():
            return [plain(item) for item in value]
        case _:
            raise ValueError(f"{type(value).__name__} has no plain form")


def _fields_of(model: BaseModel) -> dict[str, JsonValue]:
    fields: Mapping[str, Any] = type(model).model_fields
    named = ((info.alias or name, getattr(model, name)) for name, info in fields.items())
    return {name: plain(value) for name, value in named if value is not None}
