"""The provider that a sandbox serves passes the provider suite through its socket, server and client in two threads."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from simulation.adapters.sandbox_client import SandboxLink, SandboxProvider
from simulation.sandbox import Ground, Sandbox
from tests.conformance.provider_suite import ProviderSuite
from tests.conformance.stage import START, Stage
from tests.conformance.test_providers import SimulatedStage
from tests.reconciler.builders import estate
from tests.run.region import served_here


class SocketStage(SimulatedStage):
    """The simulated cloud's stage, reached through a socket."""

    def __init__(self, link: SandboxLink) -> None:
        super().__init__()
        self.cloud = self.provider
        self.link = link

    def wait(self, seconds: int) -> None:
        self.cloud.advance(self.state.now + seconds * 1000)

    def open_reclaim(self, domain: str, *, hold_s: int) -> None:
        super_provider, self.provider = self.provider, self.cloud
        super().open_reclaim(domain, hold_s=hold_s)
        self.provider = super_provider


class TestSandboxProvider(ProviderSuite):
    @pytest.fixture
    def stage(self, tmp_path: Path) -> Iterator[Stage]:
        path = tmp_path / "s"
        link = SandboxLink(path, client="suite")
        stage = SocketStage(link)
        sandbox = Sandbox(Ground(estate(), "north", START, 1), stage.cloud, emit=lambda _: None)
        with served_here(path, sandbox):
            stage.provider = SandboxProvider(link)  # type: ignore[assignment]  # the same seam over the socket
            yield stage
            link.close()
