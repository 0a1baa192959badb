"""Python expressions of the table -> C++ expressions, and schema types -> C++ types."""

from __future__ import annotations

import ast
import re

TYPES = {
    "Tensor": "const Tensor&",
    "Tensor?": "const OptTensor&",
    "Tensor[]": "const TensorList&",
    "Tensor?[]": "const std::vector<OptTensor>&",
    "Operand": "const Operand&",
    "Scalar": "const Scalar&",
    "Scalar?": "const std::optional<Scalar>&",
    "int": "int64_t",
    "int?": "std::optional<int64_t>",
    "int[]": "const Dims&",
    "int[]?": "const std::optional<Dims>&",
    "float": "double",
    "float?": "std::optional<double>",
    "bool": "bool",
    "bool?": "std::optional<bool>",
    "str": "const std::string&",
    "str?": "const std::optional<std::string>&",
    "dtype": "DType",
    "dtype?": "std::optional<DType>",
    "device?": "std::optional<Device>",
    "layout_name?": "const std::optional<std::string>&",
    "memory_format?": "std::optional<MemoryFormat>",
    "Generator?": "Generator*",
}
# Handled by the binding, never passed on.
BINDING_ONLY = {"layout?", "pin?", "rg"}
RESERVED = {
    "from": "from_",
    "else": "else_",
    "default": "default_",
    "lambda": "lambd",
    "double": "double_",
}
ATTRIBUTES = {"shape": "Dims", "dtype": "DType", "ndim": "int64_t"}


def cpp_name(name):
    return RESERVED.get(name, name)


def is_sized(type):
    """`int[2]`: a list of that length, or one int for all."""
    return type.startswith("int[") and type.rstrip("?")[4:-1].isdigit()


def cpp_type(type):
    if is_sized(type):
        return "const std::optional<Dims>&" if type.endswith("?") else "const Dims&"
    return TYPES[type]


def value_type(type):
    """The type of a member that stores such an argument."""
    return cpp_type(type).removeprefix("const ").removesuffix("&")


def cpp_default(arg):
    """Default as C++ text, or None."""
    d = arg.default
    if d is None:
        return None
    if d == "None":
        return "nullptr" if arg.type == "Generator?" else "{}"
    if d in ("True", "False"):
        return d.lower()
    if arg.type.startswith("int["):
        if d in ("()", "[]"):
            return "Dims{}"
        if d.startswith(("(", "[")):
            return "Dims{" + d[1:-1].rstrip(",") + "}"
        count = int(arg.type.rstrip("?")[4:-1]) if is_sized(arg.type) else 1
        return "Dims{" + ", ".join([d] * count) + "}"
    if arg.type.startswith("str"):
        return 'std::string("' + d.strip("\"'") + '")'
    if d in ("inf", "-inf", "nan"):
        sign = "-" if d[0] == "-" else ""
        return sign + ("std::numeric_limits<double>::infinity()" if "inf" in d else "NAN")
    return d


class Emitter(ast.NodeVisitor):
    """Formula text -> C++. `attributes` collects uses like `self.shape` as (name, attribute)."""

    BINARY = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.Mod: "%"}
    COMPARE = {
        ast.Gt: ">",
        ast.Lt: "<",
        ast.GtE: ">=",
        ast.LtE: "<=",
        ast.Eq: "==",
        ast.NotEq: "!=",
    }
    BITS = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^", ast.LShift: "<<", ast.RShift: ">>"}

    def __init__(self):
        self.attributes, self.names = set(), set()

    def visit_Expression(self, n):
        return self.visit(n.body)

    def visit_Name(self, n):
        self.names.add(n.id)
        return cpp_name(n.id)

    def visit_Constant(self, n):
        if n.value is None:
            return "std::nullopt"
        if isinstance(n.value, bool):
            return str(n.value).lower()
        if isinstance(n.value, str):
            return f'std::string("{n.value}")'
        return repr(n.value)

    def visit_Attribute(self, n):
        self.attributes.add((n.value.id, n.attr))
        return f"{cpp_name(n.value.id)}_{n.attr}"

    def visit_UnaryOp(self, n):
        sign = {ast.USub: "-", ast.Not: "!", ast.Invert: "~"}[type(n.op)]
        return f"{sign}{self.visit(n.operand)}"

    def visit_BinOp(self, n):
        if isinstance(n.op, ast.Pow):
            return f"pow({self.visit(n.left)}, {self.visit(n.right)})"
        sign = self.BINARY.get(type(n.op)) or self.BITS[type(n.op)]
        return f"({self.visit(n.left)} {sign} {self.visit(n.right)})"

    def visit_BoolOp(self, n):
        sign = " && " if isinstance(n.op, ast.And) else " || "
        return "(" + sign.join(self.visit(v) for v in n.values) + ")"

    def visit_Compare(self, n):
        return (
            f"({self.visit(n.left)} {self.COMPARE[type(n.ops[0])]} {self.visit(n.comparators[0])})"
        )

    def visit_IfExp(self, n):
        return f"({self.visit(n.test)} ? {self.visit(n.body)} : {self.visit(n.orelse)})"

    def visit_Tuple(self, n):
        return "Dims{" + ", ".join(map(self.visit, n.elts)) + "}"

    visit_List = visit_Tuple

    def visit_Subscript(self, n):
        return f"{self.visit(n.value)}[{self.visit(n.slice)}]"

    def visit_Call(self, n):
        return f"{cpp_name(n.func.id)}({', '.join(map(self.visit, n.args))})"

    def generic_visit(self, n):
        raise SyntaxError(f"not allowed in a formula: {ast.dump(n)}")


class ScalarEmitter(Emitter):
    """Pointwise expressions: literals take the compute type; parameters come before constants."""

    NAMED = {"pi": "T(3.14159265358979323846)", "inf": "kInf<T>", "nan": "kNaN<T>"}

    def __init__(self, parameters=()):
        super().__init__()
        self.parameters = parameters

    def visit_Name(self, n):
        self.names.add(n.id)
        named = None if n.id in self.parameters else self.NAMED.get(n.id)
        return named or cpp_name(n.id)

    def visit_Constant(self, n):
        return str(n.value).lower() if isinstance(n.value, bool) else f"T({n.value!r})"

    def visit_BoolOp(self, n):  # both sides are cheap: no branches in vector loops
        sign = " & " if isinstance(n.op, ast.And) else " | "
        return "(" + sign.join(f"truth({self.visit(v)})" for v in n.values) + ")"


class NodeNameEmitter(Emitter):
    """Names of nodes: `TBackward0` is itself, all else an argument, spelled by `argument`."""

    def __init__(self, argument=cpp_name):
        super().__init__()
        self.argument = argument

    def visit_Name(self, n):
        return f'"{n.id}"' if re.search(r"Backward\w*$", n.id) else self.argument(n.id)

    def visit_Attribute(self, n):
        tensor = self.argument(n.value.id)
        if self.argument is not cpp_name:  # a Python object
            tensor = f"as_tensor({tensor})"
        return f"{tensor}.{ {'ndim': 'dim()'}[n.attr] }"


def emit_node(text, argument=cpp_name):
    """C++ text of a name, given as one or as an expression that chooses among several."""
    if "::" in text or text.isidentifier():
        return f'"{text}"'
    return NodeNameEmitter(argument).visit(ast.parse(text.strip(), mode="eval"))


def emit(text):
    """(C++ text, names used, attributes used) of a formula."""
    e = Emitter()
    code = e.visit(ast.parse(text.strip(), mode="eval"))
    return code, e.names, e.attributes


def emit_scalar(text, parameters=()):
    return ScalarEmitter(parameters).visit(ast.parse(text.strip(), mode="eval"))
