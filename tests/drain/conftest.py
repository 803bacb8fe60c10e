"""Golden transcripts and drawn parts of pages: compared by default, written anew with `--rewrite-golden`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

FOLDER = Path(__file__).parent.parent / "golden" / "drain"


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Compare a text with the reviewed one of that name."""
    rewrite = bool(request.config.getoption("--rewrite-golden", default=False))

    def compare(name: str, text: str) -> None:
        path = FOLDER / f"{name}.txt"
        if rewrite:
            path.write_text(text, encoding="utf-8", newline="\n")
        assert text == path.read_text(encoding="utf-8"), f"{path.name} tells another story; see --rewrite-golden"

    return compare


@pytest.fixture
def between(request: pytest.FixtureRequest) -> Callable[[Path, str, str], None]:
    """Compare what stands in a page between `<!-- NAME -->` and `<!-- end of NAME -->` with a text."""
    rewrite = bool(request.config.getoption("--rewrite-golden", default=False))

    def compare(page: Path, name: str, text: str) -> None:
        before, rest = page.read_text(encoding="utf-8").split(f"<!-- {name} -->\n")
        held, after = rest.split(f"<!-- end of {name} -->")
        if rewrite and held != text:
            page.write_text(
                f"{before}<!-- {name} -->\n{text}<!-- end of {name} -->{after}", encoding="utf-8", newline="\n"
            )
            held = text
        assert held == text, f"{page.name} shows another {name}; see --rewrite-golden"

    return compare
