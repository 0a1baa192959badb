"""What a report of an error should say of the machine and of what is installed."""

from __future__ import annotations

from typing import Any, NamedTuple

TORCH_AVAILABLE = True


class SystemEnv(NamedTuple):
    """Facts for a report."""

    torch_version: str
    is_debug_build: str
    cuda_compiled_version: str
    os: str
    python_version: str
    python_platform: str
    cpu_info: str
    pip_packages: str
    is_cuda_available: str
    num_threads: int


def _packages():
    from importlib import metadata

    wanted = ("torch", "numpy", "flambeau", "onnx", "triton", "optree", "mypy", "transformers")
    found: list[Any] = []
    for dist in metadata.distributions():
        name = dist.metadata["Name"] or ""
        if name.lower().startswith(wanted):
            found.append(f"{name}=={dist.version}")
    return "\n".join(f"[pip3] {line}" for line in sorted(set(found)))


def get_env_info():
    """The facts, in a `SystemEnv`."""
    import platform
    import sys

    import flambeau
    from flambeau import _C

    return SystemEnv(
        torch_version=str(flambeau.__version__),
        is_debug_build="False",
        cuda_compiled_version="None",
        os=platform.platform(),
        python_version=sys.version.replace("\n", " "),
        python_platform=platform.platform(),
        cpu_info=f"{platform.machine()}, kernels for {_C._cpu_target()}",
        pip_packages=_packages(),
        is_cuda_available="False",
        num_threads=_C.get_num_threads(),
    )


def pretty_str(envinfo):
    """The facts as text."""
    lines = (
        ("PyTorch version (flambeau)", envinfo.torch_version),
        ("Is debug build", envinfo.is_debug_build),
        ("CUDA used to build PyTorch", envinfo.cuda_compiled_version),
        ("OS", envinfo.os),
        ("Python version", envinfo.python_version),
        ("Python platform", envinfo.python_platform),
        ("Is CUDA available", envinfo.is_cuda_available),
        ("CPU", envinfo.cpu_info),
        ("Threads", envinfo.num_threads),
    )
    head = "\n".join(f"{name}: {value}" for name, value in lines)
    return f"{head}\n\nVersions of relevant libraries:\n{envinfo.pip_packages}"


def get_pretty_env_info():
    """The facts of this machine as text.

    Example:
        >>> get_pretty_env_info().splitlines()[2]
        'CUDA used to build PyTorch: None'
    """
    return pretty_str(get_env_info())


def main():
    """Prints the facts."""
    print("Collecting environment information...")
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
