"""`ebbtide approve`: a person's consent to a large removal, signed with their own key while no file can be merged.

It asks nobody: what it writes counts only where the directory of the region's last verified desired state names the key
for that person.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from contracts.approval import Approval, write_approval
from ebbtide.advice import Advice
from ebbtide.stop import APPROVALS
from ebbtide.terminal import Terminal
from ebbtide.trust import passphrase
from reconciler.adapters.approval_files import SUFFIX
from repo_layout.adapters.clock import now_ms
from repo_layout.adapters.durable import replace_file
from repo_layout.sign import CLOCKS_DIFFER_MS

try:
    from repo_layout.adapters.signature import signer
except ImportError as error:
    raise Advice(f"approve needs {error.name}, which is not installed", hint="install ebbtide[signing]") from error


def run(args: argparse.Namespace, terminal: Terminal) -> int:
    """0 when the approval is written."""
    now = now_ms()
    key = signer(Path(args.key), passphrase=passphrase(args))
    said = Approval(
        estate=args.estate,
        region=args.region,
        commit=args.commit,
        approver=args.by,
        reason=args.reason,
        granted=now - CLOCKS_DIFFER_MS,
        expires=now + int(args.valid_for),
    )
    try:
        raw = write_approval(said, key.sign)
    except ValueError as error:
        raise Advice(f"this makes no approval: {error}", hint="ebbtide approve --help says what it takes") from error
    name = f"{args.region}-{args.commit[:12]}-{args.by}{SUFFIX}"
    path = Path(args.out) if args.out else Path(args.state) / APPROVALS / name
    replace_file(path, raw)
    if terminal.as_json:
        terminal.document({"file": str(path), "key": key.key_id, "commit": args.commit, "expires": said.expires})
    else:
        told = f"wrote {path}: {args.by} approves what {args.commit[:12]} takes away in {args.region}"
        terminal.lines([told, f"  it counts where directory.yaml has approvalKey for {args.by}"])
    return 0
