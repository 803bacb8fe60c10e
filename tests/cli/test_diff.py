"""`ebbtide diff` and `ebbtide validate --base`: what is compared with what, what is said, and how it ends."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ebbtide.diff_document import as_document
from ebbtide.diff_view import DiffView, Side
from ebbtide.render_diff import as_text
from ebbtide.render_diff_markdown import LONGEST, as_markdown, plain
from ebbtide.text import Paint
from repo_layout.adapters.git_lay import files_below
from repo_layout.compare import compare
from repo_layout.owners import code_owners
from repo_layout.schema_layer import NoSchema
from repo_layout.tree import Tree
from tests.change.edits import EDITS, Edit, add, drop, edited, swap
from tests.checks.estates import FORECAST, HINDCAST
from tests.cli.conftest import ROOT, Ended, Run
from tests.git_scratch import Scratch, git

OWNERS = add("CODEOWNERS", b"* @cloud\n/contracts/tides/ @tides/all\n")
HOSTILE = "@everyone <img src=x> | `a` #1 !2 https://x.example [l](u) ~~s~~"


@pytest.fixture
def scratch(tmp_path: Path) -> Scratch:
    return Scratch.made(tmp_path / "estate.git")


def two(scratch: Scratch, *edits: Edit, before: tuple[Edit, ...] = ()) -> tuple[str, str]:
    """A commit of the minimal estate with owners, and one upon it with some edits."""
    base = scratch.commit(edited(OWNERS, *before))
    return base, scratch.commit(edited(OWNERS, *before, *edits), parent=base, branch="topic")


def shown(text: str, scratch: Scratch) -> str:
    """A screen without what differs from run to run."""
    text = re.sub(r"\d+\.\d\d s\b", "0.00 s", text.replace(str(scratch.path), "estate.git"))
    return re.sub(r"\b[0-9a-f]{12}\b", "0" * 12, text)


def diffed(here: Run, scratch: Scratch, *words: str) -> Ended:
    return here("diff", *words, "--in", str(scratch.path))


STORIES: Mapping[str, tuple[Edit, ...]] = {
    "floor": (EDITS["floor"], EDITS["money"]),
    "pools": (EDITS["no pool"], EDITS["group"], EDITS["notice"]),
    "removal": (drop(HINDCAST), EDITS["pause"]),
    "quiet": (EDITS["comment"],),
    "form": (swap(FORECAST, "floor: 4", "floor: 04"),),
}


@pytest.mark.parametrize("name", sorted(STORIES))
def test_effects_read_as_reviewed(here: Run, golden: Callable[[str, str], None], scratch: Scratch, name: str) -> None:
    two(scratch, *STORIES[name])
    golden(f"diff_{name}", shown(diffed(here, scratch, "main", "topic").out, scratch))


def test_a_comment_reads_as_reviewed(here: Run, golden: Callable[[str, str], None], scratch: Scratch) -> None:
    two(scratch, *STORIES["pools"])
    golden("diff_comment", shown(diffed(here, scratch, "main", "topic", "--output", "markdown").out, scratch))


def test_the_document_says_the_same_as_the_text(here: Run, scratch: Scratch) -> None:
    base, head = two(scratch, EDITS["floor"], EDITS["no pool"])
    ended = diffed(here, scratch, "main", "topic", "--output", "json")
    document = json.loads(ended.out)
    text = diffed(here, scratch, "main", "topic").out
    assert text.splitlines()[0] == document["verdict"]
    assert (document["base"]["commit"], document["head"]["commit"]) == (base, head)
    assert document["code"] == ended.code == 1
    assert document["effects"]["findings"]["stopped"] == ["forecast", "hindcast"]
    assert [thing["key"] for thing in document["effects"]["things"]] == ["contract/forecast", "pool/h4-general-b-4x16"]
    assert document["approvals"]["owners"][1]["owners"] == ["@tides/all"]


@pytest.mark.parametrize(
    ("edits", "code", "verdict"),
    [
        ((), 0, "no effect"),
        ((EDITS["comment"],), 0, "no effect"),
        ((EDITS["floor"],), 0, "1 contract changes: holds"),
        ((EDITS["maximum"], EDITS["halls"]), 1, "2 contracts change, 1 stops being feasible: refused"),
        ((EDITS["no pool"], EDITS["group"]), 1, "2 contracts stop being feasible: refused"),
        ((swap(FORECAST, "tier: anchored", "tier: 9"),), 1, "not well formed, so the effect cannot be told: refused"),
    ],
)
def test_the_first_line_is_the_verdict_and_the_code_says_whether_it_holds(
    here: Run, scratch: Scratch, edits: tuple[Edit, ...], code: int, verdict: str
) -> None:
    two(scratch, *edits)
    for form in ("text", "markdown"):
        ended = diffed(here, scratch, "main", "topic", "--output", form)
        assert ended.code == code, ended.out
        assert verdict in ended.out.splitlines()[0].replace("&#8203;", "")


def test_an_error_that_the_base_has_too_still_refuses_and_is_told_as_old(here: Run, scratch: Scratch) -> None:
    two(scratch, EDITS["prose"], before=(swap(FORECAST, "lead\ncontact", "nobody\ncontact"),))
    ended = diffed(here, scratch, "main", "topic")
    assert ended.code == 1
    assert ended.out.splitlines()[0] == "no effect: refused, 1 error that the base has too"
    assert "as before: there is no directory entry tides-nobody" in ended.out


def test_a_change_that_mends_a_broken_base_holds(here: Run, scratch: Scratch) -> None:
    base = scratch.commit(edited(OWNERS, swap(FORECAST, "floor: 4", "floor: 04")))
    scratch.commit(edited(OWNERS), parent=base, branch="topic")
    ended = diffed(here, scratch, "main", "topic")
    assert ended.code == 0
    assert ended.out.startswith("the base is not well formed, so the effect cannot be told: holds")


def test_the_first_estate_of_a_repository_is_judged_by_itself(here: Run, scratch: Scratch) -> None:
    base = scratch.commit({"notes.txt": b"soon\n"})
    scratch.commit(edited(OWNERS), parent=base, branch="topic")
    assert diffed(here, scratch, "main", "topic").code == 0
    ended = diffed(here, scratch, "topic", "main")
    assert ended.code == 2
    assert "there is no estate in main" in ended.err


# ------------------------------------------------------------------------------------------- what is compared with what


def test_what_the_base_gained_meanwhile_is_not_counted(here: Run, scratch: Scratch) -> None:
    base, _ = two(scratch, EDITS["floor"])
    scratch.commit(edited(OWNERS, EDITS["maximum"]), parent=base)
    since = diffed(here, scratch, "main", "topic").out
    assert "floor" in since
    assert "maximum" not in since
    assert f"since {base[:12]}, where they parted" in since
    exact = diffed(here, scratch, "main", "topic", "--exact").out
    assert re.search(r"maximum\s+48 -> 40", exact)


def test_going_back_says_what_going_back_does(here: Run, scratch: Scratch) -> None:
    two(scratch, EDITS["floor"])
    ended = diffed(here, scratch, "topic", "main")
    assert re.search(r"floor\s+6 -> 4", ended.out)
    assert "going back" in ended.out


def test_lines_that_share_no_commit_are_compared_only_as_they_are(here: Run, scratch: Scratch) -> None:
    scratch.commit(edited(OWNERS))
    scratch.commit(edited(OWNERS, EDITS["floor"]), branch="topic")
    ended = diffed(here, scratch, "main", "topic")
    assert ended.code == 2
    assert "no common commit" in ended.err
    assert "--exact" in ended.err
    assert diffed(here, scratch, "main", "topic", "--exact").code == 0


def test_a_shallow_clone_says_that_its_history_does_not_settle_it(here: Run, scratch: Scratch, tmp_path: Path) -> None:
    base, _ = two(scratch, EDITS["floor"])
    scratch.commit(edited(OWNERS, EDITS["maximum"]), parent=base)
    clone = scratch.clone(tmp_path / "clone", "--depth=1", "--no-single-branch")
    for words in (("diff", "origin/main", "origin/topic", "--in"), ("validate", "--base", "origin/topic")):
        ended = here(*words, str(clone))
        assert ended.code == 2
        assert "shallow" in ended.err


def test_a_partial_clone_is_not_judged_and_says_which_file_it_lacks(
    here: Run, scratch: Scratch, tmp_path: Path
) -> None:
    two(scratch, EDITS["floor"])
    clone = scratch.clone(tmp_path / "clone", "--filter=blob:none", "--bare")
    ended = here("diff", "main", "topic", "--in", str(clone))
    assert ended.code == 2
    assert "EBT-301" in ended.out
    assert "could not be judged" in ended.out.splitlines()[0]


def test_files_on_disk_are_compared_with_the_commit_they_came_from(here: Run, scratch: Scratch, tmp_path: Path) -> None:
    two(scratch)
    clone = scratch.clone(tmp_path / "clone")
    git("checkout", "-q", "main", at=clone)
    path = clone / FORECAST
    path.write_text(path.read_text(encoding="utf-8").replace("floor: 4", "floor: 5"), encoding="utf-8")
    assert "no effect" in here("diff", "main", "--in", str(clone)).out
    ended = here("diff", "main", "--worktree", "--in", str(clone))
    assert re.search(r"floor\s+4 -> 5", ended.out)
    assert "@tides/all" in ended.out


def test_two_folders_are_compared_as_they_are(here: Run, tmp_path: Path) -> None:
    for name, edits in (("old", ()), ("new", (EDITS["floor"],))):
        for path, content in edited(*edits).items():
            (tmp_path / name / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name / path).write_bytes(content)
    ended = here("diff", str(tmp_path / "old"), str(tmp_path / "new"))
    assert ended.code == 0
    assert ended.out.startswith("1 contract changes: holds")
    assert "no file says who owns what" in ended.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("main", "--in", str(ROOT / "docs")), "no Git repository"),
        (("nowhere-at-all",), "there is no revision"),
        (("./old",), "two folders"),
        ((str(ROOT / "docs"), str(ROOT / "docs")), "there is no estate"),
        (("main", "topic", "--worktree"), "HEAD already"),
        (("main", "--worktree", "--in", "https://example.invalid/x.git"), "no files on disk"),
        (("",), "empty"),
    ],
)
def test_what_cannot_be_compared_ends_with_2_and_the_next_step(
    here: Run, scratch: Scratch, words: tuple[str, ...], said: str
) -> None:
    two(scratch)
    where = () if "--in" in words or words[0].startswith((".", "/")) else ("--in", str(scratch.path))
    ended = here("diff", *words, *where)
    assert ended.code == 2
    assert said in ended.err
    assert "  next: " in ended.err


def test_without_the_schema_checker_nothing_is_judged(
    here: Run, scratch: Scratch, monkeypatch: pytest.MonkeyPatch
) -> None:
    two(scratch, EDITS["floor"])
    monkeypatch.setenv("EBBTIDE_CUE", "/nonexistent/cue")
    ended = diffed(here, scratch, "main", "topic")
    assert ended.code == 2
    assert "could not be judged" in ended.out.splitlines()[0]
    assert "EBT-310" in ended.out


# ------------------------------------------------------------------------------------------------------- hostile files


def test_aliases_that_double_are_refused_and_not_written_out(here: Run, scratch: Scratch) -> None:
    lines = "L0: &L0 {k: v}\n" + "".join(f"L{i}: &L{i}\n  <<: [*L{i - 1}, *L{i - 1}]\n" for i in range(1, 41))
    nested = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{b}: &{b} [{','.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefgh", "bcdefghi", strict=False)
    )
    two(scratch, add(HINDCAST, lines.encode()), add(FORECAST, nested.encode()))
    for words in (("main", "topic"), ("topic", "main")):
        ended = diffed(here, scratch, *words)
        assert len(ended.out) < 4000
        assert "EBT-113" in ended.out
        assert f"{HINDCAST}:{12 + 2 - 1}:" in ended.out, ended.out


def test_a_comment_mentions_nobody_links_nowhere_and_keeps_its_tables(here: Run, scratch: Scratch) -> None:
    path = "waivers/north/x86-64.yaml"
    hostile = (
        swap(path, "reason: One hall is being rebuilt.", f'reason: "{HOSTILE}"'),
        add("docs/@all|x#9.md", b"x"),
    )
    owners = add("CODEOWNERS", b"/docs/ @everyone|<b>\n")
    base = scratch.commit(edited(OWNERS, owners, EDITS["waiver"]))
    scratch.commit(edited(OWNERS, owners, EDITS["waiver"], *hostile), parent=base, branch="topic")
    out = diffed(here, scratch, "main", "topic", "--output", "markdown").out.replace("&#8203;", "\u200b")
    assert "everyone" in out
    assert not re.search(r"@\w|<\w|(?<!#)#\w|!\w|://|(?<!\\)[`\[]", out)
    rows = [line for line in out.splitlines() if line.startswith("|")]
    assert rows
    assert {len(re.findall(r"(?<!\\)\|", row)) for row in rows} == {5}


@pytest.mark.parametrize(
    "text", ["@a", "a\n@b", "\u202e@c", "#12", "a/b#3", "www.x.example", "<!-- -->", "|||", "\\|", ":tada:"]
)
def test_foreign_text_is_inert_and_reads_the_same(text: str) -> None:
    told = plain(text)
    assert not re.search(r"@\w|#\d|[<>\n]|(?<!\\)(?:\\\\)*\||www\.|:\w", told.replace("&#8203;", "\u200b"))
    read = re.sub(r"\\([^\w])", r"\1", told.replace("&#8203;", "").replace("&lt;", "<").replace("&gt;", ">"))
    assert read.replace("\\", "") == text.encode("unicode_escape").decode().replace("\\n", "\\u000a").replace("\\", "")


def view_of(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> DiffView:
    """What the command would show of two folders, the schema not asked."""
    base, head = (Tree("worktree", dict(sorted(files.items()))) for files in (before, after))
    compared = compare(base, head, cue=NoSchema())
    paths = tuple(one.path for one in compared.files)
    side = Side("main", "0" * 40, 1_790_000_000_000)
    return DiffView("here", side, side, compared, paths, code_owners(base.files))


@pytest.mark.parametrize("longest", [700, 1_200, 2_500])
def test_a_comment_ends_within_its_limit_and_says_how_much_is_left_out(longest: int) -> None:
    view = view_of(edited(OWNERS), edited(OWNERS, *EDITS.values()))
    whole, cut = as_markdown(view), as_markdown(view, longest=longest)
    assert sum(len(line) + 1 for line in cut) <= longest
    assert sum(len(line) + 1 for line in whole) <= LONGEST
    assert cut[:-2] == whole[: len(cut) - 2]
    more = re.fullmatch(r"and (\d+) more; `ebbtide diff --output json` lists everything", cut[-1])
    assert more is not None
    rows = [sum(line.startswith("| ") and line[2:5] not in ("| |", "---") for line in lines) for lines in (whole, cut)]
    assert int(more[1]) == rows[0] - rows[1]


@settings(max_examples=60)
@given(data=st.data())
def test_whatever_files_hold_every_form_is_written_and_the_comment_is_inert(data: st.DataObject) -> None:
    sides = []
    for _ in range(2):
        files = edited(OWNERS, *(EDITS[name] for name in data.draw(st.lists(st.sampled_from(sorted(EDITS)), unique=True,
                                                                          max_size=3))))  # fmt: skip
        path = data.draw(st.sampled_from(sorted(files)))
        lines = files[path].decode().split("\n")
        at = data.draw(st.integers(0, len(lines) - 1))
        line = st.one_of(st.text(max_size=30), st.just(f'reason: "{HOSTILE}"'), st.just("- {}"), st.just("a: [b"))
        lines[at : at + data.draw(st.integers(0, 1))] = [data.draw(line)]
        sides.append(files | {path: "\n".join(lines).encode("utf-8", "replace")})
    view = view_of(*sides)
    assert as_text(view, Paint())
    assert json.dumps(as_document(view))
    out = "\n".join(as_markdown(view)).replace("&#8203;", "\u200b")
    assert not re.search(r"@\w|<[\w!/]|(?<!#)#\w|!\w|://|(?<!\\)\[", out)
    assert out.count("\n") == sum(1 for _ in as_markdown(view)) - 1


# -------------------------------------------------------------------------------------------------------- the documents


def test_the_documents_show_what_the_command_says() -> None:
    told = (ROOT / "docs" / "diff.md").read_text(encoding="utf-8")
    estate = files_below(ROOT / "repo_layout" / "estate")
    frontend, pool = "contracts/search/query-frontend.yaml", "pools/aarhus/aarhus-h1-general-a.yaml"
    raised = estate[frontend].replace(b"floor: 10", b"floor: 14").replace(b"60.00", b"90.00")
    shorter = estate[pool].replace(b"hosts:", b"noticeWindow: 30s\nhosts:")
    floor, notice = view_of(estate, estate | {frontend: raised}), view_of(estate, estate | {pool: shorter})

    def missing(lines: list[str], behind: int) -> list[str]:
        return [line for line in (lines[0], *lines[behind:]) if line not in told]

    assert missing(as_text(floor, Paint()), behind=2) == []
    assert missing(as_markdown(floor)[:9], behind=3) == []
    left_out = missing(as_text(notice, Paint()), behind=2)
    assert left_out
    assert {line.split()[2] for line in left_out if line.startswith("  !")} == {"variant-calling", "ensemble-north"}


# ------------------------------------------------------------------------------------------------------ validate --base


def test_validate_judges_what_changed_since_the_lines_parted(here: Run, scratch: Scratch) -> None:
    two(scratch, EDITS["floor"])
    ended = here("validate", str(scratch.path), "--commit", "topic", "--base", "main", "--output", "json")
    assert ended.code == 0
    assert json.loads(ended.out)["errors"] == 0
    assert here("validate", str(scratch.path), "--commit", "topic", "--base", "").code == 2
    assert here("validate", str(scratch.path), "--commit", "topic", "--base", "nowhere").code == 2


def test_validate_finds_what_a_change_breaks(here: Run, scratch: Scratch) -> None:
    two(scratch, EDITS["no pool"], EDITS["group"])
    assert here("validate", str(scratch.path), "--commit", "topic", "--base", "main").code == 1


def test_what_was_merged_before_warns_and_does_not_stop_who_did_not_touch_it(
    here: Run, scratch: Scratch, tmp_path: Path
) -> None:
    over = swap("ebbtide.yaml", "ncuLimit: 400", "ncuLimit: 100")
    two(scratch, swap("directory.yaml", "Lead of Tides", "Head of Tides"), before=(over,))
    judged = ("validate", str(scratch.path), "--commit", "topic")
    assert here(*judged).code == 1
    mild = here(*judged, "--base", "main")
    assert mild.code == 0
    assert "EBT-216 warning" in mild.out
    told = diffed(here, scratch, "main", "topic")
    assert told.code == 0
    assert told.out.splitlines()[0] == "1 directory entry changes: holds, 1 warning"
    assert "1 warning  as before; ebbtide validate lists them" in told.out
    made = ("compile", str(scratch.path), "--commit", "topic", "--all", "--out")
    assert here(*made, str(tmp_path / "a")).code == 1
    assert here(*made, str(tmp_path / "b"), "--base", "main").code == 0


def test_lines_that_share_no_commit_have_no_base(here: Run, scratch: Scratch) -> None:
    scratch.commit(edited(OWNERS))
    scratch.commit(edited(OWNERS, EDITS["floor"]), branch="topic")
    ended = here("validate", str(scratch.path), "--commit", "topic", "--base", "main")
    assert ended.code == 2
    assert "no common commit" in ended.err


def test_a_plain_folder_has_no_base(here: Run) -> None:
    ended = here("validate", str(ROOT / "repo_layout/samples/valid/minimal"), "--base", "main")
    assert ended.code == 2
    assert "no Git repository" in ended.err
