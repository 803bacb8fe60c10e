"""The full path of placement: the linear program first, then the integer steps."""

from __future__ import annotations

from reconciler.problem import Placement, Problem


def place_full(problem: Problem) -> Placement:
    """The placement of a problem by the full path."""
    from reconciler.placement import finish, run_steps  # noqa: PLC0415
    from reconciler.placement_state import Standing  # noqa: PLC0415

    standing = Standing(problem)
    return finish(standing, run_steps(standing), mode="full")
