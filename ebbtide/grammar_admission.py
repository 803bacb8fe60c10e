"""What can be typed behind `ebbtide admission`: part of `ebbtide.grammar`, as light."""

from __future__ import annotations

import argparse


def admission(to: argparse.ArgumentParser) -> None:
    """`ebbtide admission`."""
    to.add_argument("where", metavar="DIR|REPO", help="a signed folder, or the repository where bundles are published")
    told = "the key set held; repeat for newer ones"
    to.add_argument("--trust", metavar="KEYSET", action="append", required=True, help=told)
    to.add_argument("--cluster", metavar="C", required=True, help="the scheduler cluster to render for")
    to.add_argument("--out", metavar="FOLDER", required=True, help="where the files go")
    to.add_argument("--region", metavar="R", help="which region's bundle of a REPO (default: its only one)")
    to.add_argument("--accepted", metavar="FILE", help="refuse what is older than noted there, and note what holds")
    to.add_argument("--warn", action="store_true", help="Kubernetes: warn and write the audit log instead of refusing")
