"""Who owns a path, in the syntax of two code hosts."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from repo_layout.owners import MOST_RULES, Owned, OwnersChange, code_owners, owners_changes, parsed
from tests.checks.estates import ROOT

ESTATE_OWNERS = (ROOT / "repo_layout/estate/CODEOWNERS").read_text(encoding="utf-8")


def owners_of(text: str, path: str, file: str = "CODEOWNERS") -> tuple[str, ...]:
    (owned,) = parsed(file, text).of([path])
    return owned.owners


def test_the_last_line_that_matches_decides() -> None:
    text = "* @all\n/contracts/ @contracts\n/contracts/search/ @search\n"
    assert owners_of(text, "contracts/search/a.yaml") == ("@search",)
    assert owners_of(text, "contracts/maps/a.yaml") == ("@contracts",)
    assert owners_of(text, "ebbtide.yaml") == ("@all",)


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("*", "a/b/c.yaml", True),
        ("*.yaml", "a/b/c.yaml", True),
        ("/*.yaml", "a/b/c.yaml", False),
        ("/*.yaml", "c.yaml", True),
        ("docs/*", "docs/a.md", True),
        ("docs/*", "docs/b/a.md", False),
        ("docs/", "x/docs/b/a.md", True),
        ("/docs/", "x/docs/a.md", False),
        ("/docs", "docs/b/a.md", True),
        ("apps", "x/apps/y", True),
        ("a/b", "x/a/b", False),
        ("**/logs", "x/y/logs/z", True),
        ("**/logs", "logs/z", True),
        ("a/**/z", "a/z", True),
        ("a/**/z", "a/b/c/z", True),
        ("a/**", "a/b/c", True),
        ("a/**", "a", False),
        ("a?c", "abc", True),
        ("a?c", "a/c", False),
        ("[ab]c", "ac", False),
        ("[ab]c", "[ab]c", True),
        (r"a\*c", "a*c", True),
        (r"a\*c", "abc", False),
        (r"with\ blank.yaml", "with blank.yaml", True),
        (r"\#notes", "#notes", True),
        ("/", "a", False),
        ("A/", "a/b", False),
    ],
)
def test_patterns_match_as_github_reads_them(pattern: str, path: str, matches: bool) -> None:
    assert (owners_of(f"{pattern} @o", path) == ("@o",)) is matches


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("a/b", "x/a/b", True),
        ("/a/b", "x/a/b", False),
        ("/docs", "docs/a.md", False),
        ("/docs/", "docs/b/a.md", True),
        ("docs/*", "x/docs/a.md", True),
        ("docs/*", "docs/b/a.md", False),
        ("*", "a/b", True),
        ("/", "a/b", True),
    ],
)
def test_patterns_match_as_gitlab_reads_them(pattern: str, path: str, matches: bool) -> None:
    assert (owners_of(f"{pattern} @o", path, ".gitlab/CODEOWNERS") == ("@o",)) is matches


def test_a_line_without_owners_takes_a_path_from_everybody() -> None:
    assert owners_of("* @all\n/generated/\n", "generated/x") == ()


def test_comments_blank_lines_and_words_that_name_nobody_are_left_out() -> None:
    text = "# * @never\n\n  /a  @one someone two@example.org # @not\n"
    assert owners_of(text, "a") == ("@one", "two@example.org")


def test_github_ignores_a_line_that_begins_with_an_exclamation_mark() -> None:
    assert owners_of("* @all\n!/a @o\n", "a") == ("@all",)


def test_each_section_of_gitlab_asks_for_approvals_of_its_own() -> None:
    text = (
        "* @all\n[Money][2] @finance\n/directory.yaml\n/approvals/ @board\n"
        "^[Look]\n/directory.yaml @curious\n[money]\n!/approvals/old.yaml\n"
    )
    owners = parsed("CODEOWNERS", text)
    assert owners.of(["directory.yaml"]) == (
        Owned(("@all",), ("directory.yaml",)),
        Owned(("@curious",), ("directory.yaml",), "Look", 1, optional=True),
        Owned(("@finance",), ("directory.yaml",), "Money", 2),
    )
    assert [one.owners for one in owners.of(["approvals/old.yaml"])] == [("@all",)]
    assert [one.owners for one in owners.of(["approvals/new.yaml"])] == [("@all",), ("@board",)]


def test_paths_are_told_by_owners_and_those_of_nobody_last() -> None:
    owned = parsed("CODEOWNERS", "/a/ @one @two\n/b/ @three\n").of(["z", "b/1", "a/2", "a/1", "a/1"])
    assert owned == (
        Owned(("@one", "@two"), ("a/1", "a/2")),
        Owned(("@three",), ("b/1",)),
        Owned((), ("z",)),
    )


def test_the_reference_estate_gives_each_team_its_own_folder() -> None:
    assert owners_of(ESTATE_OWNERS, "contracts/search/search-ci.yaml") == ("@three-ports/search",)
    assert owners_of(ESTATE_OWNERS, "directory.yaml") == ("@three-ports/finance",)
    assert owners_of(ESTATE_OWNERS, "pools/aarhus/aarhus-h1-arm-a.yaml") == ("@three-ports/platform",)


def test_the_first_place_where_a_code_host_looks_counts() -> None:
    files = {"docs/CODEOWNERS": b"* @docs\n", "CODEOWNERS": b"* @root\n"}
    found = code_owners(files)
    assert found is not None
    assert found.path == "CODEOWNERS"
    assert code_owners({}) is None
    assert code_owners({"CODEOWNERS": b"\xff"}) is None


@settings(max_examples=60)
@given(text=st.text("*?/\\a@ \n[]!^#", max_size=60), path=st.text("a/*", min_size=1, max_size=30))
def test_whatever_stands_in_the_file_every_path_is_told_once_a_section(text: str, path: str) -> None:
    owned = parsed("CODEOWNERS", text).of([path])
    assert {one for group in owned for one in group.paths} == {path}
    assert len({group.section for group in owned}) == len(owned)


def test_a_file_of_wildcards_is_answered_in_steps_that_do_not_multiply() -> None:
    text = "\n".join(f"{'*a' * 400}b @o" for _ in range(MOST_RULES + 5)) + "\n" + f"{'**/a/' * 200}b @o"
    owners = parsed("CODEOWNERS", text)
    assert sum(len(section.rules) for section in owners.sections) == MOST_RULES
    assert owners_of(f"{'**/a/' * 200}b @o", "a/" * 300 + "c") == ()
    assert owners_of(f"{'*a' * 400}b @o", "a" * 900) == ()


def test_a_line_that_goes_gives_its_files_to_whoever_is_left() -> None:
    before = parsed("CODEOWNERS", "* @all\n/a/ @a\n")
    after = parsed("CODEOWNERS", "# told again\n* @all\n")
    told = owners_changes(before, after, ["b.yaml", "a/2.yaml", "a/1.yaml"])
    assert told == (OwnersChange(("@a",), ("@all",), ("a/1.yaml", "a/2.yaml")),)


def test_a_file_of_owners_that_says_the_same_in_other_words_moves_nothing() -> None:
    before = parsed("CODEOWNERS", "* @all\n/a/ @a @b\n")
    after = parsed(".github/CODEOWNERS", "* @all\n# why\n/a/** @b @a\n")
    assert owners_changes(before, after, ["b.yaml", "a/1.yaml"]) == ()


def test_without_a_file_of_owners_nobody_in_particular_has_what_was_owned() -> None:
    told = owners_changes(parsed("CODEOWNERS", "* @all\n"), None, ["a.yaml"])
    assert told == (OwnersChange(("@all",), (), ("a.yaml",)),)
