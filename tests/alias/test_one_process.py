"""`flambeau.distributed` with one process."""

from __future__ import annotations

import pytest

import flambeau
import flambeau.distributed as dist
from flambeau.distributed.algorithms._checkpoint import checkpoint_wrapper
from flambeau.distributed.device_mesh import init_device_mesh


@pytest.fixture
def group():
    dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=1)
    yield
    if dist.is_initialized():
        dist.destroy_process_group()


def test_before_a_group_starts():
    assert dist.is_available() and not dist.is_initialized() and dist.group.WORLD is None
    for call in (dist.get_rank, dist.get_world_size, dist.barrier):
        with pytest.raises(ValueError, match="Default process group has not been initialized"):
            call()


def test_what_is_refused(monkeypatch):
    monkeypatch.delenv("RANK", raising=False)
    with pytest.raises(ValueError, match="environment variable RANK expected"):
        dist.init_process_group("gloo")
    with pytest.raises(NotImplementedError, match="2 processes"):
        dist.init_process_group("gloo", store=dist.HashStore(), rank=0, world_size=2)
    with pytest.raises(RuntimeError, match="NCCL"):
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    with pytest.raises(NotImplementedError, match="sharded training"):
        dist.fsdp.FullyShardedDataParallel(flambeau.nn.Linear(1, 1))


def test_environment(monkeypatch):
    for name, value in {
        "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost", "MASTER_PORT": "1",
    }.items():  # fmt: skip
        monkeypatch.setenv(name, value)
    dist.init_process_group("gloo")
    assert (dist.get_rank(), dist.get_world_size(), dist.get_backend()) == (0, 1, "gloo")
    with pytest.raises(ValueError, match="twice"):
        dist.init_process_group("gloo")
    dist.destroy_process_group()


@pytest.mark.usefixtures("group")
def test_collectives():
    x = flambeau.tensor([1.0, 2.0])
    assert dist.all_reduce(x) is None and x.tolist() == [1.0, 2.0]
    out = [flambeau.zeros(2)]
    work = dist.all_gather(out, x, async_op=True)
    assert work.wait() and work.is_completed() and out[0].tolist() == [1.0, 2.0]
    objects = [None]
    dist.all_gather_object(objects, {"a": [1]})
    assert objects == [{"a": [1]}]
    with pytest.raises(TypeError, match="expected|Expected parameter `tensor`"):
        dist.all_reduce(3)
    with pytest.raises(ValueError, match="2 tensors"):
        dist.all_gather([x, x], x)
    with pytest.raises(ValueError, match="should not be the same as the rank"):
        dist.send(x, 0)


@pytest.mark.usefixtures("group")
def test_data_parallel():
    model = flambeau.nn.parallel.DistributedDataParallel(flambeau.nn.Linear(2, 1))
    with model.no_sync():
        model(flambeau.ones(3, 2)).sum().backward()
    assert model.module.bias.grad.tolist() == [3.0]
    assert list(model.state_dict()) == ["module.weight", "module.bias"]


def test_mesh():
    mesh = init_device_mesh("cpu", (1, 1), mesh_dim_names=("a", "b"))
    assert mesh["a"].ndim == 1 and mesh.get_local_rank("b") == 0 and dist.is_initialized()
    with pytest.raises(KeyError):
        mesh["c"]
    dist.destroy_process_group()


def test_checkpoint_wrapper():
    model = flambeau.nn.Sequential(flambeau.nn.Linear(2, 2), flambeau.nn.ReLU())
    plain = {k: v.clone() for k, v in model.state_dict().items()}
    linear = flambeau.nn.Linear
    checkpoint_wrapper.apply_activation_checkpointing(
        model, check_fn=lambda m: isinstance(m, linear)
    )
    assert type(model[0]).__name__ == "CheckpointWrapper"
    assert list(model.state_dict()) == list(plain)
    model.load_state_dict(plain)
    model(flambeau.ones(1, 2)).sum().backward()
    assert model[0].weight.grad is not None
