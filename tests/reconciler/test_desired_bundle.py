"""Where a region's desired state comes from: the newest that holds, what was held otherwise, and nothing older ever."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from contracts.errors import EbbtideError, Refused, Transient
from contracts.verify import Accepted, read_accepted
from reconciler.adapters.desired_bundle import DesiredBundle, Kept
from reconciler.adapters.desired_files import DesiredFiles
from reconciler.fakes import Failures
from reconciler.ports import Desired, Versioned
from reconciler.store_memory import MemoryStore
from repo_layout.adapters.accepted_file import AcceptedFile
from repo_layout.history import Followed, follow_on
from repo_layout.model import Estate
from tests.reconciler.builders import REGION as NORTH
from tests.reconciler.builders import estate
from tests.trust.signers import COMMIT, DAY_MS, NOW, REGION, compiled, key_set, public, signed

KEY = f"accepted/{REGION}"


class FlakyStore(Failures, MemoryStore):
    """The store of the tests, silent when it is told to be."""

    def __init__(self) -> None:
        Failures.__init__(self)
        MemoryStore.__init__(self)

    def get(self, key: str) -> Versioned | None:
        self.enter("get")
        return super().get(key)

    def put(self, key: str, value: bytes, *, expected: str) -> str:
        self.enter("put")
        return super().put(key, value, expected=expected)


@dataclass
class Site:
    """A machine with a disk, a store and a ref that somebody publishes to."""

    disk: Path
    store: FlakyStore = field(default_factory=FlakyStore)
    offer: Mapping[str, bytes] | EbbtideError = field(default_factory=lambda: version(7))
    now: int = NOW
    reads: int = 0

    def read(self) -> Mapping[str, bytes]:
        self.reads += 1
        if isinstance(self.offer, EbbtideError):
            raise self.offer
        return self.offer

    def started(self, disk: str = "disk") -> DesiredBundle:
        folder = self.disk / disk
        kept = Kept(AcceptedFile(folder / "accepted.json"), folder / "held.json")
        keys = key_set(public("ci"))
        return DesiredBundle(self.read, region=REGION, keys=keys, kept=kept, store=self.store, clock=lambda: self.now)

    def noted(self) -> Accepted:
        found = self.store.get(KEY)
        assert found is not None
        return read_accepted(found.value)


def version(number: int, **more: int) -> dict[str, bytes]:
    return signed(compiled(()), "ci", version=number, **more)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def test_what_holds_is_taken_and_noted_here_and_in_the_store_before_it_is_given(site: Site) -> None:
    found = site.started().look()
    assert (found.version, found.trusted, found.commit) == (7, True, COMMIT)
    assert site.noted().highest == AcceptedFile(site.disk / "disk" / "accepted.json").read().highest


def test_a_bad_offer_keeps_what_was_held_and_says_why(site: Site) -> None:
    desired = site.started()
    held = desired.look()
    for bad in (Transient("no answer"), {}, {**version(8), "region.json": b"{}"}, version(6)):
        site.offer = bad
        now = desired.look()
        assert now.estate is held.estate
        assert (now.version, now.trusted) == (7, False)
        assert now.problem
    site.offer = version(8)
    assert desired.look() == Desired(desired.look().estate, COMMIT, 8)


def test_an_expired_bundle_is_held_and_not_trusted_until_it_is_signed_again(site: Site) -> None:
    site.offer = version(7, ends=NOW + DAY_MS)
    desired = site.started()
    assert desired.look().trusted
    site.now = NOW + 2 * DAY_MS
    assert not desired.look().trusted
    assert "expired" in desired.look().problem
    site.offer = version(8)
    assert desired.look().trusted


def test_a_bundle_that_has_expired_already_is_taken_at_the_first_look_and_not_trusted(site: Site) -> None:
    site.offer = version(7, ends=NOW - 1)
    found = site.started().look()
    assert (found.version, found.trusted) == (7, False)


def test_the_same_offer_is_verified_once(site: Site) -> None:
    desired = site.started()
    first = desired.look()
    assert desired.look() is first
    assert site.reads == 2


def test_an_empty_disk_takes_nothing_older_than_the_store_notes(site: Site) -> None:
    site.offer = version(8)
    site.started().look()
    site.offer = version(7)
    with pytest.raises(Refused, match="older than version 8"):
        site.started("another").look()
    site.offer = version(9)
    assert site.started("another").look().version == 9


def test_an_older_offer_is_not_trusted_once_another_replica_accepted_a_newer_one(site: Site) -> None:
    one, other = site.started("one"), site.started("other")
    assert one.look().trusted
    assert other.look().trusted
    newer, older = version(8), site.offer
    site.offer = newer
    assert other.look().version == 8
    site.offer = older  # Git offers again what this one never saw replaced
    found = one.look()
    assert (found.version, found.trusted, found.outdated) == (7, False, True)
    assert "8" in found.problem
    site.offer = newer
    assert (one.look().version, one.look().trusted) == (8, True)


def test_a_lost_or_older_store_is_raised_to_what_the_disk_notes(site: Site) -> None:
    site.started().look()
    site.store = FlakyStore()
    site.offer = version(6)
    again = site.started()
    assert (again.look().version, again.look().trusted) == (7, False)
    assert site.noted().highest[f"harbour/{REGION}/region"][0] == 7


def test_a_store_that_is_set_back_takes_no_bundle_from_who_saw_it_noted(site: Site) -> None:
    one, other = site.started("one"), site.started("other")
    one.look()
    before, older = site.store.get(KEY), site.offer
    assert before is not None
    site.offer = version(8)
    other.look()
    site.offer = Transient("no answer")
    assert one.look().outdated
    now = site.store.get(KEY)
    assert now is not None
    site.store.put(KEY, before.value, expected=now.revision)
    site.offer = older
    found = one.look()
    assert (found.version, found.trusted, found.outdated) == (7, False, True)
    assert site.noted().highest[f"harbour/{REGION}/region"][0] == 8


def test_with_an_empty_disk_and_a_silent_store_nobody_knows_what_is_too_old(site: Site) -> None:
    site.store.fail("get", *[Transient("silent")] * 9)
    with pytest.raises(Transient, match="accepted before"):
        site.started().look()


def test_a_restart_goes_on_from_what_held_while_git_is_away(site: Site) -> None:
    site.started().look()
    site.offer = Transient("no answer")
    found = site.started().look()
    assert (found.version, found.trusted) == (7, False)


def test_a_silent_store_holds_back_nothing_that_the_disk_can_note(site: Site) -> None:
    desired = site.started()
    desired.look()
    site.store.fail("get", *[Transient("silent")] * 3)
    site.offer = version(8)
    assert desired.look().version == 8
    site.offer = version(9)
    desired.look()
    assert site.noted().highest[f"harbour/{REGION}/region"][0] == 9


def test_what_cannot_be_noted_is_not_acted_on(site: Site) -> None:
    desired = site.started()
    desired.look()
    (site.disk / "disk" / "accepted.json.new").mkdir()
    site.offer = version(8)
    found = desired.look()
    assert (found.version, found.trusted) == (7, False)
    assert "noted" in found.problem


def test_a_damaged_copy_of_what_held_is_as_good_as_none(site: Site) -> None:
    site.started().look()
    (site.disk / "disk" / "held.json").write_bytes(b"{}{")
    site.offer = Transient("no answer")
    with pytest.raises(Refused, match="no answer"):
        site.started().look()


# -- reviewed files ---------------------------------------------------------------------------------------------------


class Branch:
    """A branch whose commits are letters; `line` is its history, newest last."""

    def __init__(self) -> None:
        self.line = ["a"]
        self.silent = False

    def follow(self, last: str | None) -> Followed:
        if self.silent:
            raise Transient("no answer")
        fork = last if last in self.line else None
        return follow_on(branch="main", tip=self.line[-1], last_verified=last, fork=fork)

    def estate_at(self, commit: str) -> Estate:
        if commit == "bad":
            raise Refused("EBT-101 in a file")
        if commit == "elsewhere":
            made = estate()
            away = made.settings.regions[0].model_copy(update={"name": "south"})
            return replace(made, settings=made.settings.model_copy(update={"regions": (away,)}))
        return estate()


@pytest.fixture
def branch() -> Branch:
    return Branch()


def files(branch: Branch, disk: Path, store: FlakyStore) -> DesiredFiles:
    return DesiredFiles(
        region=NORTH, follow=branch.follow, estate_at=branch.estate_at, kept=disk / "accepted-commit", store=store
    )


def test_a_branch_that_grows_is_followed_and_one_that_is_rewritten_is_not(tmp_path: Path, branch: Branch) -> None:
    desired = files(branch, tmp_path, FlakyStore())
    assert desired.look().commit == "a"
    branch.line.append("b")
    assert desired.look().commit == "b"
    for line in (["a"], ["x", "y"]):
        branch.line = line
        found = desired.look()
        assert (found.commit, found.trusted) == ("b", False)
        assert "history rewritten" in found.problem
    branch.line = ["a", "b", "c"]
    assert (desired.look().commit, desired.look().trusted) == ("c", True)


def test_a_commit_that_is_no_estate_and_a_silent_remote_leave_what_held(tmp_path: Path, branch: Branch) -> None:
    desired = files(branch, tmp_path, FlakyStore())
    desired.look()
    for nothing in ("bad", "elsewhere"):
        branch.line.append(nothing)
        assert (desired.look().commit, desired.look().trusted) == ("a", False)
    branch.silent = True
    assert desired.look().problem == "no answer"


def test_another_machine_with_an_empty_disk_takes_no_older_commit(tmp_path: Path, branch: Branch) -> None:
    store = FlakyStore()
    branch.line = ["a", "b"]
    files(branch, tmp_path / "one", store).look()
    branch.line = ["a"]
    found = files(branch, tmp_path / "two", store).look()
    assert (found.commit, found.trusted) == ("b", False)


def test_a_store_that_is_set_back_takes_no_commit_from_who_saw_it_noted(tmp_path: Path, branch: Branch) -> None:
    store, key = FlakyStore(), f"accepted-commit/{NORTH}"
    one = files(branch, tmp_path / "one", store)
    one.look()
    branch.line = ["a", "b"]
    files(branch, tmp_path / "two", store).look()
    branch.silent = True
    assert one.look().problem == "no answer"
    noted = store.get(key)
    assert noted is not None
    assert noted.value == b"b"
    store.put(key, b"a", expected=noted.revision)
    branch.silent, branch.line = False, ["a"]
    assert (one.look().commit, one.look().trusted) == ("a", False)
    store.fail("get", Transient("silent"))
    assert not one.look().trusted
    branch.line = ["a", "b", "c"]
    assert (one.look().commit, one.look().trusted) == ("c", True)


def test_a_first_look_without_remote_or_note_ends_in_an_error(tmp_path: Path, branch: Branch) -> None:
    branch.silent = True
    with pytest.raises(Transient):
        files(branch, tmp_path, FlakyStore()).look()
