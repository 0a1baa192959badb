"""Averaged models, checked on a stand-in module so that no module library is needed."""

import copy

import pytest

import flambeau
from flambeau.optim import swa_utils


class Module:
    """The part of a module's interface that averaging uses."""

    def __init__(self):
        self._buffers = {}
        self.training = True

    def register_buffer(self, name, tensor):
        self._buffers[name] = tensor
        setattr(self, name, tensor)

    def named_parameters(self):
        return [("weight", self.weight)]

    def parameters(self):
        return [self.weight]

    def buffers(self):
        return [self.count]


class Scale(Module):
    def __init__(self, value):
        super().__init__()
        self.weight = flambeau.tensor([value]).requires_grad_()
        self.register_buffer("count", flambeau.tensor([value]))

    def __call__(self, x):
        return x * self.weight


def averaged(**options):
    model = Scale(0.0)
    average = swa_utils.AveragedModel(model, **options)
    for value in (1.0, 2.0, 6.0):
        model.weight.detach().fill_(value)
        model.count.fill_(value)
        average.update_parameters(model)
    return average


def test_equal_weights():
    average = averaged()
    assert average.module.weight.item() == pytest.approx(3.0)
    assert average.module.count.item() == 6.0
    assert average.n_averaged.item() == 3


def test_buffers_can_be_averaged():
    assert averaged(use_buffers=True).module.count.item() == pytest.approx(3.0)


@pytest.mark.parametrize("kind", ["avg_fn", "multi_avg_fn"])
def test_exponential(kind):
    make = {"avg_fn": swa_utils.get_ema_avg_fn, "multi_avg_fn": swa_utils.get_ema_multi_avg_fn}
    average = averaged(**{kind: make[kind](0.75)})
    expected = 0.75 * (0.75 * 1 + 0.25 * 2) + 0.25 * 6
    assert average.module.weight.item() == pytest.approx(expected)


def test_multi_swa_equals_swa():
    average = averaged(multi_avg_fn=swa_utils.get_swa_multi_avg_fn())
    assert average.module.weight.item() == pytest.approx(3.0)


def test_multi_avg_fn_gets_lists_of_one_dtype():
    nn, calls = flambeau.nn, []

    def note(averages, currents, count):
        calls.append(({a.dtype for a in averages}, len(averages), len(currents), int(count)))

    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1).double())
    average = swa_utils.AveragedModel(model, multi_avg_fn=note)
    average.update_parameters(model)
    assert not calls  # the first time copies
    average.update_parameters(model)
    assert calls == [({flambeau.float32}, 2, 2, 1), ({flambeau.float64}, 2, 2, 1)]


def test_update_bn_is_for_batch_norms():
    nn = flambeau.nn
    model = nn.ModuleList([nn.BatchNorm1d(2), nn.InstanceNorm1d(2, track_running_stats=True)])
    model.forward = lambda x: model[0](x)
    model[0].running_mean.fill_(9.0)
    model[1].running_mean.fill_(9.0)
    batches = [(flambeau.tensor([[1.0, 2.0], [3.0, 4.0]]), 0), (flambeau.zeros(2, 2), 1)]
    swa_utils.update_bn(batches, model.eval())
    assert model[0].running_mean.tolist() == [1.0, 1.5] and model[0].momentum == 0.1
    assert model[1].running_mean.tolist() == [9.0, 9.0]
    assert not model.training


def test_type_copy_and_forward():
    average = averaged()
    assert isinstance(average, Module) and isinstance(average, swa_utils.AveragedModel)
    twin = copy.deepcopy(average)
    assert type(twin).__name__ == "AveragedModel"
    assert twin.forward(flambeau.tensor([2.0])).item() == pytest.approx(6.0)
    twin.module.weight.detach().fill_(0.0)
    assert average.module.weight.item() == pytest.approx(3.0)


def test_errors():
    with pytest.raises(ValueError, match="Invalid decay value 2"):
        swa_utils.get_ema_avg_fn(2)
    with pytest.raises(TypeError, match="expected a module"):
        swa_utils.AveragedModel(3)
    with pytest.raises(AssertionError, match="Only one of avg_fn"):
        swa_utils.AveragedModel(Scale(1.0), avg_fn=max, multi_avg_fn=max)
