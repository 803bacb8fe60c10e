"""What was compiled, for people and machines: sizes and digests. Pure: values in, text or a document out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ebbtide.text import count
from repo_layout.joins import Largest
from repo_layout.payload import digest
from repo_layout.sign import COMPILED, REGION, workload_of


@dataclass(frozen=True, slots=True)
class CompiledRegion:
    """One region's files by name, and the user data that comes nearest to its pool's limit."""

    name: str
    files: Mapping[str, bytes]
    nearest: Largest | None

    @property
    def nodes(self) -> Mapping[str, bytes]:
        """The node payloads by workload."""
        named = ((name, content) for name, content in self.files.items() if name not in (REGION, COMPILED))
        return {workload_of(name): content for name, content in named}


def as_text(regions: Sequence[CompiledRegion], what: str, out: str, seconds: float) -> list[str]:
    """A block a region, and one line of summary."""
    lines: list[str] = []
    for region in regions:
        payload, nodes = region.files[REGION], region.nodes
        lines.append(f"{region.name}")
        lines.append(f"  region payload   {len(payload):>9,} bytes  sha256 {digest(payload)}")
        if nodes:
            name, largest = max(nodes.items(), key=lambda item: (len(item[1]), item[0]))
            told = f"the largest of {count(len(nodes), 'workload')}, {name}"
            lines.append(f"  node payload     {len(largest):>9,} bytes  {told}")
        if region.nearest is not None:
            size, pool = region.nearest.size, region.nearest.served.pool.name
            told = f"at most, in base64; {pool} takes {size.limit:,}"
            lines.append(f"  user data        {size.encoded:>9,} bytes  {told}")
    files = sum(len(region.files) for region in regions)
    told = f"compiled {what}: {count(files, 'file')} in {out}, {seconds:.2f} s"
    each = [out] if len(regions) == 1 else [f"{out}/{region.name}" for region in regions]
    signing = "--key FILE --version N --requester WHO"
    return [*lines, "", told, *(f"next: ebbtide sign {folder} {signing}" for folder in each)]


def as_document(regions: Sequence[CompiledRegion], *, commit: str, out: str) -> dict[str, object]:
    """The same for machines, with every payload."""
    return {
        "commit": commit,
        "folder": out,
        "regions": [
            {
                "region": region.name,
                "payloads": {
                    name: {"sha256": digest(content), "bytes": len(content)}
                    for name, content in region.files.items()
                    if name != COMPILED
                },
                "largestUserData": _user_data(region.nearest),
            }
            for region in regions
        ],
    }


def _user_data(nearest: Largest | None) -> dict[str, object] | None:
    if nearest is None:
        return None
    size = nearest.size
    return {
        "pool": nearest.served.pool.name,
        "profile": nearest.profile,
        "raw": size.raw,
        "encoded": size.encoded,
        "limit": size.limit,
    }
