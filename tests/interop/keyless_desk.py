"""A private keyless site, a compiled folder, and what cosign and we say about bundles that were made with them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from contracts.dsse import PREDICATE_TYPE, Kind, Statement, read_statement
from contracts.untrusted import Untrusted
from contracts.verify import NOTHING, Expects
from repo_layout.adapters.keyless import KeylessRoot
from repo_layout.sign import keyless_file
from tests.interop.compiled import ESTATE, REGION, compiled, ran
from tests.interop.cosign import Cosign, Word
from tools.servers.keyless import Site

IDENTITY = "ci@harbour.example"
Json = Any


@dataclass(frozen=True)
class Desk:
    """One site and one folder; `work` holds everything."""

    site: Site
    folder: Path
    work: Path
    cosign: Cosign

    @classmethod
    def at(cls, site: Site, work: Path) -> Desk:
        """The folder, and the statements about its payloads that our command writes for who signs elsewhere."""
        folder = compiled(work)
        ran("sign", folder, "--statements", work / "said", "--version", "7", "--requester", "ann@forge")
        home = work / "home"
        home.mkdir()
        return cls(site, folder, work, Cosign(home))

    def payload(self, name: str) -> Path:
        return self.folder / f"{name}.json"

    def bundle(self, name: str) -> Path:
        return self.folder / keyless_file(f"{name}.json")

    def statement(self, name: str) -> Path:
        return self.work / "said" / f"{name}.statement.json"

    def attest(self, name: str, bundle: Path, *, token: str | None = None, config: Path | None = None) -> Word:
        """Cosign signs the statement about a payload, without a key of anybody's."""
        return self.cosign.run(
            "attest-blob", "--yes", "--statement", str(self.statement(name)), "--type", PREDICATE_TYPE,
            "--identity-token", token or self.site.issuer.token(IDENTITY),
            "--signing-config", str(config or self.site.signing_config), "--trusted-root", str(self.site.trusted_root),
            "--bundle", str(bundle), str(self.payload(name)),
        )  # fmt: skip

    def cosign_says(
        self, bundle: Path, *more: str, payload: Path | None = None, root: Path | None = None,
        identity: str = IDENTITY, issuer: str | None = None,
    ) -> Word:  # fmt: skip
        """Whether cosign takes it."""
        root, payload = root or self.site.trusted_root, payload or self.payload("region")
        return self.cosign.by_root(payload, bundle, root, identity, issuer or self.site.issuer.url, *more)

    def we_say(
        self, bundle: Path, *, payload: Path | None = None, root: Path | None = None,
        identity: str = IDENTITY, issuer: str | None = None,
    ) -> str:  # fmt: skip
        """`holds`, or the reason why not."""
        trusted = KeylessRoot(root or self.site.trusted_root, identity=identity, issuer=issuer or self.site.issuer.url)
        raw, expects = (payload or self.payload("region")).read_bytes(), Expects(ESTATE, REGION, Kind.REGION)
        now = (self._facts.not_before + self._facts.expires) // 2
        try:
            trusted.verify(raw, bundle.read_bytes(), expects=expects, accepted=NOTHING, now=now)
        except Untrusted as error:
            return str(error.reason)
        return "holds"

    @cached_property
    def _facts(self) -> Statement:
        return read_statement(self.statement("region").read_bytes())

    def edited(self, bundle: Path, edit: Callable[[Json], object]) -> Path:
        """A copy of a bundle or of any JSON, edited."""
        document = json.loads(bundle.read_bytes())
        edit(document)
        copy = self.work / "edited.json"
        copy.write_text(json.dumps(document), encoding="utf-8")
        return copy
