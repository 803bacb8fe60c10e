"""HiGHS as the planner uses it: silent from the first call, and the same pivots in every run.

The linear program and the benchmark's peer construct their solvers here and nowhere else.
"""

from __future__ import annotations

import highspy


class Solver(highspy.Highs):
    """A solver that never writes to standard output, where plans and JSON go."""

    def enableCallbacks(self) -> None:  # noqa: N802 - the name is highspy's
        """Silences the solver first: its constructor ends here, and registering callbacks prints the banner."""
        self.setOptionValue("output_flag", False)  # noqa: FBT003 - the binding takes no names
        super().enableCallbacks()  # type: ignore[no-untyped-call]  # untyped in highspy


def solver(**options: str | float | bool) -> Solver:
    """A silent solver with the given options; raises `ValueError` for an option that HiGHS refuses."""
    made = Solver()  # type: ignore[no-untyped-call]  # highspy's constructor is untyped
    for name, value in options.items():
        if made.setOptionValue(name, value) == highspy.HighsStatus.kError:
            raise ValueError(f"HiGHS refuses {name} = {value}")
    return made
