"""`nn.Module`: members, attributes, hooks, state, conversion, text."""

import copy
import io
import pickle
import warnings

import pytest

import flambeau
from flambeau import nn
from flambeau.nn.modules import module as module_file


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 3)
        self.register_buffer("scale", flambeau.ones(2))
        self.register_buffer("cache", flambeau.zeros(2), persistent=False)
        self.act = nn.Tanh()

    def forward(self, x):
        return self.act(x * self.scale)


class Double(nn.Module):
    def forward(self, x, *, shift=0.0):
        return x * 2 + shift


def error(function):
    with pytest.raises(Exception) as info:
        function()
    return type(info.value), str(info.value)


# Members ----------------------------------------------------------------------------------------


def test_initial_members_in_order():
    assert list(nn.Module().__dict__) == [
        "training",
        "_parameters",
        "_buffers",
        "_non_persistent_buffers_set",
        "_backward_pre_hooks",
        "_backward_hooks",
        "_is_full_backward_hook",
        "_forward_hooks",
        "_forward_hooks_with_kwargs",
        "_forward_hooks_always_called",
        "_forward_pre_hooks",
        "_forward_pre_hooks_with_kwargs",
        "_state_dict_hooks",
        "_state_dict_pre_hooks",
        "_load_state_dict_pre_hooks",
        "_load_state_dict_post_hooks",
        "_modules",
    ]


def test_named_iterators():
    net = Net()
    assert [n for n, _ in net.named_parameters()] == ["fc.weight", "fc.bias"]
    assert [n for n, _ in net.named_parameters(prefix="p", recurse=False)] == []
    assert [n for n, _ in net.named_buffers()] == ["scale", "cache"]
    assert [n for n, _ in net.named_children()] == ["fc", "act"]
    assert [n for n, _ in net.named_modules()] == ["", "fc", "act"]
    assert [n for n, _ in net.named_modules(prefix="p")] == ["p", "p.fc", "p.act"]


def test_shared_members_come_once():
    layer = nn.Linear(1, 1)
    pair = nn.Sequential(layer, layer)
    assert [n for n, _ in pair.named_parameters()] == ["0.weight", "0.bias"]
    assert [n for n, _ in pair.named_parameters(remove_duplicate=False)] == [
        "0.weight",
        "0.bias",
        "1.weight",
        "1.bias",
    ]
    assert len(list(pair.modules())) == 2
    assert len(list(pair.modules(remove_duplicate=False))) == 3
    assert len(list(pair.children())) == 1
    assert list(pair.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]


def test_replacing_a_member_keeps_its_place():
    seq = nn.Sequential(nn.ReLU(), nn.Tanh())
    seq[0] = nn.Sigmoid()
    assert [type(m).__name__ for m in seq] == ["Sigmoid", "Tanh"]
    lin = nn.Linear(1, 1)
    lin.weight = nn.Parameter(flambeau.ones(1, 1))
    assert list(lin._parameters) == ["weight", "bias"]


def test_a_name_changes_its_kind():
    net = Net()
    net.scale = nn.Parameter(flambeau.ones(1))
    assert "scale" in net._parameters and "scale" not in net._buffers
    net.fc = nn.Parameter(flambeau.ones(1))
    assert "fc" not in net._modules
    net.plain = 3
    net.plain = nn.ReLU()
    assert "plain" not in net.__dict__ and isinstance(net.plain, nn.ReLU)
    net.fc = None
    assert net.fc is None and net._parameters["fc"] is None


def test_buffers_from_buffer_objects():
    net = Net()
    net.table = nn.Buffer(flambeau.ones(1), persistent=False)
    assert isinstance(net.table, nn.Buffer) and "table" not in net.state_dict()
    net.table = flambeau.zeros(1)
    assert "table" in net._buffers and "table" not in net.state_dict()
    net.scale = None
    assert net.scale is None and list(net.state_dict()) == ["fc.weight", "fc.bias"]


def test_deleting():
    net = Net()
    del net.fc, net.scale, net.cache
    assert not net._modules.get("fc") and not net._buffers
    assert net._non_persistent_buffers_set == set()
    assert error(lambda: delattr(net, "zzz"))[0] is AttributeError
    assert "training" in dir(net) and "act" in dir(net)


def test_paths():
    net = nn.Sequential(Net(), nn.ReLU())
    assert net.get_submodule("0.fc") is net[0].fc
    assert net.get_submodule("") is net
    assert net.get_parameter("0.fc.bias") is net[0].fc.bias
    assert net.get_buffer("0.cache") is net[0].cache
    net.set_submodule("0.act", nn.Sigmoid())
    assert isinstance(net[0].act, nn.Sigmoid)


T, K, A, V = TypeError, KeyError, AttributeError, ValueError


@pytest.mark.parametrize(
    ("call", "kind", "text"),
    [
        (lambda m: m.register_buffer("x", 1), T, "cannot assign 'int' object to buffer 'x'"),
        (lambda m: m.register_buffer(1, None), T, "buffer name should be a string. Got int"),
        (lambda m: m.register_buffer("a.b", None), K, "buffer name can\\'t contain"),
        (lambda m: m.register_buffer("", None), K, "buffer name can\\'t be empty"),
        (lambda m: m.register_buffer("fc", None), K, "attribute 'fc' already exists"),
        (lambda m: m.register_parameter("x", 1), T, "cannot assign 'int' object to parameter"),
        (
            lambda m: m.register_parameter("x", flambeau.ones(1)),
            T,
            "cannot assign 'torch.FloatTensor' object to parameter 'x'",
        ),
        (lambda m: m.register_parameter("act", None), K, "attribute 'act' already exists"),
        (lambda m: m.add_module("x", 1), T, "int is not a Module subclass"),
        (lambda m: m.add_module("a.b", None), K, "module name can\\'t contain"),
        (lambda m: m.add_module("scale", None), K, "attribute 'scale' already exists"),
        (lambda m: setattr(m, "fc", 3), T, "cannot assign 'int' as child module 'fc'"),
        (lambda m: setattr(m.fc, "weight", 3), T, "cannot assign 'int' as parameter 'weight'"),
        (lambda m: setattr(m, "scale", 3), T, "cannot assign 'int' as buffer 'scale'"),
        (lambda m: m.zzz, A, "'Net' object has no attribute 'zzz'"),
        (lambda m: m.get_submodule("q"), A, "Net has no attribute `q`"),
        (lambda m: m.get_submodule("scale"), A, "`scale` is not an nn.Module"),
        (lambda m: m.get_parameter("scale"), A, "`scale` is not an nn.Parameter"),
        (lambda m: m.get_buffer("fc"), A, "`fc` is not a buffer"),
        (lambda m: m.set_submodule("", nn.ReLU()), V, "Cannot set the submodule without"),
        (lambda m: m.set_submodule("q", 3), V, "`module` is not an nn.Module"),
        (lambda m: m.train(1), V, "training mode is expected to be boolean"),
        (lambda m: m.to(flambeau.int32), T, "only accepts floating point or complex dtypes"),
        (lambda m: m.load_state_dict(3), T, "Expected state_dict to be dict-like"),
        (
            lambda m: nn.Module()(1),
            NotImplementedError,
            'Module [Module] is missing the required "forward" function',
        ),
        (lambda m: nn.Module(1, 2), T, "takes 1 positional argument but 3 were given"),
        (lambda m: nn.Module(a=1), T, "got an unexpected keyword argument 'a'"),
    ],
)
def test_errors(call, kind, text):
    got = error(lambda: call(Net()))
    assert got[0] is kind and text in got[1]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (lambda: nn.ReLU(), "cannot assign module before Module.__init__() call"),
        (lambda: nn.Parameter(flambeau.ones(1)), "cannot assign parameters before"),
        (lambda: nn.Buffer(flambeau.ones(1)), "cannot assign buffer before"),
    ],
)
def test_assignment_before_init(value, text):
    class Early(nn.Module):
        def __init__(self):
            self.x = value()

    got = error(Early)
    assert got[0] is AttributeError and text in got[1]


def test_parameter_must_be_a_leaf():
    w = nn.Parameter(flambeau.ones(1))
    doubled = w * 2
    assert error(lambda: nn.Module().register_parameter("w", doubled))[0] is TypeError
    assert not isinstance(doubled, nn.Parameter)


# Modes and conversion ---------------------------------------------------------------------------


def test_modes_and_gradients():
    net = nn.Sequential(Net(), nn.Dropout())
    assert net.eval() is net and not net[1].training and not net[0].act.training
    net.train()
    assert net[0].act.training
    assert net.requires_grad_(False) is net
    assert not any(p.requires_grad for p in net.parameters())
    net.requires_grad_()
    weight = net[0].fc.weight
    weight.grad = flambeau.ones(3, 2)
    net.zero_grad(set_to_none=False)
    assert weight.grad.tolist() == [[0.0, 0.0]] * 3
    net.zero_grad()
    assert weight.grad is None


def test_conversion_keeps_parameter_objects():
    net = Net()
    weight = net.fc.weight
    weight.grad = flambeau.ones(3, 2)
    net.register_buffer("count", flambeau.tensor(3))
    net.double()
    assert net.fc.weight is weight and weight.dtype == flambeau.float64
    assert weight.grad.dtype == flambeau.float64 and weight.requires_grad
    assert net.scale.dtype == flambeau.float64 and net.count.dtype == flambeau.int64
    assert net.to(flambeau.float32).fc.weight.dtype == flambeau.float32
    assert net.to("cpu", flambeau.float64).scale.dtype == flambeau.float64
    assert net.to(flambeau.ones(1)).scale.dtype == flambeau.float32
    assert net.half().scale.dtype == flambeau.float16
    assert net.bfloat16().scale.dtype == flambeau.bfloat16
    assert net.float().scale.dtype == flambeau.float32
    assert net.to(dtype=flambeau.float64, device="cpu").scale.dtype == flambeau.float64
    assert net.type(flambeau.float32).cpu().scale.dtype == flambeau.float32


def test_meta_and_back():
    net = nn.Linear(2, 2, device="meta")
    assert net.weight.device.type == "meta"
    got = error(lambda: net.to("cpu"))
    assert got[0] is NotImplementedError and "to_empty()" in got[1]
    assert net.to_empty(device="cpu").weight.device.type == "cpu"
    assert isinstance(net.weight, nn.Parameter)


def test_apply_goes_children_first():
    seen = []
    net = Net()
    assert net.apply(lambda m: seen.append(type(m).__name__)) is net
    assert seen == ["Linear", "Tanh", "Net"]


# State ------------------------------------------------------------------------------------------


def test_state_dict():
    state = Net().state_dict()
    assert list(state) == ["scale", "fc.weight", "fc.bias"]
    assert dict(state._metadata) == {
        "": {"version": 1},
        "fc": {"version": 1},
        "act": {"version": 1},
    }
    assert not state["fc.weight"].requires_grad
    assert Net().state_dict(keep_vars=True)["fc.weight"].requires_grad
    assert list(Net().state_dict(prefix="a.")) == ["a.scale", "a.fc.weight", "a.fc.bias"]


def test_load_state_dict():
    source, net = Net(), Net()
    weight = net.fc.weight
    result = net.load_state_dict(source.state_dict())
    assert str(result) == "<All keys matched successfully>"
    assert net.fc.weight is weight and weight.tolist() == source.fc.weight.tolist()
    result = net.load_state_dict({"fc.bias": flambeau.ones(3), "q": flambeau.ones(1)}, strict=False)
    assert result.missing_keys == ["scale", "fc.weight"] and result.unexpected_keys == ["q"]
    assert net.fc.bias.tolist() == [1.0, 1.0, 1.0]


def test_load_state_dict_assign():
    net = Net()
    state = {k: v + 1 for k, v in net.state_dict().items()}
    net.load_state_dict(state, assign=True)
    assert net.scale is state["scale"]
    assert isinstance(net.fc.weight, nn.Parameter) and net.fc.weight.requires_grad
    assert net.fc.weight.data_ptr() == state["fc.weight"].data_ptr()


def test_load_state_dict_errors_in_one_message():
    state = {
        "fc.weight": flambeau.ones(3, 3),
        "q": 1,
        "fc.bias": 3,
        "scale": flambeau.ones(2),
        "z.y": 1,
    }
    got = error(lambda: Net().load_state_dict(state))
    assert got == (
        RuntimeError,
        "Error(s) in loading state_dict for Net:\n\t"
        'Unexpected key(s) in state_dict: "q", "z.y". \n\t'
        "size mismatch for fc.weight: copying a param with shape torch.Size([3, 3]) from "
        "checkpoint, the shape in current model is torch.Size([3, 2]).\n\t"
        'While copying the parameter named "fc.bias", expected torch.Tensor or Tensor-like '
        "object from checkpoint but received <class 'int'>",
    )
    got = error(lambda: Net().load_state_dict({}))
    assert got[1] == (
        "Error(s) in loading state_dict for Net:\n\t"
        'Missing key(s) in state_dict: "scale", "fc.weight", "fc.bias". '
    )


def test_extra_state():
    class Counter(nn.Module):
        count = 0

        def get_extra_state(self):
            return {"count": self.count}

        def set_extra_state(self, state):
            self.count = state["count"]

    source, target = Counter(), Counter()
    source.count = 7
    assert source.state_dict() == {"_extra_state": {"count": 7}}
    target.load_state_dict(source.state_dict())
    assert target.count == 7
    assert "_extra_state" in error(lambda: Counter().load_state_dict({}))[1]
    got = error(lambda: nn.ReLU().load_state_dict({"_extra_state": 1}))
    assert 'Unexpected key(s) in state_dict: "_extra_state"' in got[1]


def test_state_hooks():
    net, calls = Net(), []
    net.register_state_dict_pre_hook(lambda m, prefix, keep: calls.append(("pre", prefix, keep)))

    def post(module, state, prefix, meta):
        state[prefix + "more"] = flambeau.ones(1)

    handle = net.register_state_dict_post_hook(post)
    assert "x.more" in net.state_dict(prefix="x.") and calls == [("pre", "x.", False)]
    handle.remove()
    net._register_state_dict_hook(lambda m, state, prefix, meta: {"only": 1})
    assert net.state_dict() == {"only": 1}
    net = Net()

    def rename(module, state, prefix, *rest):
        assert module is net
        state[prefix + "scale"] = state.pop(prefix + "old")

    net.register_load_state_dict_pre_hook(rename)
    net.register_load_state_dict_post_hook(lambda m, keys: keys.missing_keys.clear())
    net.load_state_dict({"old": flambeau.zeros(2)})
    assert net.scale.tolist() == [0.0, 0.0]
    net.register_load_state_dict_post_hook(lambda m, keys: 1)
    got = error(lambda: net.load_state_dict({"old": flambeau.zeros(2)}))
    assert got[0] is AssertionError and "not expected to return new values" in got[1]
    net = Net()
    net.register_state_dict_post_hook(lambda *a: 1)
    assert error(net.state_dict) == (RuntimeError, "state_dict post-hook must return None")


def test_copy_and_pickle():
    net = Net()
    twin = copy.deepcopy(net)
    assert twin.fc.weight is not net.fc.weight
    assert twin.fc.weight.tolist() == net.fc.weight.tolist()
    assert isinstance(twin.fc.weight, nn.Parameter) and twin.fc.weight.requires_grad
    buffer = io.BytesIO()
    pickle.dump(nn.Linear(2, 2), buffer)
    buffer.seek(0)
    loaded = pickle.load(buffer)
    assert isinstance(loaded.weight, nn.Parameter) and loaded.training
    old = dict(nn.ReLU().__dict__)
    del old["_forward_hooks_always_called"], old["_load_state_dict_post_hooks"]
    revived = nn.ReLU.__new__(nn.ReLU)
    revived.__setstate__(old)
    assert revived(flambeau.ones(1)).tolist() == [1.0]


# Forward hooks ----------------------------------------------------------------------------------


def test_forward_hooks_in_order():
    m, calls = Double(), []
    m.register_forward_hook(lambda *a: calls.append("first"))
    m.register_forward_hook(lambda *a: calls.append("zeroth"), prepend=True)
    m.register_forward_pre_hook(lambda *a: calls.append("pre"))
    handle = m.register_forward_pre_hook(lambda *a: calls.append("gone"))
    handle.remove()
    m(flambeau.ones(1))
    assert calls == ["pre", "zeroth", "first"]


def test_forward_hooks_replace_values():
    m = Double()
    m.register_forward_pre_hook(lambda mod, args: args[0] + 1)
    m.register_forward_hook(lambda mod, args, out: (args, out))
    args, out = m(flambeau.ones(1))
    assert args[0].tolist() == [2.0] and out.tolist() == [4.0]


def test_forward_hooks_with_kwargs():
    m, seen = Double(), []
    m.register_forward_pre_hook(lambda mod, a, k: (a, {"shift": k["shift"] + 1}), with_kwargs=True)
    m.register_forward_hook(lambda mod, a, k, out: seen.append(k), with_kwargs=True)
    assert m(flambeau.ones(1), shift=1.0).tolist() == [4.0]
    assert seen == [{"shift": 2.0}]
    m.register_forward_pre_hook(lambda mod, a, k: 1, with_kwargs=True)
    got = error(lambda: m(flambeau.ones(1), shift=0.0))
    assert got[0] is RuntimeError and "must return None or a tuple of (new_args" in got[1]


def test_hooks_that_are_always_called():
    class Fails(nn.Module):
        def forward(self, x):
            raise ValueError("no")

    m, calls = Fails(), []
    m.register_forward_hook(lambda *a: calls.append("normal"))
    m.register_forward_hook(lambda *a: calls.append(("always", a[2])), always_call=True)
    assert error(lambda: m(1)) == (ValueError, "no")
    assert calls == [("always", None)]

    def broken(*a):
        raise KeyError("inner")

    m.register_forward_hook(broken, always_call=True)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        assert error(lambda: m(1)) == (ValueError, "no")
    assert any("exception that was silenced" in str(w.message) for w in caught)


def test_global_forward_hooks():
    calls = []
    handles = [
        module_file.register_module_forward_pre_hook(lambda m, a: calls.append("pre")),
        module_file.register_module_forward_hook(lambda m, a, out: out + 1),
        module_file.register_module_forward_hook(
            lambda m, a, k, out: calls.append(k), with_kwargs=True
        ),
    ]
    try:
        assert Double()(flambeau.ones(1), shift=1.0).tolist() == [4.0]
    finally:
        for handle in handles:
            handle.remove()
    assert calls == ["pre", {"shift": 1.0}]
    assert Double()(flambeau.ones(1)).tolist() == [2.0]


def test_registration_hooks():
    seen = []
    handles = [
        module_file.register_module_parameter_registration_hook(
            lambda m, name, p: seen.append(("p", name))
        ),
        module_file.register_module_buffer_registration_hook(
            lambda m, name, b: seen.append(("b", name))
        ),
        module_file.register_module_module_registration_hook(
            lambda m, name, c: seen.append(("m", name))
        ),
    ]
    try:
        Net()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [
        ("p", "weight"),
        ("p", "bias"),
        ("m", "fc"),
        ("b", "scale"),
        ("b", "cache"),
        ("m", "act"),
    ]


# Backward hooks ---------------------------------------------------------------------------------


def values(grads):
    return tuple(None if g is None else g.tolist() for g in grads)


class Twice(nn.Module):
    def forward(self, x, y):
        return x * 2, y * 3


def test_full_backward_hooks():
    m, seen = Twice(), []
    m.register_full_backward_pre_hook(lambda mod, out: seen.append(("pre", values(out))))
    m.register_full_backward_hook(
        lambda mod, grad_in, out: seen.append(("hook", values(grad_in), values(out)))
    )
    x = flambeau.ones(1, requires_grad=True)
    y = flambeau.ones(1)
    a, b = m(x, y)
    a.sum().backward()
    assert seen == [("pre", ([1.0], None)), ("hook", ([2.0], [0.0]), ([1.0], None))]
    assert x.grad.tolist() == [2.0]


def test_backward_hooks_replace_gradients():
    m = Double()
    m.register_full_backward_pre_hook(lambda mod, out: (out[0] * 10,))
    m.register_full_backward_hook(lambda mod, grad_in, out: (grad_in[0] + 1,))
    x = flambeau.ones(1, requires_grad=True)
    m(x).backward(flambeau.ones(1))
    assert x.grad.tolist() == [21.0]


def test_backward_hook_counts_and_kinds():
    m = Double()
    m.register_full_backward_hook(lambda mod, grad_in, out: (1, 2))
    x = flambeau.ones(1, requires_grad=True)
    assert "invalid number of grad_input" in error(lambda: m(x).sum().backward())[1]
    assert (
        "Cannot use both regular backward hooks"
        in error(lambda: m.register_backward_hook(print))[1]
    )


def test_backward_hook_without_gradients_of_inputs():
    seen = []

    class Scale(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(flambeau.ones(1))

        def forward(self, x):
            return x * self.w

    m = Scale()
    m.register_full_backward_hook(lambda mod, i, o: seen.append((values(i), values(o))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        m(flambeau.ones(1)).sum().backward()
    assert seen == [((None,), ([1.0],))]
    assert m.w.grad.tolist() == [1.0]


def test_global_backward_hooks():
    seen = []
    handles = [
        module_file.register_module_full_backward_pre_hook(lambda m, o: seen.append(values(o))),
        module_file.register_module_full_backward_hook(lambda m, i, o: seen.append(values(i))),
    ]
    x = flambeau.ones(1, requires_grad=True)
    try:
        Double()(x).sum().backward()
    finally:
        for handle in handles:
            handle.remove()
    assert seen == [([1.0],), ([2.0],)]


def test_old_backward_hook():
    m, seen = nn.ReLU(), []
    m.register_backward_hook(lambda mod, i, o: seen.append((values(i), values(o))))
    x = flambeau.ones(1, requires_grad=True)
    (m(x * 1) * 3).sum().backward()
    assert seen == [(([3.0],), ([3.0],))]


# Text and parameters ----------------------------------------------------------------------------


def test_repr():
    assert repr(Net()) == (
        "Net(\n  (fc): Linear(in_features=2, out_features=3, bias=True)\n  (act): Tanh()\n)"
    )
    assert repr(nn.Sequential(nn.Sequential(nn.ReLU()))) == (
        "Sequential(\n  (0): Sequential(\n    (0): ReLU()\n  )\n)"
    )


def test_parameter():
    p = nn.Parameter(flambeau.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"
    assert isinstance(p, flambeau.Tensor) and not isinstance(flambeau.ones(1), nn.Parameter)
    assert type(p * 2) is flambeau.Tensor and type(p.detach()) is flambeau.Tensor
    assert nn.Parameter().shape == (0,)
    q = copy.deepcopy(p)
    assert type(q) is nn.Parameter and q is not p and q.tolist() == [1.0, 1.0]
    assert not pickle.loads(pickle.dumps(nn.Parameter(flambeau.ones(1), False))).requires_grad
    with pytest.raises(RuntimeError, match="floating point"):
        nn.Parameter(flambeau.tensor([1]))
    with pytest.raises(AttributeError):
        nn.Parameter([1.0])
    source = flambeau.ones(2)
    shared = nn.Parameter(source)
    source[0] = 5
    assert shared.tolist() == [5.0, 1.0]


def test_custom_parameter_class():
    class Marked(nn.Parameter):
        pass

    m = nn.Module()
    m.w = Marked(flambeau.ones(1))
    assert type(m.w) is Marked and type(m.w + 1) is flambeau.Tensor


def test_subclasses_see_every_access_to_parameters():
    # Libraries record which parameters a forward pass takes, or replace them, in __getattr__.
    seen = []

    class Recorded:
        def __getattr__(self, name):
            seen.append(name)
            return super().__getattr__(name)

    def recorded(kind):
        return type("Recorded" + kind.__name__, (Recorded, kind), {})

    for module, shape in (
        (recorded(nn.Linear)(3, 2), (4, 3)),
        (recorded(nn.Conv1d)(3, 2, 2), (4, 3, 5)),
        (recorded(nn.ConvTranspose1d)(3, 2, 2), (4, 3, 5)),
        (recorded(nn.BatchNorm1d)(3), (4, 3)),
        (recorded(nn.LayerNorm)(3), (4, 3)),
    ):
        seen.clear()
        module(flambeau.ones(shape))
        assert {name for name, _ in module.named_parameters()} <= set(seen)
        assert {name for name, _ in module.named_buffers()} <= set(seen)


def test_running_statistics_as_plain_attributes():
    norm = nn.BatchNorm1d(2)
    del norm.running_mean
    norm.running_mean = flambeau.zeros(2)
    norm(flambeau.ones(3, 2))
    assert norm.running_mean.tolist() == pytest.approx([0.1, 0.1])
