"""Changes of the minimal estate, one effect each, that can be made in any number and order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from repo_layout.load import Known, assemble, read
from repo_layout.model import Estate
from repo_layout.tree import Tree
from tests.checks.estates import FORECAST, GENERAL, HINDCAST, changed, minimal

Files = Mapping[str, bytes]
Edit = Callable[[dict[str, bytes]], None]

_KNOWN = Known()
_MINIMAL = minimal()

WAIVER = b"""apiVersion: ebbtide/v1
kind: Waiver
region: north
class: x86-64
pools: 6
poolShare: 20
groupShare: 40
reason: One hall is being rebuilt.
approver: head-of-cloud
expires: 2027-12-31
"""


def estate_of(files: Files) -> Estate:
    """The estate of files that are well formed; what was parsed before is taken as it is."""
    tree = Tree("worktree", dict(files))
    taken = read(tree, known=_KNOWN)
    estate = assemble(tree, [_KNOWN.judge(source) for source in taken.sources]).estate
    assert estate is not None
    assert not taken.broken
    return estate


def swap(path: str, old: str, new: str) -> Edit:
    """Some text of one file for another."""

    def edit(files: dict[str, bytes]) -> None:
        files.update(changed(path, (old, new), files=files))

    return edit


def add(path: str, content: bytes) -> Edit:
    """One file more, or more lines of one."""

    def edit(files: dict[str, bytes]) -> None:
        files[path] = files.get(path, b"") + content

    return edit


def drop(path: str) -> Edit:
    """One file less."""

    def edit(files: dict[str, bytes]) -> None:
        del files[path]

    return edit


def copied(path: str, to: str, old: str, new: str) -> Edit:
    """A copy of one file under another name."""

    def edit(files: dict[str, bytes]) -> None:
        files[to] = changed(path, (old, new), files=files)[path]

    return edit


def edited(*edits: Edit) -> dict[str, bytes]:
    """The minimal estate with some edits, in their order."""
    files = dict(_MINIMAL)
    for edit in edits:
        edit(files)
    return files


def after(*edits: Edit) -> Estate:
    """The estate that some edits make of the minimal one."""
    return estate_of(edited(*edits))


def reversed_files(files: Iterable[tuple[str, bytes]]) -> dict[str, bytes]:
    """The same files in the other order."""
    return dict(reversed(list(files)))


# No two of them touch the same text, so that any of them go together in any order.
EDITS: Mapping[str, Edit] = {
    "floor": swap(FORECAST, "floor: 4", "floor: 6"),
    "maximum": swap(FORECAST, "maximum: 40", "maximum: 48"),
    "money": swap(FORECAST, "20.00 EUR", "45.00 EUR"),
    "drain": add(FORECAST, b"drain: {budget: 100s, how: evict}\n"),
    "fewer": swap(HINDCAST, "maximum: 24", "maximum: 9"),
    "unit": swap(HINDCAST, "vcpu: 4", "vcpu: 8"),
    "halls": add(HINDCAST, b"eligibility: {avoidHalls: [h1, h2]}\n"),
    "prose": add(HINDCAST, b"reason: Because.\n"),
    "notice": swap(GENERAL, "hosts:", "noticeWindow: 100s\nhosts:"),
    "hosts": swap("pools/north/h2-general-a.yaml", "count: 4", "count: 7"),
    "arm": swap("pools/north/h3-general-b.yaml", "x86_64", "arm64"),
    "pool": add("pools/north/h1-general-c.yaml", _MINIMAL[GENERAL].replace(b"h1-general-a", b"h1-general-c")),
    "no pool": drop("pools/north/h4-general-b.yaml"),
    "group": drop("correlation_groups/north/hall-3.yaml"),
    "waiver": add("waivers/north/x86-64.yaml", WAIVER),
    "new": add("contracts/tides/nowcast.yaml", _MINIMAL[HINDCAST].replace(b"name: hindcast", b"name: nowcast")),
    "limit": swap("ebbtide.yaml", "ncuLimit: 400", "ncuLimit: 300"),
    "authority": swap("directory.yaml", "40.00 EUR", "30.00 EUR"),
    "pause": add("ebbtide.yaml", b"pauses: [{scope: region, name: north, reason: Power works.}]\n"),
    "comment": add("directory.yaml", b"# nothing\n"),
}
