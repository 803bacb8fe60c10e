"""From a signed bundle to the estate that it holds: verified by a key set, offline, and never anything less.

`ebbtide plan`, `ebbtide run` and `ebbtide admission` call it. What was compiled is read as it was signed: no
repository, no schema and no rule is asked again.
"""

from __future__ import annotations

import argparse
from dataclasses import dataclass
from pathlib import Path

from contracts.key_set import KeySet
from contracts.verify import NOTHING, Late
from ebbtide.advice import Advice
from ebbtide.estate import at_hand, estate_of
from ebbtide.trust import key_set_for, offered_at
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.adapters.clock import now_ms
from repo_layout.model import Estate
from repo_layout.sign import REGION
from repo_layout.taking import Held, verified_region


@dataclass(frozen=True, slots=True)
class TakenEstate:
    """An estate to work from, and words for the screen; `payload` is empty where it was read from reviewed files."""

    estate: Estate
    shown: str
    payload: bytes = b""


def estate_or_bundle(args: argparse.Namespace) -> TakenEstate:
    """What the options name: `--bundle` by `--trust`, else `--estate`. Errors are those of either way."""
    if args.bundle is None:
        if args.trust or args.accepted:
            option = "--trust" if args.trust else "--accepted"
            raise Advice(f"{option} says how to believe a bundle, and none is named", hint="name one with --bundle")
        estate, shown = estate_of(at_hand(args.estate))
        return TakenEstate(estate, shown)
    if not args.trust:
        raise Advice("nothing is taken from a bundle without a key set", hint="name the key set held with --trust")
    return taken(args.bundle, region=args.region, trust=args.trust, accepted=args.accepted, now=now_ms())


def taken(where: str, *, region: str, trust: list[str], accepted: str | None, now: int) -> TakenEstate:
    """The estate of one region's bundle: of a signed folder, or of what a repository or address has on its ref.

    `trust` are key sets, the one held first; those that lie with the bundle are followed as well. `accepted` is a file
    that notes what was taken, so that nothing older is taken again. Raises `Untrusted` with its reason for anything
    that does not hold, an expired bundle included.
    """
    kept = AcceptedFile(Path(accepted)) if accepted else None
    held, keys = held_at(where, region=region, trust=trust, kept=kept, now=now, late=Late.REFUSE)
    if kept is not None:
        kept.accept(held.verified, keys)
    shown = f"estate {keys.estate}, bundle version {held.verified.statement.version}"
    return TakenEstate(held.estate, shown, held.payload)


def held_at(
    where: str, *, region: str | None, trust: list[str], kept: AcceptedFile | None, now: int, late: Late
) -> tuple[Held, KeySet]:
    """What a folder or a repository's ref holds of one region, verified, and the key set that says so.

    Nothing older than `kept` notes is taken; whoever acts on the answer notes it there. Raises `Untrusted`, and
    `Advice` where there is no payload at all.
    """
    region, folder = offered_at(where, region)
    if REGION not in folder.files:
        raise Advice(
            f"{folder.where} holds no {REGION}", hint="name a folder that ebbtide sign signed, or a repository"
        )
    keys = key_set_for(trust, folder.files)
    before = kept.read() if kept is not None else NOTHING
    return verified_region(folder.files, keys=keys, region=region, accepted=before, now=now, late=late), keys
