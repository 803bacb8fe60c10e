"""The effects of a change for machines: one JSON document, nothing left out. Pure.

Its keys are the names of the fields of `repo_layout.change.Effects` and of what stands below them (docs/diff.md).
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping

from contracts.findings import Finding
from contracts.values import Money
from ebbtide.diff_story import verdict
from ebbtide.diff_view import DiffView, Side
from ebbtide.render_findings import finding_document
from repo_layout.change_sums import SpendChange, TeamTotal, UnitsChange


def as_document(view: DiffView) -> dict[str, object]:
    """Everything that the text says, and what it leaves out."""
    return {
        "verdict": verdict(view),
        "code": view.code,
        "where": view.where,
        "base": _side(view.base),
        "head": _side(view.head),
        "note": view.note,
        "seconds": round(view.seconds, 3),
        "paths": list(view.paths),
        "files": _plain(view.compared.files),
        "files_without_effect": list(view.compared.quiet),
        "effects": _plain(view.compared.effects),
        "errors": _plain(view.errors),
        "errors_of_the_base_too": _plain(view.standing),
        "findings": _plain(view.compared.head.findings),
        "approvals": {
            "source": view.owners.path if view.owners else None,
            "owners": _plain(view.owned),
            "owners_changed": _plain(view.owners_changed),
            "people": _plain(view.asked),
        },
        "expiring": [{"key": key, "expires": day.isoformat()} for key, day in view.expiring],
    }


def _side(side: Side) -> dict[str, object]:
    return {"named": side.named, "commit": side.commit}


def _plain(value: object) -> object:
    """Our values as JSON has them: money and dates as text, enums by their words."""
    match value:
        case Finding():
            return finding_document(value)
        case Money():
            return str(value)
        case enum.Enum():
            return value.value
        case dt.date():
            return value.isoformat()
        case list() | tuple():
            return [_plain(item) for item in value]
        case Mapping():
            return {str(key): _plain(item) for key, item in value.items()}
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        shown = {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
        return shown | _judged(value)
    return value


def _judged(value: object) -> dict[str, object]:
    """What a sum says about itself."""
    if isinstance(value, SpendChange | TeamTotal):
        return {"above": value.above}
    return {"needs_approval": value.needs_approval} if isinstance(value, UnitsChange) else {}
