"""Kernels: none of an older source is run, and none takes an argument list that nobody can read."""

import inspect
import pkgutil
from importlib import import_module

import pytest

import pipeline.similarity
import pipeline.stages
from pipeline.similarity import compiled

MOST_PARAMETERS = 12


def kernels():
    """All kernels, by name."""
    for package in (pipeline.similarity, pipeline.stages):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            for name, value in vars(import_module(found.name)).items():
                if hasattr(value, "py_func"):
                    yield name, value


def test_the_name_of_what_is_cached_depends_on_every_source_that_is_compiled(tmp_path, monkeypatch):
    sources = [tmp_path / path for path in ("similarity/buckets.py", "stages/cluster/kernels.py", "times.py")]
    for source in sources:
        source.parent.mkdir(parents=True, exist_ok=True)
        source.write_text("VALUE = 1\n")
    monkeypatch.setattr(compiled, "__file__", str(tmp_path / "similarity" / "compiled.py"))
    seen = {compiled.salt.__wrapped__()}
    for source in sources:
        source.write_text("VALUE = 2\n")
        seen.add(compiled.salt.__wrapped__())
    assert len(seen) == 1 + len(sources)
    (tmp_path / "records.py").write_text("VALUE = 3\n")
    assert compiled.salt.__wrapped__() in seen


@pytest.mark.skipif(not compiled.COMPILED, reason="numba is not installed.")
def test_the_cache_of_each_kernel_is_named_by_it():
    for name, kernel in kernels():
        assert compiled.salt() in kernel._cache._impl.filename_base, name


def test_no_kernel_takes_more_arguments_than_a_reader_can_follow():
    for name, kernel in kernels():
        assert len(inspect.signature(kernel.py_func).parameters) <= MOST_PARAMETERS, name
