"""What a site without a CT log is worth: its certificates carry no SCT, and the sigstore package asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interop.keyless_desk import Desk
from tools.servers.keyless import site

pytestmark = pytest.mark.interop


def test_a_certificate_that_is_in_no_ct_log_is_refused_by_us_and_by_cosign_unless_it_is_told_to_look_away(
    tmp_path: Path,
) -> None:
    with site(tmp_path / "site", logs_certificates=False) as running:
        desk = Desk.at(running, tmp_path)
        bundle = desk.bundle("region")
        word = desk.attest("region", bundle)
        assert word.holds, word.said
        assert desk.we_say(bundle) == "signature"
        assert not desk.cosign_says(bundle).holds
        assert desk.cosign_says(bundle, "--insecure-ignore-sct").holds
