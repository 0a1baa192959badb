"""Profiler, hub, benchmark, futures and other helpers under PyTorch's names."""

from __future__ import annotations

import doctest
import importlib
import json
import os

import pytest

import flambeau
from flambeau.utils.benchmark import Compare, Timer

MODULES = """
_checks _removed _streams _symbolic _traits _dynamo._marks _dynamo.backends.registry
_dynamo.eval_frame _inductor.cpu_vec_isa autograd.profiler compiler cuda distributed
distributed._group distributed._store distributed._data_parallel distributed.algorithms.join
distributed.algorithms._checkpoint.checkpoint_wrapper distributed.device_mesh
distributed.fsdp.wrap distributed.nn.functional distributed.tensor.placement_types futures fx
fx.experimental.symbolic_shapes fx.immutable_collections hub jit library monitor mps mtia ops
profiler utils._device utils._ordered_set utils._swap utils.benchmark._measure
utils.module_tracker utils.weak xpu accelerator _prims_common
""".split()


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(f"flambeau.{name}")
    assert doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE).failed == 0


def test_profile(tmp_path):
    model = flambeau.nn.Sequential(flambeau.nn.Linear(2, 2))
    with flambeau.profiler.profile(
        schedule=flambeau.profiler.schedule(wait=1, warmup=0, active=2)
    ) as p:
        for _ in range(3):
            with flambeau.profiler.record_function("region"):
                model(flambeau.ones(1, 2))
            p.step()
    counts = {e.key: e.count for e in p.key_averages()}
    assert counts["region"] == 2 and counts["ProfilerStep#1"] == 1
    assert "region" in p.key_averages().table(sort_by="cpu_time_total", row_limit=9)
    p.export_chrome_trace(str(tmp_path / "trace.json"))
    assert json.loads((tmp_path / "trace.json").read_text())["traceEvents"]


def test_hub(tmp_path):
    (tmp_path / "hubconf.py").write_text('def model(n=1):\n    "It."\n    return [n]\n')
    hub, folder = flambeau.hub, str(tmp_path)
    assert hub.list(folder) == ["model"] and hub.help(folder, "model") == "It."
    assert hub.load(folder, "model", n=3, source="local") == [3]
    with pytest.raises(RuntimeError, match="Cannot find callable other"):
        hub.load(folder, "other", source="local")
    flambeau.save({"a": 1}, tmp_path / "w.pth")
    load = hub.load_state_dict_from_url
    assert load("https://example.org/w.pth", model_dir=folder) == {"a": 1}
    with pytest.raises(RuntimeError, match="does not download https://example.org/x.pth"):
        load("https://example.org/x.pth", model_dir=folder)


def test_benchmark():
    timer = Timer("x + 1", globals={"x": 1}, label="sum", sub_label="a", description="int")
    text = Compare([timer.timeit(10), timer.blocked_autorange(min_run_time=0.001)]).table()
    assert "sum" in text and "int" in text


def test_swap_tensors():
    a, b = flambeau.nn.Parameter(flambeau.ones(1)), flambeau.nn.Parameter(flambeau.zeros(2))
    a.grad = flambeau.full((1,), 7.0)
    flambeau.utils.swap_tensors(a, b)
    assert (a.tolist(), b.tolist(), a.grad, b.grad.item()) == ([0.0, 0.0], [1.0], None, 7.0)


def test_private_names():
    c = flambeau._C
    assert c._TensorBase is flambeau.Tensor and c._get_privateuse1_backend_name() == "privateuseone"
    assert c._nn._parse_to("cpu", flambeau.float64)[1] is flambeau.float64
    functorch = importlib.import_module("flambeau._C._functorch")
    assert flambeau.vmap(lambda x: x * functorch.is_batchedtensor(x))(flambeau.ones(1)).item() == 1
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        c.nothing


@pytest.mark.parametrize("check", ["_check", "_check_value", "_check_index", "_check_type"])
def test_checks(check):
    errors = {"_check": RuntimeError, "_check_value": ValueError, "_check_index": IndexError}
    with pytest.raises(errors.get(check, TypeError), match="why"):
        getattr(flambeau, check)(False, lambda: "why")
    getattr(flambeau, check)(True)


def test_libraries_are_loaded(tmp_path):
    ops = importlib.import_module("flambeau.ops")
    with pytest.raises(OSError, match="absent.so"):
        ops.load_library(str(tmp_path / "absent.so"))
    (tmp_path / "text.so").write_text("not a library")
    with pytest.raises(OSError, match="text.so"):
        ops.load_library(tmp_path / "text.so")
    assert not [path for path in ops.loaded_libraries if str(tmp_path) in path]
    path = importlib.import_module("_ctypes").__file__
    ops.load_library(path)
    assert os.path.realpath(path) in ops.loaded_libraries
