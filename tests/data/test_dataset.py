"""Datasets: indexing, composition, splitting, errors."""

import pytest

import flambeau
from flambeau.utils import data


class Squares(data.Dataset):
    def __init__(self, n):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return i * i


class Stream(data.IterableDataset):
    def __init__(self, *values):
        self.values = values

    def __iter__(self):
        return iter(self.values)

    def __len__(self):
        return len(self.values)


def test_tensor_dataset():
    dataset = data.TensorDataset(flambeau.arange(6).reshape(3, 2), flambeau.tensor([7, 8, 9]))
    x, y = dataset[-1]
    assert (len(dataset), x.tolist(), y.item()) == (3, [4, 5], 9)


def test_concat_and_plus():
    dataset = Squares(2) + Squares(3)
    assert isinstance(dataset, data.ConcatDataset)
    assert [dataset[i] for i in range(len(dataset))] == [0, 1, 0, 1, 4]
    assert dataset[-1] == 4 and dataset.cumulative_sizes == [2, 5]


def test_chain():
    dataset = Stream(1, 2) + Stream(3)
    assert list(dataset) == [1, 2, 3] and len(dataset) == 3


def test_stack():
    assert data.StackDataset(Squares(3), [5, 6, 7])[2] == (4, 7)
    named = data.StackDataset(a=Squares(3), b=[5, 6, 7])
    assert named[1] == {"a": 1, "b": 6}
    assert named.__getitems__([0, 2]) == [{"a": 0, "b": 5}, {"a": 4, "b": 7}]


def test_subset_of_subset():
    subset = data.Subset(data.Subset(Squares(9), [3, 5, 7]), [2, 0])
    assert (subset[0], subset[1], len(subset)) == (49, 9, 2)
    assert subset.__getitems__([1, 0]) == [9, 49]


def test_random_split_covers_the_dataset():
    generator = flambeau.Generator()
    generator.manual_seed(3)
    parts = data.random_split(range(10), [3, 7], generator=generator)
    assert [len(p) for p in parts] == [3, 7]
    assert sorted(p[i] for p in parts for i in range(len(p))) == list(range(10))
    assert [len(p) for p in data.random_split(range(10), [0.25, 0.25, 0.5])] == [3, 2, 5]


def test_generic_syntax():
    class Typed(data.Dataset[int]):
        pass

    assert issubclass(Typed, data.Dataset)


def test_split_warns_of_empty_part():
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        data.random_split([1, 2], [0.99, 0.01])


ERRORS = [
    (lambda: data.Dataset()[0], NotImplementedError, "should implement __getitem__"),
    (
        lambda: data.TensorDataset(flambeau.ones(2), flambeau.ones(3)),
        AssertionError,
        "Size mismatch between tensors",
    ),
    (lambda: data.StackDataset(), ValueError, "At least one dataset"),
    (lambda: data.StackDataset([1], a=[1]), ValueError, "both types are given"),
    (lambda: data.StackDataset([1], [1, 2]), ValueError, "Size mismatch between datasets"),
    (lambda: data.ConcatDataset([]), AssertionError, "should not be an empty iterable"),
    (lambda: data.ConcatDataset([Stream()]), AssertionError, "does not support IterableDataset"),
    (lambda: data.ConcatDataset([[1]])[-2], ValueError, "should not exceed dataset length"),
    (lambda: list(data.ChainDataset([[1]])), AssertionError, "only supports IterableDataset"),
    (lambda: data.random_split([1, 2], [1, 2]), ValueError, "Sum of input lengths"),
]


@pytest.mark.parametrize("call, error, message", ERRORS)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_data_pipes():
    @data.functional_datapipe("plus_one_of_the_tests")
    class PlusOne(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            return (x + 1 for x in self.source)

    class Numbers(data.IterDataPipe):
        def __iter__(self):
            return iter(range(4))

    pipe = Numbers().plus_one_of_the_tests()
    assert isinstance(pipe, data.IterableDataset) and "plus_one_of_the_tests" in dir(pipe)
    assert [b.tolist() for b in data.DataLoader(pipe, 2, num_workers=1)] == [[1, 2], [3, 4]]
    assert repr(Numbers()).endswith("Numbers")
    with pytest.raises(AttributeError, match="object has no attribute 'nothing'"):
        pipe.nothing()
    with pytest.raises(Exception, match="already taken"):
        data.functional_datapipe("plus_one_of_the_tests")(PlusOne)
    with pytest.raises(TypeError, match="can only decorate"):
        data.functional_datapipe("other")(int)
    chunk = data.DataChunk(x for x in (1, 2))
    assert chunk == [1, 2] and chunk.as_str() == "[1, 2]" and list(chunk.raw_iterator()) == [1, 2]
