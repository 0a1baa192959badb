"""Trees of values and hook handles."""

import pickle
from collections import OrderedDict, defaultdict, namedtuple

import pytest

from flambeau.utils import _pytree as pytree
from flambeau.utils.hooks import RemovableHandle

Point = namedtuple("Point", "x y")
TREES = [
    3,
    None,
    (),
    [1, (2, [3])],
    {"b": 1, "a": {"c": 2}},
    Point(1, [2]),
    OrderedDict(b=1, a=2),
    defaultdict(list, a=1),
]


@pytest.mark.parametrize("tree", TREES)
def test_round_trip(tree):
    leaves, spec = pytree.tree_flatten(tree)
    again = pytree.tree_unflatten(leaves, spec)
    assert again == tree and type(again) is type(tree)
    assert spec == pytree.tree_structure(again) and hash(spec) == hash(pytree.tree_structure(tree))
    assert spec.num_leaves == len(leaves) == len(pytree.tree_leaves(tree))


def test_map():
    assert pytree.tree_map(lambda x: -x, {"a": (1, Point(2, 3))}) == {"a": (-1, Point(-2, -3))}
    assert pytree.tree_map(lambda x, y: x + y, [1, {"a": 2}], [3, {"a": 4}]) == [4, {"a": 6}]
    assert pytree.tree_map(len, [(1, 2), (3,)], is_leaf=lambda x: type(x) is tuple) == [2, 1]
    assert pytree.tree_map_only(int, lambda x: -x, [1, "a", 2.0]) == [-1, "a", 2.0]
    assert pytree.tree_all(bool, [1, (2,)]) and not pytree.tree_any(bool, [0, (0,)])


def test_errors():
    leaves, spec = pytree.tree_flatten([1, 2])
    with pytest.raises(ValueError, match="holds 2 items"):
        pytree.tree_unflatten(leaves[:1], spec)
    with pytest.raises(ValueError, match="Type mismatch"):
        pytree.tree_map(max, [1], (1,))
    with pytest.raises(ValueError, match="arity mismatch"):
        pytree.tree_map(max, [1], [1, 2])
    with pytest.raises(ValueError, match="keys mismatch"):
        pytree.tree_map(max, {"a": 1}, {"b": 1})


def test_handle_removes_once():
    hooks, extra = OrderedDict(), {}
    with RemovableHandle(hooks, extra_dict=extra) as handle:
        hooks[handle.id] = extra[handle.id] = print
        assert pickle.loads(pickle.dumps(handle)).id == handle.id
    handle.remove()
    assert not hooks and not extra
