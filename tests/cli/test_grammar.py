"""What can be typed: help, documents, completion, and the names that the grammar repeats because it loads nothing."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path

import pytest

from ebbtide import completion, grammar
from ebbtide.grammar import COMMANDS, parser
from ledger.reports import TERMS
from simulation.policies import POLICIES
from simulation.replay_policies import VIEWS
from tests.cli.conftest import ROOT, Run

NAMES = [command.name for command in COMMANDS]


@pytest.mark.parametrize("name", NAMES)
def test_every_command_has_help_with_its_exit_codes(here: Run, name: str) -> None:
    ended = here(name, "--help")
    assert ended.code == 0
    assert "exit codes:" in ended.out
    assert max(map(len, ended.out.splitlines())) <= 100


@pytest.mark.parametrize("name", NAMES)
def test_every_command_and_option_stands_in_the_documents(name: str) -> None:
    text = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8") + (ROOT / "docs" / "demo.md").read_text("utf-8")
    assert f"`ebbtide {name}`" in text
    spots = [spot for spot in completion.spots_of(parser(), ()) if spot.path[:1] == (name,)]
    options = {word.text for spot in spots for word in spot.words if word.text.startswith("--")} - {"--help"}
    assert {option for option in options if option not in text} == set()


def test_every_command_has_its_module() -> None:
    assert [name for name in NAMES if not (ROOT / "ebbtide" / f"{name}.py").is_file()] == []


def test_the_grammar_names_the_terms_and_planners_that_there_are() -> None:
    assert set(grammar.TERMS) == set(TERMS)
    assert set(grammar.POLICIES[:2]) <= set(POLICIES)
    assert set(grammar.ALL_POLICIES) <= set(VIEWS)


def test_help_loads_no_module_that_is_slow_to_load() -> None:
    program = (
        "import sys\nfrom ebbtide.__main__ import main\nmain(['--help'])\n"
        "print(sorted({'numpy', 'pydantic', 'yaml', 'rich', 'highspy', 'chdb', 'pygit2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_the_version_is_that_of_the_project() -> None:
    assert f'version = "{grammar.VERSION}"' in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("plan", "--at", "25:00"), "not a time of day"),
        (("run", "--hours", "0"), "not a number of hours"),
        (("demo", "--seed", "x"), "not a whole number"),
        (("replay", "x", "--policy", "cheapest"), "not a list"),
        (("savings", "--behind", "nothing"), "invalid choice"),
        (("explain", "weather", "x"), "invalid choice"),
        ((), "required"),
    ],
)
def test_what_cannot_be_typed_ends_with_2_and_says_why(here: Run, words: tuple[str, ...], said: str) -> None:
    ended = here(*words)
    assert ended.code == 2
    assert said in ended.err
    assert not ended.out


def test_bash_completes_commands_kinds_options_and_choices(tmp_path: Path) -> None:
    script = tmp_path / "complete.bash"
    script.write_text("\n".join(completion.bash(tuple(completion.spots_of(parser(), ())))) + "\n", encoding="utf-8")

    def complete(*words: str) -> list[str]:
        line = " ".join(f"'{word}'" for word in words)
        typed = f"COMP_WORDS=({line}); COMP_CWORD={len(words) - 1}"
        program = f"source '{script}'; {typed}; _ebbtide; echo ${{COMPREPLY[@]}}"
        done = subprocess.run(["bash", "-c", program], check=True, capture_output=True, text=True)
        return done.stdout.split()

    assert complete("ebbtide", "ex") == ["explain"]
    assert complete("ebbtide", "explain", "w") == ["workload"]
    assert complete("ebbtide", "explain", "action", "--t") == ["--tree"]
    assert complete("ebbtide", "savings", "--policy", "") == ["ebbtide", "price-first"]


def test_completion_holds_every_command_in_each_shell(here: Run) -> None:
    for shell in ("bash", "zsh", "fish"):
        ended = here("completion", shell)
        assert ended.code == 0
        assert [name for name in NAMES if name not in ended.out] == []


@pytest.mark.parametrize("words", [("traces",), ("completion", "bash")])
def test_small_commands_write_documents_too(here: Run, words: tuple[str, ...]) -> None:
    ended = here(*words, "--output", "json")
    assert ended.code == 0
    assert isinstance(json.loads(ended.out), dict)


def test_no_option_can_be_shortened() -> None:
    with pytest.raises(SystemExit):
        parser().parse_args(["demo", "--hou", "3"])
    assert isinstance(parser().parse_args(["demo", "--hours", "3"]), argparse.Namespace)


def test_a_fault_of_our_own_ends_with_2_and_never_with_the_code_of_findings() -> None:
    broken = (
        "import sys, ebbtide.traces as t; t.sources = None\n"
        "from ebbtide.__main__ import main; sys.exit(main(['traces']))"
    )
    ended = subprocess.run([sys.executable, "-c", broken], cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 2
    assert "TypeError" in ended.stderr
    assert "a fault of ebbtide itself" in ended.stderr
