"""HiGHS as the planner uses it."""

from __future__ import annotations

import subprocess
import sys

import pytest

from benchmarks.placement_instance import instance
from reconciler.placement import place
from reconciler.placement_solver import solver

FIRST_PLAN = """
from benchmarks.placement_instance import instance
from reconciler.placement import place
print(place(instance(40, 20), mode="full").mode)
"""


def test_a_full_plan_writes_nothing_to_standard_output(capfd: pytest.CaptureFixture[str]) -> None:
    place(instance(40, 20), mode="full")
    assert capfd.readouterr().out == ""


def test_the_first_plan_of_a_process_writes_nothing_but_what_the_caller_prints() -> None:
    ran = subprocess.run([sys.executable, "-c", FIRST_PLAN], check=True, capture_output=True, text=True)
    assert (ran.stdout, ran.stderr) == ("full\n", "")


def test_an_option_that_highs_refuses_is_an_error() -> None:
    with pytest.raises(ValueError, match="no_such_option"):
        solver(no_such_option=1)
