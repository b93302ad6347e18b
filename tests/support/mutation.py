"""Alters one place of a module at a time, and counts the alterations that its tests find.

`make mutation` does this for the modules of `mutation.toml` with Cosmic Ray, which has its own
environment. It works on copies of the last commit, so that processes that a test starts run the
altered code too. Annotations and docstrings are not altered. `--sample 40` tries that many
mutants of each module, the same ones in each run. The scores, and each survivor with the reason
why it is accepted, are written to `docs/mutation.md`: of all modules, those that were tried before
as well. `--report` writes the page without trying any.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import sqlite3
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from typing import NamedTuple

from installs import ROOT, environment, succeed

CACHE: Path = ROOT / ".cache/mutation"
AT_ONCE = 2
TOOL = "cosmic-ray==8.7.0"
# Of the operators that replace one symbol by each other symbol, those that differ most in effect.
SYMBOLS = """
Add_Sub Sub_Add Mul_FloorDiv FloorDiv_Mul Div_Mul Mod_Mul Pow_Mul
BitOr_BitAnd BitAnd_BitOr BitXor_BitOr LShift_RShift RShift_LShift
"""
ORDER = """
Lt_LtE Lt_GtE LtE_Lt LtE_Gt Gt_GtE Gt_LtE GtE_Gt GtE_Lt
Eq_NotEq NotEq_Eq Is_IsNot IsNot_Is In_NotIn NotIn_In
"""
OPERATORS = {
    *(f"core/ReplaceBinaryOperator_{name}" for name in SYMBOLS.split()),
    *(f"core/ReplaceComparisonOperator_{name}" for name in ORDER.split()),
    "core/AddNot",
    "core/NumberReplacer",
    "core/ReplaceAndWithOr",
    "core/ReplaceBreakWithContinue",
    "core/ReplaceContinueWithBreak",
    "core/ReplaceFalseWithTrue",
    "core/ReplaceOrWithAnd",
    "core/ReplaceTrueWithFalse",
    "core/ReplaceUnaryOperator_Delete_Not",
    "core/ZeroIterationForLoop",
}
CONFIG = """[cosmic-ray]
module-path = "{module}"
timeout = {timeout}
excluded-modules = []
test-command = "{command}"
[cosmic-ray.distributor]
name = "local"
"""

INTRODUCTION = """# Mutation tests

Tests are only worth what they notice. `make mutation` alters one place at a time of the modules
that hold the promises of this project: the filters of system calls, the rules of Landlock, what
passes between host and sandbox, the journal of durable runs, the SQL of comparisons and the
classification of rows. Then it runs the tests of that module. A change that they notice is found;
a change that they do not notice survives. Survivors are listed below with the reason why they are
accepted. A program makes this page.

"""
Position = tuple[int, int]


class Target(NamedTuple):
    """A module, and the tests that should notice each change of it."""

    module: str
    tests: str
    timeout: float = 120.0

    @property
    def session(self) -> Path:
        """Where the results are kept."""
        name = self.module.removeprefix("src/").removesuffix(".py").replace("/", ".")
        return CACHE / f"{name}.sqlite"


class Score(NamedTuple):
    """How the tests did with the mutants of one module."""

    module: str
    tried: int
    of: int
    survivors: Sequence[str]


def main() -> None:
    """Run what the command line names."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("modules", nargs="*", help="parts of the names of modules; all by default")
    parser.add_argument("--sample", type=int, help="mutants of each module; all by default")
    parser.add_argument("--report", action="store_true", help="only write the page again")
    options = parser.parse_args()
    table = tomllib.loads(Path(__file__).with_suffix(".toml").read_text())
    targets = [Target(**each) for each in table["target"]]
    if not options.report:
        parts = options.modules or [""]
        chosen = [each for each in targets if any(part in each.module for part in parts)]
        _try(chosen, options.sample)
    reasons = {each["change"].strip(): each["reason"] for each in table.get("survivor", ())}
    scores = [_read(target) for target in targets if target.session.exists()]
    page = "\n".join([INTRODUCTION, *_report(scores, reasons)])
    (ROOT / "docs/mutation.md").write_text(page)


def _try(targets: Sequence[Target], sample: int | None) -> None:
    CACHE.mkdir(parents=True, exist_ok=True)
    if not (CACHE / "venv/bin/cosmic-ray").exists():
        succeed(environment(CACHE / "venv"), "-m", "pip", "install", "-q", TOOL)
    copies: Queue[Path] = Queue()
    for number in range(AT_ONCE):
        copies.put(_copy(CACHE / f"copy{number}"))
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(lambda target: _try_one(target, copies, sample), targets))


def _copy(to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    archive = subprocess.run(["git", "archive", "HEAD"], cwd=ROOT, check=True, capture_output=True)
    subprocess.run(["tar", "x"], cwd=to, input=archive.stdout, check=True)
    (to / ".venv").symlink_to(ROOT / ".venv")
    return to


def _try_one(target: Target, copies: Queue[Path], sample: int | None) -> None:
    copy = copies.get()
    try:
        config, session = copy / "mutation.toml", copy / "mutation.sqlite"
        command = f"{ROOT}/.venv/bin/python -m pytest -q -x -p no:randomly -p no:cacheprovider"
        config.write_text(
            CONFIG.format(
                module=target.module, timeout=target.timeout, command=f"{command} {target.tests}"
            )
        )
        session.unlink(missing_ok=True)
        _cosmic_ray(copy, "baseline", config)
        _cosmic_ray(copy, "init", config, session)
        _select(session, (copy / target.module).read_text(), sample)
        _cosmic_ray(copy, "exec", config, session)
        session.replace(target.session)
        score = _read(target)
        _say(f"{target.module}: {score.tried - len(score.survivors)} of {score.tried} found")
    finally:
        copies.put(copy)


def _cosmic_ray(copy: Path, *words: object) -> None:
    command = [str(CACHE / "venv/bin/cosmic-ray"), *map(str, words)]
    paths = {"PYTHONPATH": f"{copy}/src:{copy}", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        command, cwd=copy, env=os.environ | paths, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"{' '.join(command)}:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def _select(session: Path, code: str, sample: int | None) -> None:
    """Leave the mutants to try in the session, and note how many there are without a sample."""
    operators, no_code = _operators_of(code), _no_code_of(code)
    chosen: list[tuple[str, str]] = []
    query = "SELECT job_id, operator_name, occurrence, start_pos_row, start_pos_col, end_pos_row,"
    query += " end_pos_col FROM mutation_specs"
    with sqlite3.connect(session) as base:
        for job, name, occurrence, *places in base.execute(query):
            begin, end = (places[0], places[1]), (places[2], places[3])
            if name not in OPERATORS or any(a <= begin and end <= b for a, b in no_code):
                continue
            if "BinaryOperator" in name and not any(a <= begin < b for a, b in operators):
                continue
            chosen.append((hashlib.sha256(f"{name} {occurrence}".encode()).hexdigest(), job))
        kept = [(job,) for _, job in sorted(chosen)[: sample or len(chosen)]]
        base.execute("CREATE TEMP TABLE kept (job_id VARCHAR)")
        base.executemany("INSERT INTO kept VALUES (?)", kept)
        base.execute("DELETE FROM mutation_specs WHERE job_id NOT IN (SELECT job_id FROM kept)")
        base.execute("DELETE FROM work_items WHERE job_id NOT IN (SELECT job_id FROM kept)")
        base.execute("CREATE TABLE mutants AS SELECT ? AS number", (len(chosen),))


def _operators_of(code: str) -> list[tuple[Position, Position]]:
    """Where symbols stand that compute: not the stars of arguments."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.BinOp):
            found.append((_end(node.left), _begin(node.right)))
        if isinstance(node, ast.AugAssign):
            found.append((_end(node.target), _begin(node.value)))
    return found


def _no_code_of(code: str) -> list[tuple[Position, Position]]:
    """Where annotations stand, and what only costs time: `copy=` of sqlglot."""
    return [(_begin(node), _end(node)) for node in _annotations(ast.parse(code))]


def _annotations(tree: ast.AST) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns:
            yield node.returns
        if isinstance(node, ast.arg) and node.annotation:
            yield node.annotation
        if isinstance(node, ast.AnnAssign):
            yield node.annotation
        if isinstance(node, ast.keyword) and node.arg == "copy":
            yield node.value


def _begin(node: ast.expr) -> Position:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> Position:
    return node.end_lineno or node.lineno, node.end_col_offset or node.col_offset


def _read(target: Target) -> Score:
    with sqlite3.connect(target.session) as base:
        results = base.execute("SELECT test_outcome, worker_outcome, diff FROM work_results")
        rows = [(str(outcome), str(worker), str(diff)) for outcome, worker, diff in results]
        ((of,),) = base.execute("SELECT number FROM mutants")
    for _, worker, _ in rows:
        if worker not in {"NORMAL", "TIMEOUT"}:
            sys.exit(f"{target.module}: Cosmic Ray reports {worker}")
    survivors = [diff for outcome, _, diff in rows if outcome == "SURVIVED"]
    return Score(target.module, len(rows), int(of), survivors)


def _report(scores: Sequence[Score], reasons: Mapping[str, str]) -> list[str]:
    lines = ["| module | mutants tried | found | score |", "|---|---|---|---|"]
    tried = found = 0
    for each in scores:
        killed = each.tried - len(each.survivors)
        tried, found = tried + each.tried, found + killed
        share = f"{killed / max(1, each.tried):.0%}"
        lines.append(f"| `{each.module}` | {each.tried} of {each.of} | {killed} | {share} |")
    lines += [f"| all | {tried} | {found} | {found / max(1, tried):.0%} |", ""]
    for each in scores:
        for diff in each.survivors:
            reason = _reason(diff, reasons)
            lines += [f"`{each.module}`: {reason}", "", "```diff", *_changed(diff), "```", ""]
    return lines


def _changed(diff: str) -> list[str]:
    """The lines of the diff that tell the change."""
    heads = ("---", "+++")
    return [line for line in diff.splitlines() if line[:1] in "@+-" and line[:3] not in heads]


def _reason(diff: str, reasons: Mapping[str, str]) -> str:
    added = [line[1:].strip() for line in _changed(diff) if line.startswith("+")]
    return next((reasons[line] for line in added if line in reasons), "no reason is known")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
