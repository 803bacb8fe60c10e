"""A compiled region: its payloads and the list of them, by the names under which they are signed, published and read.

`compiled_files` makes the files, `is_compiled` says whether a name may be one of them. Pure. It must not know folders,
signatures, nor what a payload holds.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from contracts.canonical import JsonValue, canonical
from repo_layout.model import Estate
from repo_layout.payload import digest, node_payloads, region_payload
from repo_layout.sign import COMPILED, NODES, REGION

FORMAT: Final = 1
"""Of `compiled.json`."""

_KEY = r"(?:[0-9a-f]{12}|keyless)"
_NAME = r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?"
_FILES = re.compile(
    rf"compiled\.json|region(?:\.{_KEY}\.sigstore)?\.json|nodes/{_NAME}(?:\.{_KEY}\.sigstore|\.bundle)?\.json", re.ASCII
)


def compiled_files(estate: Estate, region: str) -> Mapping[str, bytes]:
    """Every file of one compiled region, sorted by name: `compiled.json` names each payload with its SHA-256.

    Only that list names the commit; the payloads do not. Raises `KeyError` for a region that is not there, `Refused`
    for a payload that is too large (a checked estate has no such node payload).
    """
    payloads = {f"{NODES}{name}.json": payload for name, payload in node_payloads(estate, region).items()}
    payloads[REGION] = region_payload(estate, region)
    listing: dict[str, JsonValue] = {
        "format": FORMAT,
        "estate": estate.settings.estate,
        "region": region,
        "commit": estate.commit,
        "payloads": {name: digest(payload) for name, payload in payloads.items()},
    }
    return dict(sorted({**payloads, COMPILED: canonical(listing)}.items()))


def is_compiled(name: str) -> bool:
    """Whether a compiled folder, signed or not, may hold a file of that name."""
    return _FILES.fullmatch(name) is not None
