"""`ebbtide explain contract`: one contract as it holds, read from an estate and no run."""

from __future__ import annotations

import argparse

from contracts.findings import Severity
from ebbtide import render_contract
from ebbtide.advice import Advice, unknown
from ebbtide.estate import at_hand, checked, reference, source, tree_of
from ebbtide.terminal import Terminal
from repo_layout.contract_facts import time_lines, values_of, verdicts
from repo_layout.contract_room import room_of
from repo_layout.known_names import at


def show(args: argparse.Namespace, terminal: Terminal) -> None:
    """Show it; a contract that the rules refuse is explained as well, with their findings."""
    where = at_hand(args.estate)
    what = source(where or str(reference()))
    tree = tree_of(what)
    shown = what.described(tree) if where else "the reference estate"
    verdict = checked(tree)
    validate = f"ebbtide validate {where or str(reference())}"
    if verdict.estate is None:
        raise Advice(f"{shown} cannot be read as a whole, so nothing in it can be explained", hint=validate)
    estate = verdict.estate
    contract = estate.contract_by_name.get(args.name)
    if contract is None:
        raise unknown("contract", args.name, estate.contract_by_name, lists="contracts lie in contracts/<team>/")
    name = estate.region_of_cluster.get(contract.cluster)
    if name is None:
        raise Advice(f"no region has the cluster {contract.cluster} of {contract.name}", hint=validate)
    region = estate.region(name)
    judged = verdicts(contract, region, estate.pools_of(name))
    lines = time_lines(contract, region, judged)
    place = at(estate, f"contract/{contract.name}")
    view = render_contract.ContractView(
        contract=contract,
        region=region,
        place=place,
        read=shown,
        values=values_of(estate, contract),
        lines=lines,
        pools=judged,
        room=room_of(estate, contract, lines),
        findings=tuple(
            found
            for found in verdict.findings
            if found.place.file == place.file and found.severity is not Severity.UNJUDGED
        ),
    )
    if terminal.as_json:
        terminal.document(render_contract.as_document(view))
    else:
        terminal.lines(render_contract.as_text(view, terminal.paint))
