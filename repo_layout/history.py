"""What became of a followed branch since the last verified commit.

`adapters/git_follow` gathers the facts, reconcilers act on the answer. Pure: it must not know Git or the network, and
it never takes a fetch without error for "nothing happened".
"""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FollowState(enum.Enum):
    """How the branch's tip relates to the last verified commit; only the first three may lead to growth."""

    FIRST = "first"
    UP_TO_DATE = "up to date"
    ADVANCED = "advanced"
    REWRITTEN = "history rewritten"


@dataclass(frozen=True, slots=True)
class Followed:
    """The answer: `tip` is the remote's word, `fork` the newest commit that both lines share, where there is one."""

    state: FollowState
    branch: str
    tip: str
    last_verified: str | None = None
    fork: str | None = None

    @property
    def sentence(self) -> str:
        """One sentence with both commits, for conditions and reports."""
        if self.state is FollowState.FIRST:
            return f"branch {self.branch} is at {self.tip}; nothing was verified before"
        if self.state is FollowState.UP_TO_DATE:
            return f"branch {self.branch} is still at {self.tip}"
        if self.state is FollowState.ADVANCED:
            return f"branch {self.branch} went from {self.last_verified} to {self.tip}"
        shared = f"they part after {self.fork}" if self.fork else "they share no commit"
        if self.fork == self.tip:
            shared = "the branch was set back"
        return (
            f"history rewritten: branch {self.branch} is at {self.tip}, which does not follow"
            f" the verified {self.last_verified}; {shared}"
        )


def follow_on(*, branch: str, tip: str, last_verified: str | None, fork: str | None) -> Followed:
    """Judge a tip; `fork` is the best common ancestor of tip and `last_verified`, None where surely none exists."""
    if last_verified is None:
        state = FollowState.FIRST
    elif tip == last_verified:
        state = FollowState.UP_TO_DATE
    elif fork == last_verified:
        state = FollowState.ADVANCED
    else:
        state = FollowState.REWRITTEN
    return Followed(state, branch, tip, last_verified, fork)
