"""What a port answered, or an error of ours: no exception of an adapter goes further. Used by everything that asks."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from contracts.errors import EbbtideError, Transient

Answer = TypeVar("Answer")


def answered(call: Callable[[], Answer]) -> Answer:
    """The call's answer, or an error of ours; what no adapter should raise counts as silence."""
    try:
        return call()
    except EbbtideError:
        raise
    except Exception as error:
        raise Transient(f"{type(error).__name__}: {error}") from error


def asked(question: Callable[[], Answer]) -> Answer | None:
    """The answer, or None where there was none."""
    try:
        return answered(question)
    except EbbtideError:
        return None
