"""Every even line of the corpus, as it says: what was once found is not found again."""

from __future__ import annotations

import pytest

from simulation.hunt import Kept
from tests.simulation.kept_histories import halves, hold, named


@pytest.mark.parametrize("kept", halves()[1], ids=named)
def test_every_promise_holds(kept: Kept) -> None:
    hold(kept)
