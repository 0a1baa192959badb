"""Emits the Python side: argument tables, METH_FASTCALL wrappers, method tables."""

from __future__ import annotations

import inspect

from . import cpp
from .ops import quoted

KINDS = {
    "Tensor": "Tensor", "Tensor?": "OptTensor", "Tensor[]": "TensorList",
    "Tensor?[]": "OptTensorList", "Operand": "Operand", "Scalar": "Scalar",
    "Scalar?": "OptScalar", "int": "Int", "int?": "OptInt", "int[]": "Ints", "int[]?": "OptInts",
    "float": "Float", "float?": "OptFloat", "bool": "Bool", "bool?": "OptBool", "str": "Str",
    "str?": "OptStr", "dtype": "DType", "dtype?": "OptDType", "device?": "OptDevice",
    "layout?": "OptLayout", "layout_name?": "OptLayoutName",
    "memory_format?": "OptMemoryFormat", "Generator?": "OptGenerator",
    "pin?": "OptBool", "rg": "Bool",
}  # fmt: skip


def kind(type):
    if cpp.is_sized(type):
        return "OptInts" if type.endswith("?") else "Ints"
    return KINDS[type]


def python_name(a):
    return "input" if a.name == "self" else a.name


def group(ops):
    """Overloads by Python name, in table order."""
    out: dict[str, list] = {}
    for o in ops:
        out.setdefault(o.base, []).append(o)
    return out


def weak_self(o):
    """Functions that take a number in the place of their first tensor: mul(2.0, x)."""
    return o.has("function") and ("number_first" in o.tags or needs_tensor(o))


def needs_tensor(o):
    return "number_then_tensor" in o.tags


# Lists of which PyTorch also takes one int; elsewhere `int[]` is a list, or separate ints where a
# signature allows them (`variadic`).
LONE_INT = {"dim", "shifts", "source", "destination"}


def expansion(a):
    if cpp.is_sized(a.type):
        return int(a.type.rstrip("?")[4:-1])
    lone = a.type.startswith("int[]") and (a.name in LONE_INT or a.default == "()")
    return "kLoneInt" if lone else 0


def param_rows(o):
    rows = []
    for i, a in enumerate(o.args):
        expand = int(needs_tensor(o)) if i == 0 else expansion(a)
        k = (
            "WeakTensor"
            if i == 0 and a.type == "Tensor" and weak_self(o) and not a.mutable
            else kind(a.type)
        )
        rows.append(
            f'{{"{python_name(a)}", nullptr, Kind::{k}, {expand}, '
            f"{str(a.default is None).lower()}, {str(a.kwonly).lower()}}}"
        )
    if o.has("out"):
        k = "Out" if len(o.returns) == 1 else "OutTuple"
        rows.append(f'{{"out", nullptr, Kind::{k}, 0, false, true}}')
    return rows


def shown(o):
    """The signature as error messages show it."""
    parts, star = [], False
    for a in o.args:
        if a.kwonly and not star:
            parts.append("*")
            star = True
        type = {
            "Operand": "Tensor or Number",
            "Scalar": "Number",
            "rg": "bool",
            "pin?": "bool",
        }.get(a.type, a.type)
        parts.append(
            f"{type} {python_name(a)}" + (f" = {a.default}" if a.default is not None else "")
        )
    if o.has("out"):
        parts += ([] if star else ["*"]) + ["Tensor out = None"]
    return f"{o.base}({', '.join(parts)})"


def variadic(o):
    """Index of an int[] argument that may be given as separate ints (`x.view(2, 3)`), or -1."""
    positional = [a for a in o.args if not a.kwonly]
    if positional and positional[-1].type == "int[]" and len(positional) <= 2:
        return len(positional) - 1
    lists = [i for i, a in enumerate(positional) if a.type == "int[]"]
    return lists[0] if lists and lists[0] <= 1 and o.has("variadic") else -1


CONVERT = {
    "Tensor": "as_tensor({0})", "OptTensor": "as_opt_tensor({0})",
    "TensorList": "as_tensor_list({0})", "OptTensorList": "as_opt_tensor_list({0})",
    "Operand": "as_operand({0})", "Scalar": "as_scalar({0})",
    "OptScalar": "as_opt<Scalar>({0}, as_scalar)", "Int": "as_int({0})",
    "OptInt": "as_opt<int64_t>({0}, as_int)", "Float": "as_float({0})",
    "OptFloat": "as_opt<double>({0}, as_float)", "Bool": "as_bool({0})",
    "OptBool": "as_opt<bool>({0}, as_bool)", "Str": "as_str({0})",
    "OptStr": "as_opt<std::string>({0}, as_str)", "DType": "as_dtype({0})",
    "OptDType": "as_opt<DType>({0}, as_dtype)", "OptDevice": "as_opt<Device>({0}, as_device)",
    "OptMemoryFormat": "as_opt<MemoryFormat>({0}, as_memory_format)",
    "OptGenerator": "as_generator({0})",
    "OptLayoutName": "as_opt<std::string>({0}, as_layout)",
}  # fmt: skip


def convert(o, i, a):
    at = f"b.at[{i}]"
    k = kind(a.type)
    if k in ("Ints", "OptInts"):
        n = int(a.type.rstrip("?")[4:-1]) if cpp.is_sized(a.type) else 0
        text = f"as_dims({at}, {n})" if k == "Ints" else f"as_opt_dims({at}, {n})"
    elif i == 0 and k == "Tensor" and weak_self(o) and not a.mutable:
        text = f"as_weak_tensor({at})"
    else:
        text = CONVERT[k].format(at)
    default = cpp.cpp_default(a)
    if default is None or default in ("{}", "nullptr"):
        return text
    value = cpp.value_type(a.type)
    return f"({at} ? {value}({text}) : {value}({default}))"


def wrap(o, expression):
    if len(o.returns) > 1:
        names = o.return_names
        if names:
            return f"wrap_named(named_{o.name}, {expression})"
        return f"wrap_tuple({expression})"
    return f"wrap({expression})"


def call_case(o, suffix=""):
    """The call of one overload; `suffix` "_" for the in-place form."""
    args = []
    for i, a in enumerate(o.args):
        if a.type in cpp.BINDING_ONLY:
            continue
        args.append(convert(o, i, a))
    lines = []
    outs = len(o.args)
    if o.has("out") and not suffix:
        targets = (
            f"as_tensor(b.at[{outs}])"
            if len(o.returns) == 1
            else ", ".join(f"out_item(b.at[{outs}], {j})" for j in range(len(o.returns)))
        )
        result = f"ops::{o.name}_out({targets}, {', '.join(args)})"
        if len(o.returns) == 1:
            lines.append(f"if (b.at[{outs}]) {{ {result}; return incref(b.at[{outs}]); }}")
        else:
            lines.append(f"if (b.at[{outs}]) return {wrap(o, result)};")
    expression = f"ops::{o.name}{suffix}({', '.join(args)})"
    if not suffix and o.node and o.mutates and o.kernel.kind == "decomp":
        position = {a.name: f"b.at[{i}]" for i, a in enumerate(o.args)}
        name = cpp.emit_node(o.node, position.get)
        lines.append(f"NodeMark mark; mark.name_changed({expression}, {name});")
        lines.append("return incref(b.at[0]);")
        return lines
    if suffix or (o.mutates and o.args[0].mutable):
        lines.append(f"{expression}; return incref(b.at[0]);")
        return lines
    if o.node and o.kernel.kind in ("composite", "decomp"):
        position = {a.name: f"b.at[{i}]" for i, a in enumerate(o.args)}
        lines.append("NodeMark mark;")
        expression = f"mark.named({expression}, {cpp.emit_node(o.node, position.get)})"
    rg = next((i for i, a in enumerate(o.args) if a.type == "rg"), None)
    if rg is not None:
        lines.append(f"return wrap_leaf({expression}, b.at[{rg}]);")
    elif o.returns == ["None"]:
        lines.append(f"{expression}; Py_RETURN_NONE;")
    else:
        lines.append(f"return {wrap(o, expression)};")
    return lines


CALL_PARAMETERS = "PyObject* self, PyObject* const* args, Py_ssize_t n, PyObject* kw"


def wrapper(base, overloads, suffix=""):
    """`call_<name>(self, args, nargs, kwnames)` for all overloads of a name."""
    name = base + suffix
    lines = [f"// {', '.join(o.where for o in overloads)}"]
    for k, o in enumerate(overloads):
        rows = param_rows(o)
        if suffix and o.has("out"):
            rows = rows[:-1]
        count = len(rows)
        if rows:
            lines.append(f"static Param p_{name}_{k}[] = {{{', '.join(rows)}}};")
        positional = sum(not a.kwonly for a in o.args)
        params = f"p_{name}_{k}" if rows else "nullptr"
        o.signature_row = f"{{{params}, {count}, {positional}, {variadic(o)}, {quoted(shown(o))}}}"
        if o.return_names and len(o.returns) > 1 and not suffix:
            fields = ", ".join(f'"{n}"' for n in o.return_names)
            lines.append(f'static NamedResult named_{o.name}{{"{o.base}", {{{fields}}}}};')
    lines.append(
        f"static Signature s_{name}[] = {{{', '.join(o.signature_row for o in overloads)}}};"
    )
    lines.append(f'static Callable c_{name}{{"{name}", s_{name}, {len(overloads)}}};')
    lines += [
        f"static PyObject* call_{name}({CALL_PARAMETERS}) {{",
        "try {",
        f"Bound b(c_{name}, self, args, n, kw);",
        "if (b.done) return b.result;",
        "switch (b.which) {",
    ]
    for k, o in enumerate(overloads):
        lines += [f"case {k}: {{", *call_case(o, suffix), "}"]
    lines += [
        "}",
        "} catch (...) { return raise_python_error(); }",
        "return nullptr;",
        "}",
        f"static PyObject* f_{name}({CALL_PARAMETERS.replace(' self', '')}) {{",
        f"return call_{name}(nullptr, args, n, kw);",
        "}",
    ]
    return lines


def operator_slots(base, overloads):
    out = []
    for o in overloads:
        for form in o.forms:
            word, _, symbol = form.partition(":")
            if word in ("operator", "rop", "iop"):
                out.append((word, symbol))
    return out


def family_binding(family, ops):
    lines = [
        f"// Generated by opgen from _ops/{family}.py.",
        '#include "bind/generated.h"',
        "",
        "namespace flambeau {",
        "namespace bind {",
        "",
    ]
    functions, public, methods, slots = [], [], [], []
    for base, overloads in group(ops).items():
        lines += [*wrapper(base, overloads), ""]
        doc = quoted(docstring(overloads))
        functions.append((base, f"f_{base}", doc))
        if any(o.has("function") for o in overloads):
            public.append(base)
        method_name = overloads[0].tag("method_name")
        if method_name:
            methods.append((method_name, f"call_{base}", doc))
        takes_self = [o for o in overloads if o.has("method")]
        if takes_self:
            methods.append((base, f"call_{base}", doc))
        for word, symbol in operator_slots(base, overloads):
            target = base
            slots.append((word, symbol, target))
        changing = [o for o in overloads if o.has("inplace")]
        if changing:
            lines += [*wrapper(base, changing, "_"), ""]
            text = quoted(f"In-place form of {base}().")
            functions.append((base + "_", f"f_{base}_", text))
            methods.append((base + "_", f"call_{base}_", text))
            module_level = any(o.has("function_") for o in changing)
            if module_level:
                public.append(base + "_")
        for alias in dict.fromkeys(w for o in overloads for w in o.alias):
            if "." not in alias:
                functions.append((alias, f"f_{base}", doc))
                public.append(alias)
                if takes_self:
                    methods.append((alias, f"call_{base}", doc))
                if changing:
                    methods.append((alias + "_", f"call_{base}_", quoted(f"Alias of {base}_().")))
                    functions.append((alias + "_", f"f_{base}_", quoted(f"Alias of {base}_().")))
                    if module_level:
                        public.append(alias + "_")
    flags = "METH_FASTCALL | METH_KEYWORDS"
    lines.append(f"PyMethodDef functions_{family}[] = {{")
    lines += [
        f'{{"{n}", reinterpret_cast<PyCFunction>({f}), {flags}, {d}}},' for n, f, d in functions
    ]
    lines += ["{}};", f"PyMethodDef methods_{family}[] = {{"]
    lines += [
        f'{{"{n}", reinterpret_cast<PyCFunction>({f}), {flags}, {d}}},' for n, f, d in methods
    ]
    lines += [
        "{}};",
        f"extern const char* const public_{family}[];",
        f"const char* const public_{family}[] = {{",
    ]
    lines += [f'"{n}",' for n in public]
    lines += [
        "nullptr};",
        f"extern const OperatorSlot operators_{family}[];",
        f"const OperatorSlot operators_{family}[] = {{",
    ]
    lines += [f'{{"{w}", "{s}", call_{t}}},' for w, s, t in slots if w != "iop"]
    lines += [f'{{"iop", "{s}", call_{t}_}},' for w, s, t in slots if w == "iop"]
    lines += [
        "{nullptr, nullptr, nullptr}};",
        "}  // namespace bind",
        "}  // namespace flambeau",
        "",
    ]
    return "\n".join(lines)


def docstring(overloads):
    text = "\n".join(f"{shown(o)} -> {', '.join(o.returns)}" for o in overloads)
    for o in overloads:
        if o.doc:
            text += "\n\n" + o.doc
        if o.example:
            text += "\n\nExample::\n\n" + "\n".join(
                "    " + line for line in inspect.cleandoc(o.example).splitlines()
            )
    return text


def registry(families, ops):
    lines = [
        "// Generated by opgen: the families' tables in one list.",
        '#include "bind/generated.h"',
        "",
        "namespace flambeau {",
        "namespace bind {",
    ]
    lines += [
        f"extern PyMethodDef functions_{f}[], methods_{f}[]; "
        f"extern const char* const public_{f}[]; "
        f"extern const OperatorSlot operators_{f}[];"
        for f in families
    ]
    lines.append("const FamilyTables family_tables[] = {")
    lines += [f"{{functions_{f}, methods_{f}, public_{f}, operators_{f}}}," for f in families]
    lines += ["{nullptr, nullptr, nullptr, nullptr}};", "const AliasRow alias_rows[] = {"]
    for o in ops:
        for alias in o.alias:
            if "." in alias:
                module, _, name = alias.rpartition(".")
                lines.append(f'{{"{module}", "{name}", "{o.base}"}},')
    return "\n".join(
        [
            *lines,
            "{nullptr, nullptr, nullptr}};",
            "}  // namespace bind",
            "}  // namespace flambeau",
            "",
        ]
    )
