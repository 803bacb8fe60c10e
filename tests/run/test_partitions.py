"""Two partitions of one region, a running reconciler each, side by side on one store and one sandbox."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.conftest import Run, typed
from tests.reconciler.builders import REGION, with_region
from tests.run.region import SWAPS, quiet, served_here
from tests.run.site import Site, lay_site
from tests.run.together import Together, together_in

DIVIDED = with_region(
    "    partitions:\n"
    "      - {name: serving, clusters: [north-k8s], share: 60}\n"
    "      - {name: batch, clusters: [north-slurm], share: 40}"
)
WHOSE = {"serving": "forecast", "batch": "hindcast"}


@pytest.fixture(name="site", scope="module")
def _site(tmp_path_factory: pytest.TempPathFactory) -> Site:
    return lay_site(tmp_path_factory.mktemp("site"), (*SWAPS, DIVIDED), lambda words: typed(*words).code)


@pytest.fixture(name="both")
def _both(tmp_path: Path, site: Site) -> Iterator[Together]:
    with together_in(tmp_path, site) as both:
        for name in WHOSE:
            both.begin(name, more=("--partition", name))
        yield both


def test_both_lead_at_once_and_neither_touches_what_the_other_has(both: Together) -> None:
    both.pass_until(lambda: all(both.leads(name) for name in WHOSE))
    both.pass_until(lambda: all(len(both.effects(name)) >= 4 and len(both.lines(name)) > 1 for name in WHOSE))
    for name in WHOSE:
        lines, effects = both.lines(name), both.effects(name)
        assert all(one.key.startswith(f"eb-{REGION}-{name}-") for one in effects)
        assert all(line["partition"] == name for line in lines)
        standing = lines[-1]["instances"]
        assert isinstance(standing, dict)
        assert sum(standing.values()) <= sum(one.act == "create" for one in effects)
    assert {path.name.replace("%2F", "/") for path in (both.folder / "store").iterdir()} >= {
        f"{kind}/{REGION}-{name}" for kind in ("lease", "memory", "reservations") for name in WHOSE
    }


def test_a_partition_is_led_by_its_standby_when_its_leader_dies_and_the_other_goes_on(both: Together) -> None:
    both.pass_until(lambda: all(both.leads(name) for name in WHOSE))
    both.begin("standby", more=("--partition", "batch"))
    both.running["batch"].kill()
    epoch = int(str(both.lines("batch")[-1]["epoch"]))
    both.pass_until(lambda: both.leads("standby"))
    assert int(str(both.lines("standby")[-1]["epoch"])) > epoch
    both.pass_until(lambda: both.leads("serving"))


def test_who_acts_says_for_which_partition_and_no_other_takes_its_state(here: Run, site: Site, tmp_path: Path) -> None:
    with served_here(tmp_path / "s", quiet()) as path:
        state = tmp_path / "state"
        whole = here(*site.words(path, state, "--cycles", "1"))
        assert whole.code == 2
        assert "--partition serving or batch" in whole.err
        unknown = here(*site.words(path, state, "--cycles", "1", "--partition", "batches"))
        assert unknown.code == 2
        assert "did you mean batch?" in unknown.err
        assert here(*site.words(path, state, "--cycles", "1", "--partition", "batch")).code in (0, 1)
        assert json.loads((state / "reconciler.json").read_text())["partition"] == "batch"
        other = here(*site.words(path, state, "--cycles", "1", "--partition", "serving"))
        assert other.code == 2
        assert "belongs to partition batch of region north" in other.err
