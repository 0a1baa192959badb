"""The operator table: what an entry says, and the registry that all readers share.

One call of `op` defines one operator. The build reads the table to emit C++ (opgen/), the test suite
to make its cases, the docs to print the reference pages, the compiler to lower and to decompose.
This package imports only the standard library, so that the build can load it before `_C` exists.

Fields of an entry
    schema   `name.overload(type name=default, ..., *, keyword-only) -> returns`. Types: Tensor, Tensor?,
             Tensor[], Tensor?[], Operand (a tensor or a Python number), Scalar, Scalar?, int, int?,
             int[], int[]?, int[2], float, float?, bool, bool?, str, str?, dtype, dtype?, device?,
             layout_name? (a layout, passed on as its name), memory_format?, Generator?, Storage. `Tensor! self` is changed in place.
    kernel   pointwise("expression") | native | view | composite | decomp("expression") | boxed (a
             rule in Python, see _sparse/, carries it out on every device)
    dtype    pointwise: promote, float, bool, real (how the result's dtype follows from the inputs'),
             signed (promote, but bool tensors and numbers are refused)
    on       pointwise: categories with a kernel, of "b" bool, "i" integers, "f" floats, "c" complex
    grad     {argument: expression} over arguments, grad, grads[i], result, results[i]; absent
             arguments get no gradient. "zero" for a function that is flat wherever it is smooth.
    node     name of grad_fn where it is not the operator's own ("AddBackward0" for add), or an expression
             that chooses one: "PowBackward1 if is_tensor(exponent) else PowBackward0". A composition or
             decomposition with it shows the node that its result comes from under this name.
    forms    words of: function method inplace out operator:<dunder> (rop:<dunder> iop:<dunder>)
             function_ (the in-place form is a function of the module, too)
    alias    other public names ("multiply", "special.expm1", "nn.functional.relu")
    samples  calls that must work: see samples.py;  errors: calls that must fail
    ref      NumPy expression of the float64 oracle over the argument names
    tags     internal random view_copy
             changes (the native kernel, `<name>_`, changes `self`; other forms give it a copy),
             autocast:<policy> (what arguments become under autocast: lower, its dtype; fp32; promote,
             the widest among them; none, left alone, nor do operators inside cast. A composition
             with it is written as `<name>_uncast`),
             any_device (arguments may be on different ones), divides (integers refuse `other` = 0),
             number_first (functions take a number as `self`), number_then_tensor (only before a
             tensor), cost:N (about ns per 16 elements of a pointwise loop: when threads pay),
             bounds (its numbers only bound: beyond the dtype's range they act as its
             ends), constant:0,2 (these results have no gradient), partial_grads (formulas get an undefined
             tensor for each result without one, not zeros), flat_gradient (gradients require grad under
             create_graph though they do not depend on the argument), apart (out= may not share
             memory with an argument), out:exact (out= has to have the result's dtype, not just one
             that it can be cast to)
    batch    how vmap batches it where that does not follow from the kernel and the arguments' names:
             leading (takes any leading dimensions), fold (samples do not interact: the batch joins the
             first dimension), channels (statistics of dimension 1), pointwise, dynamic (cannot be:
             the result depends on values), loop
    doc, example
"""

from __future__ import annotations

import ast
import re
import sys

OPS: dict[str, Op] = {}


class Arg:
    """One argument of a schema."""

    def __init__(self, type, name, default, kwonly):
        self.mutable = type.endswith("!")
        self.type = type.rstrip("!")
        self.name, self.default, self.kwonly = name, default, kwonly

    def __repr__(self):
        return f"{self.type} {self.name}" + (f"={self.default}" if self.default is not None else "")

    @property
    def is_tensor(self):
        return self.type in ("Tensor", "Tensor?", "Tensor[]", "Tensor?[]", "Operand")


class Kernel:
    """How the result comes about: kind plus, for expressions, the text."""

    def __init__(self, kind, text=None):
        self.kind, self.text = kind, text


def pointwise(expression):
    return Kernel("pointwise", expression)


def decomp(expression):
    return Kernel("decomp", expression)


native = Kernel("native")
view = Kernel("view")
composite = Kernel("composite")
boxed = Kernel("boxed")

FACTORY = (
    "*, dtype? dtype=None, layout? layout=None, device? device=None,"
    " pin? pin_memory=None, rg requires_grad=False"
)
LIKE = FACTORY + ", memory_format? memory_format=None"


class Op:
    """An entry, parsed."""

    def __init__(self, schema, kernel, where, **fields):
        self.schema = schema = " ".join(schema.split())
        match = re.fullmatch(r"(\w+)(?:\.(\w+))?\((.*)\) -> (.+)", schema)
        if not match:
            raise SyntaxError(f"{where}: cannot parse schema {schema!r}")
        self.base, self.overload, arguments, returns = match.groups()
        self.name = self.base + ("_" + self.overload if self.overload else "")
        self.args = parse_arguments(arguments)
        self.returns, self.return_names = parse_returns(returns)
        self.kernel, self.where = kernel, where
        self.dtype = fields.pop("dtype", "promote")
        self.on = fields.pop("on", "bifc")
        self.grad = fields.pop("grad", {})
        self.node = fields.pop("node", None)
        self.forms = fields.pop("forms", "function method").split()
        self.alias = fields.pop("alias", "").split()
        self.samples = fields.pop("samples", [])
        self.errors = fields.pop("errors", [])
        self.ref = fields.pop("ref", None)
        self.tags = fields.pop("tags", "").split()
        self.batch = fields.pop("batch", None)
        self.doc = fields.pop("doc", "")
        self.example = fields.pop("example", "")
        if fields:
            raise TypeError(f"{where}: {self.name}: unknown field {sorted(fields)}")
        self.check()

    def check(self):
        names = {a.name for a in self.args} | {"grad", "grads", "result", "results", "self"}
        for wrt, text in self.differentiable():
            bad = free_names(text) - names
            if wrt not in names or bad:
                raise NameError(f"{self.where}: {self.name}: unknown name {bad or wrt} in {text!r}")

    def differentiable(self):
        return list(self.grad.items()) if isinstance(self.grad, dict) else []

    def arg(self, name):
        return next((a for a in self.args if a.name == name), None)

    @property
    def tensors(self):
        return [a for a in self.args if a.is_tensor]

    @property
    def mutates(self):
        return any(a.mutable for a in self.args)

    def has(self, form):
        return form in self.forms

    def tag(self, prefix):
        return next((t.partition(":")[2] for t in self.tags if t.partition(":")[0] == prefix), None)


def parse_arguments(text):
    args, kwonly = [], False
    for part in filter(None, (p.strip() for p in re.split(r",\s*(?![^()\[\]]*[\])])", text))):
        if part == "*":
            kwonly = True
            continue
        type, rest = part.split(" ", 1)
        name, _, default = rest.partition("=")
        args.append(Arg(type, name.strip(), default.strip() or None, kwonly))
    return args


def parse_returns(text):
    """("Tensor", "Tensor"), ("values", "indices") for `(Tensor values, Tensor indices)`."""
    text = text.strip()
    if not text.startswith("("):
        return [text], None
    parts = [p.strip() for p in text[1:-1].split(",")]
    types = [p.split(" ")[0] for p in parts]
    names = [p.split(" ")[1] for p in parts if " " in p]
    return types, names or None


def free_names(text):
    """Variable names of an expression (called function names are not variables)."""
    tree = ast.parse(text.strip(), mode="eval")
    called = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and id(n) not in called}


def op(schema, kernel, **fields):
    """Adds an operator to the table; see the module's docstring for the fields."""
    frame = sys._getframe(1)
    where = f"{frame.f_globals['__name__'].rsplit('.', 1)[-1]}.py:{frame.f_lineno}"
    entry = Op(schema, kernel, where, **fields)
    entry.family = frame.f_globals["__name__"].rsplit(".", 1)[-1]
    if entry.name in OPS:
        raise KeyError(f"{where}: {entry.name} is already defined at {OPS[entry.name].where}")
    OPS[entry.name] = entry
    return entry
