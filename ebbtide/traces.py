"""`ebbtide traces`: where recorded reclamations come from, what misleads in them, and which lie at hand."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from ebbtide.day import TRACES
from ebbtide.render_traces import TracesView, as_document, as_text
from ebbtide.terminal import Terminal
from simulation.trace_catalogue import sources
from simulation.trace_formats import find_traces


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """Always 0, unless the folder that was named does not exist."""
    folder = args.folder or os.environ.get(TRACES, "")
    view = TracesView(sources(), folder, find_traces(Path(folder)) if folder else ())
    if terminal.as_json:
        terminal.document(as_document(view))
    else:
        terminal.lines(as_text(view, terminal.paint))
    return 0
