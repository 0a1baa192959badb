"""The data loader: batching, collation, the random stream, option rules."""

from collections import OrderedDict, namedtuple

import numpy as np
import pytest

import flambeau
from flambeau.utils import data
from flambeau.utils.data import DataLoader, TensorDataset, default_collate, default_convert


class Stream(data.IterableDataset):
    def __init__(self, n, length=None):
        self.n = n
        self.length = length

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        if self.length is None:
            raise TypeError("no length")
        return self.length


def pairs(n=10):
    return TensorDataset(flambeau.arange(2 * n).reshape(n, 2), flambeau.arange(n))


def seeded(seed):
    generator = flambeau.Generator()
    generator.manual_seed(seed)
    return generator


def lists(loader):
    return [[t.tolist() for t in batch] for batch in loader]


def test_batches_of_tensors():
    loader = DataLoader(pairs(5), batch_size=2)
    assert len(loader) == 3
    assert lists(loader)[0] == [[[0, 1], [2, 3]], [0, 1]]
    assert lists(loader)[2] == [[[8, 9]], [4]]
    assert len(list(DataLoader(pairs(5), batch_size=2, drop_last=True))) == 2


def test_gathering_equals_collating_samples():
    dataset = data.Subset(data.Subset(pairs(), [9, 1, 4, 2, 7]), [4, 0, -1, 2])
    order = [3, 0, -1, 1, 2, 2]

    def collate(samples):
        return default_collate(samples)

    for source in (pairs(), dataset):
        loaders = (DataLoader(source, 3, sampler=order, collate_fn=fn) for fn in (None, collate))
        fast, slow = (lists(loader) for loader in loaders)
        assert fast == slow
    assert [type(b) for b in DataLoader(pairs(), 3)] == [list] * 4


def test_gathered_batches_are_copies_and_keep_gradients():
    x = flambeau.zeros(4, requires_grad=True)
    (batch,) = next(iter(DataLoader(TensorDataset(x), 2)))
    batch.sum().backward()
    assert x.grad.tolist() == [1, 1, 0, 0]
    y = flambeau.zeros(4)
    (batch,) = next(iter(DataLoader(TensorDataset(y), 2)))
    batch.fill_(5)
    assert y.tolist() == [0, 0, 0, 0]


def test_index_out_of_range():
    with pytest.raises(IndexError):
        list(DataLoader(pairs(3), 2, sampler=[0, 3]))


# Recorded from PyTorch 2.13.0: TensorDataset of 10, batch size 4.
def test_shuffled_orders_and_random_stream_are_pytorchs():
    flambeau.manual_seed(0)
    loader = DataLoader(pairs(), batch_size=4, shuffle=True)
    assert [b[1].tolist() for b in loader] == [[6, 7, 1, 4], [2, 0, 9, 8], [3, 5]]
    assert flambeau.rand(1).item() == pytest.approx(0.3074, abs=5e-5)
    assert [b[1].tolist() for b in loader] == [[1, 3, 4, 7], [6, 8, 2, 5], [0, 9]]
    flambeau.manual_seed(0)
    list(DataLoader(pairs(), batch_size=4))
    assert flambeau.rand(1).item() == pytest.approx(0.0885, abs=5e-5)
    flambeau.manual_seed(0)
    loader = DataLoader(pairs(), batch_size=4, shuffle=True, generator=seeded(3))
    assert [b[1].tolist() for b in loader] == [[7, 4, 2, 9], [1, 5, 0, 8], [6, 3]]
    assert flambeau.rand(1).item() == pytest.approx(0.4963, abs=5e-5)


def test_batch_sampler_and_no_batching():
    loader = DataLoader(pairs(), batch_sampler=[[1, 2], [5]])
    assert [b[1].tolist() for b in loader] == [[1, 2], [5]] and len(loader) == 2
    assert list(DataLoader([3, 4], batch_size=None)) == [3, 4]


def test_getitems_is_used():
    class Batched(data.Dataset):
        def __len__(self):
            return 4

        def __getitems__(self, indices):
            return [10 * i for i in indices]

    assert [b.tolist() for b in DataLoader(Batched(), 3)] == [[0, 10, 20], [30]]


def test_iterable_dataset():
    assert [b.tolist() for b in DataLoader(Stream(5), 2)] == [[0, 1], [2, 3], [4]]
    assert [b.tolist() for b in DataLoader(Stream(5), 2, drop_last=True)] == [[0, 1], [2, 3]]
    assert list(DataLoader(Stream(2), batch_size=None)) == [0, 1]
    assert len(DataLoader(Stream(5, length=5), 2)) == 3
    loader = DataLoader(Stream(3, length=1))
    len(loader)
    with pytest.warns(UserWarning, match="reported to be 1"):
        list(loader)


def test_default_collate():
    Point = namedtuple("Point", "x y")
    assert default_collate([1, 2]).dtype is flambeau.int64
    assert default_collate([1.0, 2.0]).dtype is flambeau.float64
    assert default_collate([True, False]).dtype is flambeau.bool
    assert default_collate(["a", b"b"]) == ["a", b"b"]
    assert default_collate([flambeau.ones(2), flambeau.zeros(2)]).tolist() == [[1, 1], [0, 0]]
    point = default_collate([Point(1, "a"), Point(2, "b")])
    assert type(point) is Point and point.x.tolist() == [1, 2] and point.y == ("a", "b")
    mapping = default_collate([OrderedDict(a=1), OrderedDict(a=2)])
    assert type(mapping) is OrderedDict and mapping["a"].tolist() == [1, 2]
    assert [c.tolist() for c in default_collate([[1, 2], [3, 4]])] == [[1, 3], [2, 4]]


def test_numpy_samples():
    batch = default_collate([np.ones(2, np.float32), np.zeros(2, np.float32)])
    assert batch.tolist() == [[1, 1], [0, 0]] and batch.dtype is flambeau.float32
    assert default_collate([np.int32(1), np.int32(2)]).dtype is flambeau.int32
    assert default_convert({"a": np.zeros(2)})["a"].dtype is flambeau.float64
    assert default_convert("text") == "text"
    with pytest.raises(TypeError, match="found <U1"):
        default_collate([np.array(["a"])])


def test_collate_fn_map_takes_own_types():
    from flambeau.utils.data._utils.collate import collate, default_collate_fn_map

    class Word(str):
        pass

    def join(batch, *, collate_fn_map=None):
        return "".join(batch)

    assert collate([Word("a"), Word("b")], collate_fn_map={Word: join}) == "ab"
    nested = collate([[Word("a"), 1]], collate_fn_map={Word: join, **default_collate_fn_map})
    assert nested[0] == "a" and nested[1].tolist() == [1]


def test_attributes_are_frozen():
    loader = DataLoader([1])
    with pytest.raises(ValueError, match="batch_size attribute should not be set"):
        loader.batch_size = 2
    assert data.get_worker_info() is None


OPTIONS = [
    ({"num_workers": -1}, ValueError, "should be non-negative"),
    ({"prefetch_factor": -1, "num_workers": 1}, ValueError, "should be non-negative"),
    ({"multiprocessing_context": "x", "num_workers": 1}, ValueError, "valid start method"),
    ({"multiprocessing_context": 3, "num_workers": 1}, TypeError, "valid context"),
    ({"timeout": -1}, ValueError, "timeout option should be non-negative"),
    ({"prefetch_factor": 2}, ValueError, "prefetch_factor option"),
    ({"persistent_workers": True}, ValueError, "needs num_workers > 0"),
    ({"multiprocessing_context": "fork"}, ValueError, "multi-process loading"),
    ({"shuffle": True, "sampler": [1]}, ValueError, "mutually exclusive with shuffle"),
    ({"batch_sampler": [[1]], "batch_size": 2}, ValueError, "mutually exclusive with batch_size"),
    ({"batch_size": None, "drop_last": True}, ValueError, "disables auto-batching"),
    ({"batch_size": 0}, ValueError, "batch_size=0"),
    ({"drop_last": 3}, ValueError, "drop_last=3"),
]


@pytest.mark.parametrize("options, error, message", OPTIONS)
def test_option_errors(options, error, message):
    with pytest.raises(error, match=message):
        DataLoader([1, 2, 3], **options)


@pytest.mark.parametrize("options", [{"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}])
def test_iterable_option_errors(options):
    with pytest.raises(ValueError, match="DataLoader with IterableDataset"):
        DataLoader(Stream(3), **options)


def test_collate_errors():
    with pytest.raises(TypeError, match="batch must contain tensors"):
        default_collate([object()])
    with pytest.raises(RuntimeError, match="should be of equal size"):
        default_collate([[1, 2], [3]])
    with pytest.raises(RuntimeError, match="equal size"):
        default_collate([flambeau.ones(2), flambeau.ones(3)])


@pytest.mark.parametrize("workers", [0, 1])
def test_sparse_samples(workers):
    for sample in (flambeau.eye(2).to_sparse(), flambeau.eye(2).to_sparse_csr()):
        loader = DataLoader([sample] * 4, batch_size=2, num_workers=workers)
        with pytest.raises(RuntimeError, match="Batches of sparse tensors are not supported"):
            list(loader)
        loader = DataLoader([sample] * 2, batch_size=2, collate_fn=list)
        assert [t.layout for t in next(iter(loader))] == [sample.layout] * 2
