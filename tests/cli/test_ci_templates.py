"""The templates of `deploy/ci` and the hook: valid to their hosts, careful with foreign text, and run for real."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from ebbtide.grammar import parser
from ebbtide.init_files import Names, files_of
from tests.cli.code_host import MARK, US, given, serving
from tests.cli.conftest import ROOT
from tests.git_scratch import git

GITHUB = ROOT / "deploy" / "ci" / "github" / "ebbtide.yml"
GITLAB = ROOT / "deploy" / "ci" / "gitlab" / "ebbtide.gitlab-ci.yml"
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Step:
    """One script of a template, with the variables that are set for it."""

    host: str
    name: str
    script: str
    variables: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.host}: {self.name}"


def document(path: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    return loaded


def steps() -> Iterator[Step]:
    """Every script in both templates."""
    workflow = document(GITHUB)
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            if "run" in step:
                given = {**job.get("env", {}), **step.get("env", {})}
                yield Step("github", step["name"], step["run"], given)
    pipeline = document(GITLAB)
    for name, job in pipeline.items():
        if isinstance(job, dict) and "script" in job:
            yield Step("gitlab", name, "\n".join(job["script"]))


STEPS = tuple(steps())


def command_lines(script: str) -> list[list[str]]:
    """The words behind each `ebbtide` of a script, up to what the shell does with its output."""
    found = []
    for line in script.splitlines():
        words = shlex.split(line, comments=True) if line.strip().startswith("ebbtide ") else []
        if words[:1] == ["ebbtide"]:
            end = next((at for at, word in enumerate(words) if word in (">", "||", "|", "&&", ";")), len(words))
            found.append(words[1:end])
    return found


def against(words: list[str]) -> list[str]:
    """The words as the host's variables make them."""
    given = [part for word in words for part in (["--base", "0" * 40] if word == "$EBBTIDE_AGAINST" else [word])]
    return [re.sub(r"\$\{?\w+\}?", "north", word) for word in given]


LINES = [(step, words) for step in STEPS for words in command_lines(step.script)]


def takes(words: list[str]) -> bool:
    try:
        parser().parse_args(words)
    except SystemExit:
        return False
    return True


def test_the_templates_call_the_commands_that_they_are_for() -> None:
    for host in ("github", "gitlab"):
        called = {words[0] for step, words in LINES if step.host == host}
        assert called == {"validate", "diff", "compile", "sign", "publish"}


@pytest.mark.parametrize(("step", "words"), LINES, ids=lambda part: part[0] if isinstance(part, list) else str(part))
def test_a_template_names_no_command_or_option_that_is_not_there(step: Step, words: list[str]) -> None:
    typed = against(words)
    assert takes(typed), f"{step}: ebbtide {shlex.join(typed)}"


@pytest.mark.parametrize(("path", "schema"), [(GITHUB, "vendor.github-workflows"), (GITLAB, "vendor.gitlab-ci")])
def test_a_template_is_valid_to_its_host(path: Path, schema: str) -> None:
    check = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    if schema == "vendor.gitlab-ci":
        check += ["--data-transform", "gitlab-ci"]
    done = subprocess.run([*check, path], check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_foreign_text_reaches_no_script_but_by_a_variable() -> None:
    assert [str(step) for step in STEPS if "${{" in step.script] == []


def test_every_action_of_others_is_pinned_to_a_commit() -> None:
    uses = re.findall(r"uses: (.*)", GITHUB.read_text(encoding="utf-8"))
    assert uses
    assert [use for use in uses if not re.fullmatch(r"[\w-]+/[\w/-]+@[0-9a-f]{40} # v\d+(\.\d+)*", use)] == []


def test_a_job_holds_no_more_rights_than_it_uses() -> None:
    workflow = document(GITHUB)
    assert workflow["permissions"] == {}
    rights = {name: job["permissions"] for name, job in workflow["jobs"].items()}
    assert rights == {
        "validate": {"contents": "read", "security-events": "write"},
        "effects": {"contents": "read", "pull-requests": "write"},
        "publish": {"contents": "write"},
    }
    for name in ("validate", "effects"):
        assert "secrets." not in json.dumps(workflow["jobs"][name])
        assert workflow["jobs"][name]["steps"][0]["with"]["persist-credentials"] is False
    assert workflow["jobs"]["publish"]["if"] == "github.event_name == 'push'"
    assert workflow["jobs"]["publish"]["environment"]


def test_the_key_never_reaches_a_pipeline_of_a_merge_request() -> None:
    pipeline = document(GITLAB)
    publish = pipeline["ebbtide-publish"]
    assert publish["rules"] == [{"if": "$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"}]
    others = json.dumps({name: job for name, job in pipeline.items() if name != "ebbtide-publish"})
    assert "SIGNING_KEY" not in others
    assert "PUSH_TOKEN" not in others


def test_the_protected_branch_is_judged_against_itself_so_that_an_expiry_keeps_no_merge_from_going_out() -> None:
    pipeline = document(GITLAB)
    told = {rule["if"]: rule["variables"]["EBBTIDE_AGAINST"] for rule in pipeline["ebbtide-validate"]["rules"]}
    assert told["$CI_COMMIT_BRANCH == $CI_DEFAULT_BRANCH"] == "--base HEAD"
    assert told['$CI_PIPELINE_SOURCE == "merge_request_event"'].startswith("--base $CI_MERGE_REQUEST")
    assert "validate" not in document(GITHUB)["jobs"]["publish"].get("needs", ())


# --- run for real ---


@pytest.fixture(name="estate")
def _estate(tmp_path: Path) -> Path:
    """A new estate with a change on top, as a job's checkout has it."""
    estate = tmp_path / "estate"
    for path, content in files_of(Names("shore", "north", "tides"), "github").items():
        at = estate / path
        at.parent.mkdir(parents=True, exist_ok=True)
        at.write_bytes(content)
    git("init", "-q", "-b", "main", at=estate)
    commit_all(estate, "base")
    contract = estate / "contracts" / "tides" / "example-job.yaml"
    contract.write_text(contract.read_text("utf-8").replace("maximum: 24", "maximum: 25"), encoding="utf-8")
    commit_all(estate, "change")
    return estate


def commit_all(at: Path, message: str) -> None:
    git("add", "--all", at=at)
    git("commit", "-qm", message, at=at)


def shell(script: str, at: Path, variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """Run a script as the hosts do, with `ebbtide` found on the path."""
    tools = at.parent / "bin"
    tools.mkdir(exist_ok=True)
    program = tools / "ebbtide"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -P -m ebbtide "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    hosts = ("GITHUB_ACTIONS", "GITLAB_CI")  # of a machine that runs these tests
    here = {name: value for name, value in os.environ.items() if name not in hosts}
    given = {**here, "PYTHONPATH": str(ROOT), "EBBTIDE_CUE": str(cue()), **variables}
    given["PATH"] = f"{tools}:{BIN}:{given['PATH']}"
    done = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script]
    return subprocess.run(done, cwd=at, env=given, check=False, capture_output=True, text=True, timeout=120)


def cue() -> Path:
    found = os.environ.get("EBBTIDE_CUE") or shutil.which("cue") or ROOT / ".tools" / "bin" / "cue"
    return Path(found)


JUDGING = [step for step in STEPS if "ebbtide validate" in step.script]


@pytest.mark.parametrize("step", JUDGING, ids=str)
@pytest.mark.parametrize("wrong", [False, True])
def test_judging_steps_end_as_the_estate_deserves(step: Step, estate: Path, *, wrong: bool) -> None:
    if wrong:
        contract = estate / "contracts" / "tides" / "example-job.yaml"
        contract.write_text(contract.read_text("utf-8").replace("maximum: 25", "maximum: 025"), encoding="utf-8")
        commit_all(estate, "wrong")
    base = git("rev-parse", "HEAD^", at=estate)
    done = shell(step.script, estate, {"BASE": base, "EBBTIDE_AGAINST": f"--base {base}"})
    writes_a_file = "ebbtide.sarif" in step.script
    assert (done.returncode, done.stderr) == (1 if wrong and not writes_a_file else 0, "")
    if writes_a_file:
        results = json.loads((estate / "ebbtide.sarif").read_text("utf-8"))["runs"][0]["results"]
        assert [result["ruleId"] for result in results] == (["EBT-116"] if wrong else [])
    elif step.host == "gitlab":
        report = json.loads((estate / "gl-code-quality-report.json").read_text("utf-8"))
        assert [entry["check_name"] for entry in report] == (["EBT-116"] if wrong else [])
    else:
        assert done.stdout.startswith("::error file=contracts/tides/example-job.yaml,line=") is wrong


WRITING = [step for step in STEPS if step.script.count("ebbtide diff") and "comment" not in step.script]


@pytest.mark.parametrize("step", WRITING, ids=str)
def test_the_effects_of_a_change_are_written_for_the_comment(step: Step, estate: Path) -> None:
    done = shell(step.script, estate, {"BASE": git("rev-parse", "HEAD^", at=estate)})
    assert (done.returncode, done.stderr) == (0, "")
    assert "example-job" in (estate / "effects.md").read_text(encoding="utf-8")


COMMENTING = [step for step in STEPS if "comment" in step.script]


@pytest.mark.parametrize("step", COMMENTING, ids=str)
def test_the_effects_end_in_one_comment(step: Step, estate: Path) -> None:
    if step.host == "gitlab":
        (estate / ".gitlab").mkdir()
        shutil.copy(estate / ".github" / "ebbtide-comment.py", estate / ".gitlab")
    else:
        (estate / "effects.md").write_text("example-job: maximum 24 -> 25\n", encoding="utf-8")
    base = git("rev-parse", "HEAD^", at=estate)
    with serving() as host:
        variables = given(host, step.host) | {"CI_MERGE_REQUEST_DIFF_BASE_SHA": base}
        for _ in range(2):
            done = shell(step.script, estate, variables)
            assert (done.returncode, done.stderr) == (0, "")
    ((writer, text),) = host.comments
    assert writer == US
    assert text.startswith(MARK)
    assert "example-job" in text


PUBLISHING = [step for step in STEPS if "ebbtide publish" in step.script]


@pytest.mark.parametrize("step", PUBLISHING, ids=str)
def test_each_run_publishes_one_version_more_of_each_region(step: Step, estate: Path, tmp_path: Path) -> None:
    origin = tmp_path / "origin.git"
    git("clone", "-q", "--bare", str(estate), str(origin), at=tmp_path)
    git("remote", "add", "origin", str(origin), at=estate)
    keys = tmp_path / "keys"
    assert shell(f"ebbtide keys new '{keys}' --estate shore --key ci", estate, {}).returncode == 0
    key = keys / "ci.pem"
    given = {
        **step.variables,
        "RUNNER_TEMP": str(tmp_path / "runner"),
        "GITHUB_ACTOR": "ann",
        "GITLAB_USER_LOGIN": "ann",
        "CI_PROJECT_URL": f"file://{tmp_path}/origin",
        "EBBTIDE_PUSH_TOKEN": "t",
        "EBBTIDE_SIGNING_KEY": key.read_text(encoding="utf-8") if step.host == "github" else str(key),
    }
    for version in (1, 2):
        (tmp_path / "runner").mkdir()
        done = shell(step.script, estate, given)
        assert done.returncode == 0, done.stdout + done.stderr
        assert f"published version {version}" in done.stdout
        assert not [file for file in tmp_path.rglob("ebbtide.key") if file.is_file()]
        shutil.rmtree(tmp_path / "runner")
    log = git("log", "--format=%s", "refs/ebbtide/bundles/north", at=origin)
    assert log.splitlines() == ["Publish north version 2", "Publish north version 1"]


@pytest.mark.parametrize("step", JUDGING, ids=str)
def test_a_judging_step_fails_where_nothing_could_be_judged(step: Step, estate: Path) -> None:
    base = git("rev-parse", "HEAD^", at=estate)
    given = {"BASE": base, "EBBTIDE_AGAINST": f"--base {base}", "EBBTIDE_CUE": "/nonexistent/cue"}
    assert shell(step.script, estate, given).returncode != 0


# --- the hook ---


def hooked(at: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return shell(shlex.join(["pre-commit", *words]), at, {"PRE_COMMIT_HOME": str(at.parent / "cache")})


def test_the_hook_judges_what_is_staged_and_nothing_else(estate: Path) -> None:
    (estate / "notes.txt").write_text("not for the estate", encoding="utf-8")
    contract = estate / "contracts" / "tides" / "example-job.yaml"
    sound = contract.read_text("utf-8")
    contract.write_text(sound.replace("maximum: 25", "maximum: 025"), encoding="utf-8")
    git("add", "contracts", at=estate)
    refused = hooked(estate, "run")
    assert refused.returncode == 1
    assert "EBT-116" in refused.stdout
    contract.write_text(sound.replace("maximum: 25", "maximum: 26"), encoding="utf-8")
    git("add", "contracts", at=estate)
    assert "Passed" in hooked(estate, "run").stdout


def test_the_hook_of_this_repository_is_the_one_that_is_laid(tmp_path: Path, estate: Path) -> None:
    """`try-repo` takes a hook from a repository's own list, as a configuration that names the repository would."""
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    git("init", "-q", at=shipped)
    shutil.copy(ROOT / ".pre-commit-hooks.yaml", shipped)
    commit_all(shipped, "hooks")
    done = hooked(estate, "try-repo", str(shipped), "ebbtide-validate", "--all-files")
    assert done.returncode == 0, done.stdout + done.stderr
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text("utf-8"))
    (laid,) = yaml.safe_load((estate / ".pre-commit-config.yaml").read_text("utf-8"))["repos"][0]["hooks"]
    assert {key: hook[key] for key in laid} == laid
