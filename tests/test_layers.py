"""The layers hold: a forbidden import is found in whichever module of a package it is written."""

import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The sources and the contracts, to be spoilt."""
    root = tmp_path_factory.mktemp("layers")
    for package in ("pipeline", "agents"):
        shutil.copytree(ROOT / package, root / package, ignore=shutil.ignore_patterns("*.pyc", "*.nbi", "*.nbc"))
    (root / "tests").mkdir()
    for file in ("pyproject.toml", "tests/__init__.py", "tests/import_contracts.py"):
        shutil.copy(ROOT / file, root / file)
    return root


def check(root):
    """Whether the contracts are kept, and what is said."""
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache", "--no-logo"]
    run = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    return run.returncode == 0, run.stdout + run.stderr


def test_the_sources_keep_them(copy):
    kept, said = check(copy)
    assert kept, said


@pytest.mark.parametrize(
    ("module", "imported"),
    [
        ("pipeline/stages/cluster/papers.py", "pipeline.kafka.admin"),
        ("pipeline/stages/fingerprint.py", "os"),
        ("pipeline/stages/rules.py", "time"),
        ("pipeline/stages/detect/volume.py", "pipeline.storage.write"),
        ("pipeline/stages/detect/evidence.py", "pipeline.stages.cluster.state"),
        ("pipeline/similarity/minhash.py", "pipeline.records"),
        ("pipeline/similarity/curve.py", "random"),
        ("pipeline/languages/words.py", "pipeline.config"),
        ("pipeline/languages/codes.py", "socket"),
        ("pipeline/records.py", "pipeline.stages"),
        ("pipeline/times.py", "time"),
        ("pipeline/codec.py", "structlog"),
        ("pipeline/replay.py", "aiokafka"),
        ("pipeline/evaluation/metrics.py", "pipeline.kafka.read"),
        ("pipeline/kafka/topics.py", "agents.runtime.metrics"),
        ("pipeline/embedded/ports.py", "sqlalchemy"),
        ("agents/transport/chunks.py", "agents.runtime.state"),
        ("agents/runtime/state.py", "pipeline.stages.cluster.state"),
        ("pipeline/cli/events.py", "faust"),
    ],
)
def test_a_forbidden_import_is_found(copy, module, imported):
    path = copy / module
    before = path.read_text(encoding="utf-8")
    try:
        path.write_text(f"{before}\n\ndef _walk_around():\n    import {imported}  # noqa\n", encoding="utf-8")
        kept, said = check(copy)
    finally:
        path.write_text(before, encoding="utf-8")
    assert not kept
    assert f"{module.removesuffix('.py').replace('/', '.')} must not import" in said or "->" in said


def test_every_room_of_the_pipeline_has_an_allow_list():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = settings["tool"]["importlinter"]["contracts"]
    listed = {package for contract in contracts if contract["type"] == "allow_list" for package in contract["packages"]}
    rooms = {
        f"pipeline.{path.stem}"
        for path in (ROOT / "pipeline").iterdir()
        if path.suffix in {"", ".py"} and path.stem[0] not in "._"
    }
    assert rooms - listed == {"pipeline.cli", "pipeline.command"}


def test_a_module_that_is_written_tomorrow_is_bound_too(copy):
    path = copy / "pipeline/stages/tomorrow.py"
    path.write_text("import pipeline.kafka.admin\n", encoding="utf-8")
    try:
        kept, said = check(copy)
    finally:
        path.unlink()
    assert not kept
    assert "pipeline.stages.tomorrow must not import pipeline.kafka.admin" in said
