"""The house: how large things may grow, what they are called, what imports what, and what ships.

Judges every Python file that Git knows or would add. A file, function or class may exceed a limit only by a line in
`EXCEPTIONS` that states how far and why; a line that is no longer needed fails as well.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PACKAGES: list[str] = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]

LIMITS = {
    "lines": 400,  # of a file
    "body": 60,  # lines of a function below its docstring
    "positional": 6,  # arguments that may be given by position, self apart
    "methods": 15,  # of a class
    "complexity": 10,  # McCabe, as ruff counts it
}
# (limit, file or file:qualified name) -> (how far it may go, why)
EXCEPTIONS: dict[tuple[str, str], tuple[int, str]] = {
    ("lines", "tools/generate_estate.py"): (420, "most of it is the text of the files that it lays down"),
}

BANNED_WORDS = frozenset({"util", "utils", "helper", "helpers", "manager", "managers", "common", "base", "misc"})

# Spelt in pieces, so that this file does not find itself. A path counts where it starts one, not inside a longer one.
FOREIGN = {
    "a path of one person's machine": re.compile(r"(?<![\w.\-/])/" + r"(?:home|root|work|Users)/\w"),
    "the host name of a package registry": re.compile(
        r"\b(?:pypi|pythonhosted)[.]" + r"org\b"
        r"|\bregistry[.]" + r"(?:npmjs|yarnpkg)[.](?:org|com)\b"
        r"|\b(?:proxy|sum)[.]" + r"golang[.]org\b"
        r"|\brepo(?:1|[.]maven)?[.]" + r"(?:maven|apache)[.]org\b"
        r"|\b(?:index|static)[.]" + r"crates[.]io\b"
    ),
}


@cache
def files() -> tuple[str, ...]:
    """Every file that is committed or would be by `git add --all`, relative to the checkout."""
    listing = subprocess.run(
        # The checkout may belong to another user, as it does on machines that check changes.
        ["git", "-c", "safe.directory=*", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    return tuple(sorted(name for name in listing.split("\0") if (ROOT / name).is_file()))


@cache
def modules() -> tuple[str, ...]:
    return tuple(name for name in files() if name.endswith(".py"))


@cache
def tree(module: str) -> ast.Module:
    return ast.parse((ROOT / module).read_text(encoding="utf-8"))


type_of_function = (ast.FunctionDef, ast.AsyncFunctionDef)


def definitions(node: ast.AST, prefix: str = "") -> Iterator[tuple[str, ast.AST]]:
    """Each function and class below `node` with its qualified name."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (*type_of_function, ast.ClassDef)):
            name = f"{prefix}{child.name}"
            yield name, child
            yield from definitions(child, f"{name}.")
        else:
            yield from definitions(child, prefix)


def body_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    return (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0


def positional(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    names = [argument.arg for argument in (*function.args.posonlyargs, *function.args.args)]
    return len(names) - (names[:1] in (["self"], ["cls"]))


def methods(class_: ast.ClassDef) -> int:
    return sum(isinstance(item, type_of_function) for item in class_.body)


def sizes() -> Iterator[tuple[str, str, int]]:
    """(limit, where, measured) for everything that a limit but complexity applies to."""
    for module in modules():
        yield "lines", module, len((ROOT / module).read_text(encoding="utf-8").splitlines())
        for name, node in definitions(tree(module)):
            if isinstance(node, ast.ClassDef):
                yield "methods", f"{module}:{name}", methods(node)
            elif isinstance(node, type_of_function):
                yield "body", f"{module}:{name}", body_lines(node)
                yield "positional", f"{module}:{name}", positional(node)


def complexities() -> Iterator[tuple[str, str, int]]:
    """The same for complexity, which ruff counts; only what exceeds the limit."""
    limit = LIMITS["complexity"]
    count = ["--select=C901", f"--config=lint.mccabe.max-complexity={limit}", "--output-format=json"]
    alone = ["--isolated", "--no-cache", "--ignore-noqa", "--exit-zero", "--target-version=py311"]
    report = subprocess.run(
        [sys.executable, "-m", "ruff", "check", *alone, *count, *modules()],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    for found in json.loads(report):
        module = Path(found["filename"]).relative_to(ROOT).as_posix()
        row = found["location"]["row"]
        where = next(
            name
            for name, node in definitions(tree(module))
            if isinstance(node, type_of_function) and node.lineno == row
        )
        measured = re.search(r"\((\d+) >", found["message"])
        assert measured is not None, found["message"]
        yield "complexity", f"{module}:{where}", int(measured[1])


def test_nothing_outgrows_its_limit_and_every_exception_is_still_needed() -> None:
    problems = []
    needed = set()
    for limit, where, measured in (*sizes(), *complexities()):
        if measured <= LIMITS[limit]:
            continue
        needed.add((limit, where))
        allowed, _ = EXCEPTIONS.get((limit, where), (LIMITS[limit], ""))
        if measured > allowed:
            problems.append(f"{where}: {limit} {measured}, at most {allowed}")
    problems += [f"{where}: no longer exceeds {limit}" for limit, where in EXCEPTIONS if (limit, where) not in needed]
    problems += [f"{key}: an exception needs a reason" for key, (_, reason) in EXCEPTIONS.items() if not reason.strip()]
    assert not problems, "\n".join(problems)


def test_the_measures_count_what_they_claim() -> None:
    source = ast.parse(
        "class A:\n"
        "    def f(self, a, /, b, *, c):\n"
        "        '''Promise.'''\n"
        "        x = 1\n"
        "        return x\n"
        "    async def g(self): ...\n"
    )
    found = dict(definitions(source))
    function, class_ = found["A.f"], found["A"]
    assert isinstance(function, ast.FunctionDef)
    assert isinstance(class_, ast.ClassDef)
    assert (body_lines(function), positional(function), methods(class_)) == (2, 2, 2)


def test_no_module_has_a_name_that_says_nothing() -> None:
    named = [module for module in modules() if BANNED_WORDS & set(re.split(r"[_/.]", module))]
    assert not named


def test_packages_are_flat_beside_their_adapters() -> None:
    inner = {str(Path(module).parent) for module in modules() if module.split("/")[0] in PACKAGES}
    allowed = {*PACKAGES, *(f"{package}/adapters" for package in PACKAGES)}
    assert inner <= allowed, sorted(inner - allowed)


def test_every_module_says_what_it_is_for() -> None:
    silent = [module for module in modules() if not ast.get_docstring(tree(module))]
    assert not silent


def test_every_package_ships_its_types() -> None:
    assert [package for package in PACKAGES if not (ROOT / package / "py.typed").is_file()] == []


def test_no_package_escapes_the_types_or_the_import_order() -> None:
    assert set(PROJECT["tool"]["mypy"]["packages"]) >= {*PACKAGES, "tests", "benchmarks"}
    assert set(PROJECT["tool"]["importlinter"]["root_packages"]) == set(PACKAGES)


def test_every_lint_exception_has_its_reason() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    section = text[text.index("[tool.ruff.lint]") : text.index("[tool.importlinter]")]
    entries = [line for line in section.splitlines() if re.match(r'\s*"[A-Z]+\d+",|"[^"]+" = \[.+\]', line)]
    assert entries
    assert [line for line in entries if not re.search(r"# \w", line)] == []


def asked_for() -> list[Requirement]:
    """Everything that pyproject.toml names by itself, build backend included."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    groups = PROJECT["dependency-groups"].values()
    named = [PROJECT["project"]["dependencies"], PROJECT["build-system"]["requires"], *extras, *groups]
    return [Requirement(line) for lines in named for line in lines]


def test_the_lock_holds_a_hashed_version_of_everything_asked_for() -> None:
    lock = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    pins = re.findall(r"^([a-z0-9.-]+)==([^ ]+)(?: ;[^\n]*?)? \\\n    --hash=sha256:", lock, re.MULTILINE)
    assert len(pins) == len(re.findall(r"^[a-z0-9]", lock, re.MULTILINE))
    locked = {name: [version for other, version in pins if other == name] for name, _ in pins}
    unmet = [
        str(wanted)
        for wanted in asked_for()
        if not locked.get(wanted.name.lower()) or not all(map(wanted.specifier.contains, locked[wanted.name.lower()]))
    ]
    assert not unmet, f"run make lock: {unmet}"


def test_every_dependency_that_ships_has_its_reason() -> None:
    reasons = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    shipped = {
        Requirement(line).name for lines in PROJECT["project"]["optional-dependencies"].values() for line in lines
    }
    assert sorted(name for name in shipped if name not in reasons) == []


def test_every_decision_record_is_listed() -> None:
    listed = (ROOT / "docs" / "adr" / "README.md").read_text(encoding="utf-8")
    records = [Path(name).name for name in files() if re.match(r"docs/adr/\d{4}-", name)]
    assert records
    assert [name for name in records if f"({name})" not in listed] == []


def test_imports_point_one_way() -> None:
    linter = Path(sys.executable).parent / "lint-imports"
    outcome = subprocess.run([linter, "--no-cache"], cwd=ROOT, check=False, capture_output=True, text=True)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.fixture(name="wheel", scope="module")
def _wheel(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The names in the wheel, built offline by the locked backend."""
    folder = tmp_path_factory.mktemp("wheel")
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", folder],
        cwd=ROOT,
        check=True,
        capture_output=True,
    )
    (built,) = folder.glob("*.whl")
    with zipfile.ZipFile(built) as archive:
        return archive.namelist()


def test_the_wheel_holds_the_packages_of_the_house_and_nothing_else(wheel: list[str]) -> None:
    project = PROJECT["project"]
    assert {name.split("/")[0] for name in wheel} == {*PACKAGES, f"{project['name']}-{project['version']}.dist-info"}


def test_the_wheel_carries_every_committed_file_of_its_packages(wheel: list[str]) -> None:
    committed = {name for name in files() if name.split("/")[0] in PACKAGES}
    assert committed <= set(wheel), sorted(committed - set(wheel))
    assert any(name.endswith("/licenses/LICENSE") for name in wheel)


def test_the_node_imports_nothing_but_the_standard_library() -> None:
    own = [
        module.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        for module in modules()
        if module.startswith("agent/") and "/adapters/" not in module
    ]
    program = (
        "import importlib, json, sys\n"
        "before = set(sys.modules)\n"
        f"for name in {['contracts', 'contracts.bundle', 'ledger', *own]!r}:\n"
        "    importlib.import_module(name)\n"
        "print(json.dumps(sorted({name.split('.')[0] for name in set(sys.modules) - before})))\n"
    )
    outcome = subprocess.run([sys.executable, "-c", program], cwd=ROOT, check=True, capture_output=True, text=True)
    loaded = set(json.loads(outcome.stdout))
    assert loaded >= {"agent", "contracts", "ledger"}
    assert loaded - set(sys.stdlib_module_names) == {"agent", "contracts", "ledger"}


def test_no_file_names_one_machine_or_a_package_registry() -> None:
    problems = []
    for name in files():
        content = (ROOT / name).read_bytes()
        if b"\0" in content:
            continue
        for number, line in enumerate(content.decode("utf-8", "replace").splitlines(), start=1):
            problems += [f"{name}:{number}: {what}" for what, pattern in FOREIGN.items() if pattern.search(line)]
    assert not problems, "\n".join(problems[:20])


@pytest.mark.parametrize(
    "text",
    ["see /" + "home/ann/x", "prefix=/" + "work/main", "https://" + "pypi." + "org/simple", "proxy." + "golang.org"],
)
def test_the_search_for_foreign_names_finds_one(text: str) -> None:
    assert any(pattern.search(text) for pattern in FOREIGN.values())
