"""Sources of recorded reclamations, and the traces of a folder. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ebbtide.text import Paint, columns, count, wrapped
from simulation.trace_catalogue import TraceSource
from simulation.trace_formats import TraceFile


@dataclass(frozen=True, slots=True)
class TracesView:
    """All public sources, and what the folder holds (empty: none is named)."""

    sources: Sequence[TraceSource]
    folder: str
    found: Sequence[TraceFile]


def as_text(view: TracesView, paint: Paint) -> list[str]:
    """A block a source, then the folder."""
    lines = ["Public sources. None of them comes with Ebbtide: some carry no licence.", ""]
    for source in view.sources:
        reads = f"read as {source.format.value}" if source.format else "not a trace of losses; nothing reads it here"
        lines.append(paint.bold(source.name) + paint.dim(f"  {reads}; terms: {source.terms}"))
        for label, text in (("", source.what), ("get it: ", source.obtain), ("files: ", source.shape)):
            lines += wrapped(label + text, indent="  ")
        for trap in source.traps:
            first, *rest = wrapped(trap, indent="    ")
            lines += [f"  - {first.lstrip()}", *rest]
        lines.append("")
    if not view.folder:
        return [*lines, "EBBTIDE_TRACES names no folder: demo, plan and run draw their day from the region model."]
    lines.append(paint.bold(f"{view.folder}: {count(len(view.found), 'trace')}"))
    lines += columns([(trace.name, trace.format.value) for trace in view.found], "<<", indent="  ")
    if view.found:
        lines.append(f"next  ebbtide demo --trace {view.found[0].name}")
    return lines


def as_document(view: TracesView) -> dict[str, object]:
    """The same for machines."""
    return {
        "sources": [
            {
                "name": source.name,
                "what": source.what,
                "obtain": source.obtain,
                "shape": source.shape,
                "traps": list(source.traps),
                "terms": source.terms,
                "format": source.format.value if source.format else "",
            }
            for source in view.sources
        ],
        "folder": view.folder,
        "found": [{"name": trace.name, "format": trace.format.value} for trace in view.found],
    }
