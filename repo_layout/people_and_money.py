"""Rules about who answers for what: people, roles, teams, authority and currency; and contradictory promises.

Called from the table in `repo_layout.feasibility`, with each tier's gaps filled. What several contracts come to is
`repo_layout.sums`'s to judge, and what has expired `repo_layout.terms`'s.
"""

from __future__ import annotations

from collections.abc import Iterator

from contracts.findings import Finding
from contracts.model import Contract
from contracts.values import Money
from repo_layout.known_names import at, unknown
from repo_layout.model import Estate


def people_known(estate: Estate) -> Iterator[Finding]:
    """Every id stands in the directory; an authority is a person whose spend authority covers the limit."""
    for key, ident in _ids(estate):
        if ident not in estate.directory_by_id:
            yield unknown("EBT-204", at(estate, key), "directory entry", ident, estate.directory_by_id)
    for entry in estate.directory:
        if entry.id in entry.deputies:
            place = at(estate, f"directory/{entry.id}/deputies/{entry.deputies.index(entry.id)}")
            yield Finding("EBT-204", place, f"{entry.id} is their own deputy", entry.id, "somebody else's id")
    for key, ident in _words(estate):
        named = estate.directory_by_id.get(ident)
        if named is not None and named.kind != "person":
            message = f"{ident} is a role, and only a person gives their word"
            yield Finding("EBT-204", at(estate, key), message, ident, "the id of a person")
    for contract in estate.contracts:
        yield from _authority(estate, contract)


def _words(estate: Estate) -> Iterator[tuple[str, str]]:
    """Whose word an approval or a waiver is."""
    for approval in estate.approvals:
        yield f"{approval.key}/approver", approval.approver
    for waiver in estate.waivers:
        yield f"waiver/{waiver.region}/{waiver.eligibility_class}/approver", waiver.approver


def _ids(estate: Estate) -> Iterator[tuple[str, str]]:
    for contract in estate.contracts:
        key = f"contract/{contract.name}"
        yield f"{key}/owner", contract.owner
        yield f"{key}/contact", contract.contact
        if contract.fallback.authority is not None:
            yield f"{key}/fallback/authority", contract.fallback.authority
        if contract.fallback.approver is not None:
            yield f"{key}/fallback/approver", contract.fallback.approver
    for entry in estate.directory:
        for n, deputy in enumerate(entry.deputies):
            yield f"directory/{entry.id}/deputies/{n}", deputy
    for approval in estate.approvals:
        yield f"{approval.key}/requester", approval.requester
    yield from _words(estate)


def _authority(estate: Estate, contract: Contract) -> Iterator[Finding]:
    fallback = contract.fallback
    entry = estate.directory_by_id.get(fallback.authority or "")
    if not fallback.allowed or entry is None:
        return
    place = at(estate, f"contract/{contract.name}/fallback/authority")
    if entry.kind != "person":
        message = f"{entry.id} is a role, and only a person answers for money"
        yield Finding("EBT-204", place, message, entry.id, "the id of a person")
        return
    limit, own = fallback.limit_per_day, entry.spend_authority_per_day
    if limit is None or (own is not None and own.currency != limit.currency):
        return  # one of them is not in the estate's currency, which EBT-212 says
    if own is None or limit > own:
        place = at(estate, f"contract/{contract.name}/fallback/limitPerDay")
        has = f"{own} a day" if own is not None else "no spend authority"
        message = f"the limit of {limit} a day is above what {entry.id} may spend: {has}"
        hint = "lower the limit, or name a person with the authority"
        yield Finding("EBT-204", place, message, str(limit), f"at most {own}" if own is not None else "", hint)


def teams_allow(estate: Estate) -> Iterator[Finding]:
    """A contract's team exists and may use its tier."""
    for contract in estate.contracts:
        team = estate.team_by_name.get(contract.team)
        if team is None:
            place = at(estate, f"contract/{contract.name}/team")
            yield unknown("EBT-205", place, "team", contract.team, estate.team_by_name)
        elif contract.tier.value not in team.tiers:
            place = at(estate, f"contract/{contract.name}/tier")
            message = f"the team {team.name} has no tier {contract.tier.value}"
            yield Finding("EBT-205", place, message, contract.tier.value, f"one of {', '.join(team.tiers)}")


def restarts_have_checkpoints(estate: Estate) -> Iterator[Finding]:
    """Work that restarts from a checkpoint has one, once its tier has filled the gaps."""
    for contract in estate.contracts:
        if contract.restart == "from-checkpoint" and contract.checkpoint.mode == "none":
            place = at(estate, f"contract/{contract.name}/restart")
            message = f"{contract.name} restarts from a checkpoint, and no checkpoint is taken"
            hint = f"declare a checkpoint, or another restart: the tier {contract.tier.value} fills in what is absent"
            yield Finding(
                "EBT-211", place, message, "from-checkpoint", "a checkpoint with a mode other than none", hint
            )


def one_currency(estate: Estate) -> Iterator[Finding]:
    """All money is in the estate's currency, so that sums and limits compare."""
    for key, money in _amounts(estate):
        if money is not None and money.currency != estate.settings.currency:
            message = f"{money} is not in the estate's currency, {estate.settings.currency}"
            yield Finding("EBT-212", at(estate, key), message, str(money), f"an amount in {estate.settings.currency}")


def _amounts(estate: Estate) -> Iterator[tuple[str, Money | None]]:
    yield "settings/footprintPerDay", estate.settings.footprint_per_day
    for n, team in enumerate(estate.settings.teams):
        yield f"settings/teams/{n}/spendCeilingPerDay", team.spend_ceiling_per_day
    for entry in estate.directory:
        yield f"directory/{entry.id}/spendAuthorityPerDay", entry.spend_authority_per_day
    for contract in estate.contracts:
        yield f"contract/{contract.name}/fallback/limitPerDay", contract.fallback.limit_per_day
