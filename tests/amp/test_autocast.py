"""Regions of autocast: nesting, decorators, the cache of casts, custom functions, old names."""

from __future__ import annotations

import threading
import warnings

import pytest

import flambeau
from flambeau.amp import custom_bwd, custom_fwd

BF16, F16, F32 = flambeau.bfloat16, flambeau.float16, flambeau.float32


def product():
    a = flambeau.ones(2, 2)
    return (a @ a).dtype


def on(device="cpu"):
    return flambeau.is_autocast_enabled(device)


# ---- regions -------------------------------------------------------------------------------------


def test_nested_regions():
    with flambeau.autocast("cpu"):
        assert product() == BF16
        with flambeau.autocast("cpu", enabled=False):
            assert product() == F32 and not on()
            with flambeau.autocast("cpu", dtype=F16):
                assert product() == F16
            assert product() == F32
        assert product() == BF16
        with flambeau.autocast("cpu", dtype=F16):
            assert product() == F16
        assert product() == BF16 and flambeau.get_autocast_dtype("cpu") == BF16
    assert product() == F32 and not on()


def test_region_ends_with_an_exception():
    with pytest.raises(ZeroDivisionError):
        with flambeau.autocast("cpu", dtype=F16, cache_enabled=False):
            1 / 0
    assert not on() and flambeau.get_autocast_dtype("cpu") == BF16
    assert flambeau.is_autocast_cache_enabled()


def test_one_instance_inside_itself():
    region = flambeau.autocast("cpu")
    with region:
        with region:
            assert on()
        assert on()
    assert not on()


def test_threads_have_their_own_state():
    seen = []
    with flambeau.autocast("cpu"):
        thread = threading.Thread(target=lambda: seen.append((on(), product())))
        thread.start()
        thread.join()
    assert seen == [(False, F32)]


def test_decorators():
    @flambeau.autocast("cpu")
    def function(x):
        """Its text."""
        return (x @ x).dtype

    class Owner:
        @flambeau.autocast("cpu", dtype=F16)
        def method(self, x):
            return (x @ x).dtype

        @staticmethod
        @flambeau.autocast("cpu")
        def static(x):
            return (x @ x).dtype

    @flambeau.autocast("cpu")
    def generator(x):
        yield (x @ x).dtype

    x = flambeau.ones(2, 2)
    assert function(x) == BF16 and function.__name__ == "function" and function.__doc__
    assert Owner().method(x) == F16 and Owner.static(x) == BF16
    # only the call that makes the generator is inside, as in PyTorch
    assert list(generator(x)) == [F32]
    with pytest.raises(TypeError, match=r"autocast\(\)\(func\) requires a callable, but got int"):
        flambeau.autocast("cpu")(3)


def test_forms_that_write_into_a_tensor_do_not_cast():
    a = flambeau.ones(2, 2)
    out = flambeau.empty(2, 2)
    with flambeau.autocast("cpu"):
        assert flambeau.mm(a, a, out=out).dtype == F32
        assert flambeau.zeros(2, 2).addmm_(a, a).dtype == F32
        low = flambeau.ones(3, dtype=BF16)
        assert low.index_copy_(0, flambeau.tensor([0]), flambeau.ones(1, dtype=BF16)).dtype == BF16


def test_arguments():
    with pytest.raises(ValueError, match="Expected `device_type` of type `str`, got: `<class"):
        flambeau.autocast(flambeau.device("cpu"))
    with pytest.raises(RuntimeError, match="Expected one of cpu, cuda, .* device string: foo"):
        flambeau.autocast("foo")
    with pytest.raises(RuntimeError, match="meta"):
        flambeau.autocast("meta")
    with pytest.warns(UserWarning, match="In CPU autocast, but the target dtype is not supported"):
        region = flambeau.autocast("cpu", dtype=flambeau.float64)
    with region:
        assert product() == F32
    with pytest.warns(UserWarning, match="CUDA is not available or torch_xla is imported"):
        region = flambeau.autocast("cuda")
    with region:
        assert product() == F32 and not on("cuda")
    with pytest.raises(TypeError, match="enabled must be a bool"):
        with flambeau.autocast("cpu", cache_enabled=1):
            pass
    assert not on()


def test_cuda_inside_cpu_leaves_it_on():
    with flambeau.autocast("cpu"), flambeau.autocast("cuda", enabled=False):
        assert on() and product() == BF16


# ---- the cache -----------------------------------------------------------------------------------


def casts(*results):
    """Number of nodes that cast, among those that the results come from."""
    seen, todo = set(), [r.grad_fn for r in results]
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        todo += [n for n, _ in node.next_functions]
    return sum(n.name() == "ToCopyBackward0" for n in seen)


def test_weight_is_cast_once():
    w, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        assert casts(x @ w, x @ w) == 1
        with flambeau.autocast("cpu"):
            inner = x @ w
        assert casts(inner, x @ w) == 1
        with flambeau.autocast("cpu", cache_enabled=False):
            assert not flambeau.is_autocast_cache_enabled()
            assert casts(x @ w, x @ w) == 2
        flambeau.clear_autocast_cache()
        assert casts(inner, x @ w) == 2
        first = x @ w
    with flambeau.autocast("cpu"):
        assert casts(first, x @ w) == 2


def test_only_leaves_that_require_grad_are_kept():
    w = flambeau.ones(2, 2, requires_grad=True)
    with flambeau.autocast("cpu"):
        twice = w * 2
        assert casts(twice @ twice) == 2


def test_cache_follows_changes():
    w, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        assert (x @ w)[0, 0] == 2
        with flambeau.no_grad():
            w.mul_(3)
        assert (x @ w)[0, 0] == 6
        w.data = flambeau.zeros(2, 2)
        assert (x @ w)[0, 0] == 0
        w.data = flambeau.ones(2, 3)
        assert (x @ w).shape == (2, 3)


def test_cast_made_without_gradient_is_not_used_with():
    w, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        with flambeau.no_grad():
            x @ w
        assert (x @ w).requires_grad
        with flambeau.autocast("cpu", dtype=F16):
            assert (x @ w).dtype == F16
        (x @ w).sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_cache_does_not_keep_tensors_beyond_the_region():
    import gc
    import weakref

    w = flambeau.ones(2, 2, requires_grad=True)
    gone = weakref.ref(w)
    with flambeau.autocast("cpu"):
        w @ w
    del w
    gc.collect()
    assert gone() is None


def test_two_backward_passes_share_a_cast():
    w, x = flambeau.ones(2, 2, requires_grad=True), flambeau.ones(2, 2)
    with flambeau.autocast("cpu"):
        first, second = (x @ w).sum(), (x @ w).sum()
        first.backward()
        second.backward()
    assert w.grad.tolist() == [[4.0, 4.0], [4.0, 4.0]] and w.grad.dtype == F32


# ---- backward ------------------------------------------------------------------------------------


class Recorder(flambeau.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu")
    def forward(ctx, x, seen):
        ctx.seen = seen
        seen.append((on(), x.dtype))
        return x * 2

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        ctx.seen.append((on(), product()))
        return grad * 2, None


class Wide(flambeau.autograd.Function):
    @staticmethod
    @custom_fwd(device_type="cpu", cast_inputs=F32)
    def forward(ctx, x, more, flag):
        ctx.save_for_backward(x)
        dtypes = (x.dtype, more["a"][0].dtype, on(), flag)
        Wide.seen = dtypes
        return x @ x

    @staticmethod
    @custom_bwd(device_type="cpu")
    def backward(ctx, grad):
        Wide.backward_on = on()
        (x,) = ctx.saved_tensors
        return grad @ x.T + x.T @ grad, None, None


def test_backward_runs_with_the_autocast_of_forward():
    x, seen = flambeau.ones(2, 2, requires_grad=True), []
    with flambeau.autocast("cpu", dtype=F16):
        y = Recorder.apply(x, seen)
    y.sum().backward()
    assert seen == [(True, F32), (True, F16)]
    seen.clear()
    y = Recorder.apply(x, seen)
    with flambeau.autocast("cpu"):
        y.sum().backward()
    assert seen == [(False, F32), (False, F32)]


def test_inputs_are_cast():
    x = flambeau.ones(2, 2, dtype=BF16, requires_grad=True)
    more = {"a": [flambeau.ones(2, dtype=F16)]}
    with flambeau.autocast("cpu"):
        y = Wide.apply(x, more, "text")
    assert Wide.seen == (F32, F32, False, "text") and y.dtype == F32
    y.sum().backward()
    assert not Wide.backward_on
    assert Wide.apply(x, more, None).dtype == BF16 and Wide.seen == (BF16, F16, False, None)


def test_custom_function_arguments():
    for decorator in (custom_fwd, custom_bwd):
        with pytest.raises(ValueError, match="Expected `device_type` of type `str`"):
            decorator(device_type=3)
        with pytest.raises(TypeError, match="device_type"):
            decorator(lambda ctx: None)


def test_backward_uses_the_dtypes_of_forward():
    w = flambeau.ones(2, 2, requires_grad=True)
    with flambeau.autocast("cpu"):
        y = flambeau.ones(2, 2) @ w
    grads = []
    y.register_hook(lambda g: grads.append(g.dtype))
    y.float().sum().backward()
    assert grads == [BF16] and w.grad.dtype == F32


# ---- state by name -------------------------------------------------------------------------------


def test_state_functions():
    assert flambeau.get_autocast_dtype("cpu") == BF16
    assert flambeau.get_autocast_dtype("cuda") == F16
    assert flambeau.is_autocast_enabled() is False
    flambeau.set_autocast_enabled(True)  # without a device: cuda
    assert on("cuda") and not on("cpu")
    flambeau.set_autocast_enabled("cuda", False)
    flambeau.set_autocast_dtype("cpu", F16)
    assert flambeau.get_autocast_dtype("cpu") == F16
    flambeau.set_autocast_dtype("cpu", BF16)
    assert flambeau.autocast_increment_nesting() == 1
    assert flambeau.autocast_decrement_nesting() == 0
    for name in ("cpu", "cuda", "xla", "mps"):
        assert flambeau.amp.is_autocast_available(name)
    assert not flambeau.amp.is_autocast_available("meta")


def test_errors_of_state_functions():
    with pytest.raises(RuntimeError, match="device string: foo"):
        flambeau.is_autocast_enabled("foo")
    with pytest.raises(RuntimeError, match="unknown device type for autocast"):
        flambeau.is_autocast_enabled("meta")
    with pytest.raises(TypeError, match="argument 'device_type' .position 1. must be str, not int"):
        flambeau.is_autocast_enabled(3)
    with pytest.raises(TypeError, match="argument 'enabled' .position 2. must be bool, not int"):
        flambeau.set_autocast_enabled("cpu", 1)
    with pytest.raises(TypeError, match="argument 'enabled' .position 1. must be bool, not str"):
        flambeau.set_autocast_enabled("cpu")
    with pytest.raises(TypeError, match="enabled must be a bool"):
        flambeau.set_autocast_cache_enabled(1)
    with pytest.raises(TypeError, match="must be torch.dtype"):
        flambeau.set_autocast_dtype("cpu", "bfloat16")


def test_old_names():
    with pytest.warns(DeprecationWarning, match=r"is_autocast_enabled\('cpu'\)"):
        assert flambeau.is_autocast_cpu_enabled() is False
    with pytest.warns(DeprecationWarning):
        assert flambeau.get_autocast_cpu_dtype() == BF16
    with pytest.warns(DeprecationWarning):
        assert flambeau.get_autocast_gpu_dtype() == F16
    with pytest.warns(FutureWarning, match=r"torch.cpu.amp.autocast\(args...\)` is deprecated"):
        region = flambeau.cpu.amp.autocast()
    with region:
        assert product() == BF16
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        region = flambeau.cuda.amp.autocast()
    assert [w.category for w in seen] == [FutureWarning, UserWarning]
    assert flambeau.cuda.amp.common.amp_definitely_not_available()
    with region:
        assert product() == F32
    with pytest.warns(FutureWarning, match="custom_fwd"):
        assert callable(flambeau.cuda.amp.custom_fwd(lambda ctx: None))
    with pytest.warns(FutureWarning, match="custom_bwd"):
        assert callable(flambeau.cuda.amp.custom_bwd(lambda ctx: None))


def test_leaving_more_than_once():
    region = flambeau.autocast("cpu")
    with pytest.raises(AttributeError):
        region.__exit__(None, None, None)
    for _ in range(2):
        with region:
            assert flambeau.is_autocast_enabled("cpu")
        region.__exit__(None, None, None)
        assert not flambeau.is_autocast_enabled("cpu")
    x = flambeau.ones(2, 2)
    with region:
        assert (x @ x).dtype is flambeau.bfloat16
    assert (x @ x).dtype is flambeau.float32
