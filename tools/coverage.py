"""Writes docs/api_coverage.md: which of PyTorch's public names exist here, and why others do not.

python tools/coverage.py            writes the page
python tools/coverage.py --check    fails where the page is not what it would write
python tools/coverage.py --names    prints the names as JSON; runs where PyTorch is installed

The names come from tests/data/api_names.json, which says of what version they are.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
NAMES = ROOT / "tests" / "data" / "api_names.json"
PAGE = ROOT / "docs" / "api_coverage.md"
NAMESPACES = (
    "torch", "torch.Tensor", "torch.linalg", "torch.fft", "torch.special", "torch.nn.functional",
    "torch.nn", "torch.optim", "torch.utils.data", "torch.distributions",
    "torch.distributions.constraints",
)  # fmt: skip

# Names of later stages: reason -> patterns, each for a whole name. The first that matches counts.
# Those of the second table concern the root and Tensor only.
LATER = {
    "TorchScript and its intermediate representation": r"""
        AliasDb|Argument|ArgumentSpec|Await(Type)?|Block|CallStack|Capsule|Code|CompilationUnit
        CompleteArgumentSpec|Concrete\w+|\w+Type|AnyType|DeepCopyMemoTable|ErrorReport|ExecutionPlan|FileCheck
        FunctionSchema|Future|Gradient|Graph(ExecutorState)?|IODescriptor|JITException|Lite\w+|Logg\w+
        LockingLogger|NoopLogger|Node|OperatorInfo|Script\w*|StaticModule|TracingState|Type|Use|Value
        AggregationType|AVG|SUM|BufferDict|ModuleDict|ParameterDict|DeserializationStorageContext
        SerializationStorageContext|PyTorchFile\w+|Throughput\w+|Benchmark\w+|fork|wait|import_ir_module\w*
        merge_type_\w+|parse_\w+|unify_type_list|AwaitType|Tag|boolean_dispatch|BroadcastingList\d|InferredType
        DispatchKey(Set)?|ExcludeDispatchKeyGuard|PRIVATE_OPS|USE_\w+|get_file_path|assert_int_or_pair
        prepare_multiprocessing_environment|profiler_allow_\w+|init_num_threads|thread_safe_generator""",
    "compiler and symbolic shapes": r"""
        Sym\w+|sym_\w+|compile|while_loop|vmap|compiled_with_cxx11_abi|is_vulkan_available|classproperty""",
    "quantization": r"""
        \w*quantize\w*|quantized_\w+|q_\w+|Q(U?Int)\w+|qu?int\w+|qscheme|per_(channel|tensor)_\w+|int_repr|fbgemm_\w+
        fused_moving_avg_obs_fake_quant|choose_qparams_optimized|u?int[1-7]|bits\w+|bit|float4\w+|float8\w+
        scaled_mm|scaled_grouped_mm|grouped_mm|ScalingType|SwizzleType""",
    "sparse and jagged layouts": r"""
        \w*sparse\w*|hspmm|[dhs]s[mp]m|smm|saddmm|spmm|sspaddmm|\w*(crow|ccol|col|row)_indices\w*|indices(_copy)?
        values(_copy)?|coalesce|is_coalesced|dense_dim|to_(dense|mkldnn|padded_tensor)|jagged|slice_inverse
        SparseAdam""",
    "other devices and their libraries": r"""
        \w*cudnn\w*|miopen_\w+|mkldnn_\w+|cuda|ipu|xpu|mtia|hpu|is_(ipu|maia|mtia|vulkan|xpu|hpu|cuda)|record_stream
        Stream|Event|AcceleratorError|DeviceObjType|get_device_module|has_(lapack|mkl|openmp|spectral)
        batch_norm_(stats|elemt|gather\w+|backward\w+|update_stats)|\w*autocast_(ipu|xla)\w*
        legacy_contiguous_format|native_norm""",
    "dtypes that are not built": r"""
        complex32|uint(16|32|64)|chalf|hash_tensor|(Complex\w+|BFloat16|Bool|Byte|Char|Double|Float|Half|Int|Long|Short)Storage
        TypedStorage|storage_type|Storage(Base)?""",
    "distributed": r"is_distributed",
    "data pipes, which PyTorch no longer develops": r"""
        DFIterDataPipe|DataChunk|IterDataPipe|MapDataPipe|argument_validation|functional_datapipe
        guaranteed_datapipes_determinism|non_deterministic|runtime_validation(_disabled)?""",
}
LATER_AT_ROOT = {
    "removed by PyTorch, which only raises an error": r"symeig|eig|lstsq|solve|matrix_rank"
    r"|reinforce",
    "compiler": r"cond",
    "named tensors and functional dimensions": r"index",
}


def public_names(module, root):
    """Names without underscore that are neither modules nor imported from other libraries."""
    found = []
    for name in dir(module):
        value = getattr(module, name, None)
        home = (getattr(value, "__module__", None) or "torch").partition(".")[0]
        foreign = inspect.isclass(module) is False and home not in ("torch", "builtins")
        text = isinstance(value, (str, dict)) or name == "TYPE_CHECKING"
        imported = module is not root and inspect.ismodule(module) and name in ("Tensor", "DType")
        if name.startswith("_") or inspect.ismodule(value) or foreign or text or imported:
            continue
        if re.fullmatch(r"(has|handle)_torch_function\w*", name) and module is not root:
            continue
        found.append(name)
    return found


def print_names():
    torch = importlib.import_module("torch")
    out = {"version": torch.__version__.partition("+")[0], "names": {}}
    for space in NAMESPACES:
        module = torch
        for part in space.split(".")[1:]:
            module = getattr(module, part)
        out["names"][space] = public_names(module, torch)
    print(json.dumps(out, indent=1))


def reason(space, name):
    """Why a name is left to a later stage, or None."""
    tables = LATER | (LATER_AT_ROOT if space in ("torch", "torch.Tensor") else {})
    for text, patterns in tables.items():
        if any(re.fullmatch(p, name) for p in patterns.split()):
            return text
    return None


def coverage():
    """namespace -> (present, missing, {reason: names})."""
    sys.path.insert(0, str(ROOT / "python"))
    flambeau = importlib.import_module("flambeau")
    out = {}
    for space, names in json.loads(NAMES.read_text())["names"].items():
        try:
            module = flambeau
            for part in space.split(".")[1:]:
                if not inspect.isclass(module) and not hasattr(module, part):
                    importlib.import_module(f"{module.__name__}.{part}")
                module = getattr(module, part)
        except ImportError:
            module = None
        present = [n for n in names if module is not None and hasattr(module, n)]
        later: dict[str, list[str]] = {}
        missing: list[str] = []
        for name in sorted(set(names) - set(present)):
            why = reason(space, name)
            if why:
                later.setdefault(why, []).append(name)
            else:
                missing.append(name)
        out[space] = present, missing, later
    return out


def page():
    version = json.loads(NAMES.read_text())["version"]
    lines = [
        "# API coverage",
        "",
        f"Public names of PyTorch {version} that exist here. "
        "`python tools/coverage.py` writes this page.",
        "",
        "| namespace | names | present | missing | of a later stage | present of this stage |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    found = coverage()
    for space, (present, missing, later) in found.items():
        put_off = sum(map(len, later.values()))
        total = len(present) + len(missing) + put_off
        share = len(present) / max(len(present) + len(missing), 1)
        lines.append(
            f"| {space} | {total} | {len(present)} | {len(missing)} | {put_off} | {share:.1%} |"
        )
    for space, (_, missing, later) in found.items():
        if not missing and not later:
            continue
        lines += ["", f"## {space}", ""]
        if missing:
            lines.append(f"- Missing: {', '.join(f'`{n}`' for n in missing)}")
        for why, names in later.items():
            lines.append(f"- Later, {why}: {', '.join(f'`{n}`' for n in names)}")
    return "\n".join([*lines, ""])


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--names", action="store_true")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    if options.names:
        print_names()
        return
    text = page()
    if options.check:
        if not PAGE.exists() or PAGE.read_text() != text:
            sys.exit(f"{PAGE} is out of date: run python tools/coverage.py")
        return
    PAGE.parent.mkdir(exist_ok=True)
    PAGE.write_text(text)
    print(text[: text.index("\n## ")] if "\n## " in text else text)


if __name__ == "__main__":
    main()
