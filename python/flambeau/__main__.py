"""The command line: ``python -m flambeau`` and the script ``flambeau``.

`run` gives a program the process that plain ``python`` would: its own ``__main__``, `sys.argv` and
`sys.path`, tracebacks without our frames, and its exit code.
"""

from __future__ import annotations

import os
import sys
import types

_USAGE = """usage: flambeau run [script.py | -m module | -c code] [arguments ...]
       flambeau info
       flambeau --version

run    runs a Python program in which `import torch` gives flambeau
info   prints versions, CPU, threads and libraries
"""
_MISUSE = 2


def _fail(message: str) -> int:
    print(f"flambeau: {message}", file=sys.stderr)
    return _MISUSE


def main(arguments: list[str] | None = None) -> int:
    """Runs a command line; returns the exit code (a program run may exit by itself)."""
    arguments = sys.argv[1:] if arguments is None else list(arguments)
    command = arguments[0] if arguments else ""
    if command == "run":
        return _run(arguments[1:])
    if command == "info" and len(arguments) == 1:
        from . import _info  # only this command needs it

        _info.show()
        return 0
    if command in ("--version", "-V"):
        from ._version import __version__

        print(f"flambeau {__version__}")
        return 0
    if command in ("--help", "-h", "help"):
        print(_USAGE, end="")
        return 0
    print(_USAGE, end="", file=sys.stderr)
    return _fail(f"unknown command '{command}'" if command else "a command is missing")


def _run(arguments: list[str]) -> int:
    if not arguments:
        return _fail("run: a script, -m module or -c code is missing")
    option = arguments[0]
    if option in ("-m", "-c"):
        if len(arguments) == 1:
            return _fail(f"run: argument expected for the {option} option")
        start = _start_module if option == "-m" else _start_code
        return _guarded(start, arguments[1], arguments[2:])
    if option.startswith("-"):
        return _fail(f"run: unknown option '{option}'")
    if not os.path.exists(option):
        path = os.path.join(os.getcwd(), option)
        return _fail(f"run: can't open file '{path}': [Errno 2] No such file or directory")
    return _guarded(_start_script, option, arguments[1:])


def _guarded(start, what: str, arguments: list[str]) -> int:
    from . import _alias

    _alias.install()
    ours = sys.modules.get("__main__")  # held while the program has its name
    try:
        start(what, arguments)
    except SystemExit:
        raise
    except BaseException as error:
        traceback = _without_our_frames(error.__traceback__)
        sys.excepthook(type(error), error.with_traceback(traceback), traceback)
        return 130 if isinstance(error, KeyboardInterrupt) else 1
    finally:
        del ours
    return 0


def _without_our_frames(traceback):
    """The traceback from the program's first frame on; none for a SyntaxError in the script."""
    hidden = {__file__, "<frozen runpy>"}
    while traceback is not None:
        name = traceback.tb_frame.f_code.co_filename
        if name not in hidden and os.path.basename(name) != "runpy.py":
            break
        traceback = traceback.tb_next
    return traceback


def _set_path(folder: str) -> None:
    # Under -P the first entry is not the interpreter's to give.
    if not sys.flags.safe_path:
        sys.path[0] = folder


def _new_main(**attributes) -> dict:
    module = types.ModuleType("__main__")
    module.__dict__.update(
        {"__builtins__": __builtins__, "__cached__": None, "__spec__": None, **attributes}
    )
    sys.modules["__main__"] = module
    return module.__dict__


def _start_script(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    if os.path.isdir(path) or not path.endswith((".py", ".pyw")) and _is_archive(path):
        import runpy

        _set_path(path)
        runpy.run_path(path, run_name="__main__")
        return
    with open(path, "rb") as file:
        source = file.read()
    _set_path(os.path.dirname(os.path.realpath(path)))
    code = compile(source, path, "exec", dont_inherit=True)
    exec(code, _new_main(__file__=path))


def _is_archive(path: str) -> bool:
    """A zip file or compiled module rather than source."""
    with open(path, "rb") as file:
        return file.read(4) == b"PK\x03\x04" or path.endswith(".pyc")


def _start_module(name: str, arguments: list[str]) -> None:
    import runpy

    sys.argv = [name, *arguments]
    _set_path(os.getcwd())
    try:
        runpy.run_module(name, run_name="__main__", alter_sys=True)
    except ImportError as error:
        if _without_our_frames(error.__traceback__) is not None:
            raise
        print(f"{sys.executable}: {error}", file=sys.stderr)
        raise SystemExit(1) from None


def _start_code(code: str, arguments: list[str]) -> None:
    sys.argv = ["-c", *arguments]
    _set_path("")
    exec(compile(code, "<string>", "exec", dont_inherit=True), _new_main())


if __name__ == "__main__":
    sys.exit(main())
