"""`python -m flambeau run` and `info`, each in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

import flambeau

pytestmark = pytest.mark.quick
PACKAGES = os.path.dirname(os.path.dirname(os.path.abspath(flambeau.__file__)))


def cli(*arguments, cwd=None, **environment):
    path = os.pathsep.join(filter(None, [PACKAGES, os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, "-m", "flambeau", *map(str, arguments)],
        capture_output=True,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **environment},
        timeout=60,
    )


def run_script(tmp_path, source, *arguments, **environment):
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(source))
    return cli("run", script, *arguments, cwd=tmp_path, **environment)


def check(done, output):
    assert (done.returncode, done.stderr, done.stdout.split("\n")[:-1]) == (0, "", output)


def test_torch_is_flambeau(tmp_path):
    source = """
        import sys
        import torch
        import torch.autograd.grad_mode as mode
        from torch.serialization import save
        import flambeau, flambeau.serialization
        print(torch is flambeau, sys.modules["torch"] is flambeau)
        print(mode is flambeau.autograd.grad_mode, save is flambeau.serialization.save)
        print(mode.__spec__.name, torch.autograd.__spec__.name, torch.__name__)
        print((torch.ones(2) + 1).tolist())
        try:
            import torch.nothing
        except ModuleNotFoundError as error:
            print(error, error.name)
    """
    check(run_script(tmp_path, source), [
        "True True", "True True", "flambeau.autograd.grad_mode flambeau.autograd torch",
        "[2.0, 2.0]", "No module named 'torch.nothing' torch.nothing",
    ])  # fmt: skip


def test_modules_do_not_hide_functions_of_their_name(tmp_path):
    source = """
        import torch
        import torch.nn.parallel.replicate
        from torch.nn.utils.weight_norm import WeightNorm
        from torch.nn.utils.spectral_norm import SpectralNorm
        for f in (torch.nn.utils.weight_norm, torch.nn.utils.spectral_norm,
                  torch.nn.parallel.replicate):
            print(type(f).__name__)
    """
    check(run_script(tmp_path, source), ["function"] * 3)


def test_what_packages_ask(tmp_path):
    source = """
        import importlib.metadata as metadata, importlib.util as util
        print(util.find_spec("torch").submodule_search_locations is not None)
        print(util.find_spec("torch.nothing"), util.find_spec("torch.autograd").name)
        print(metadata.version("torch"), metadata.distribution("torch").metadata["Name"])
        print(metadata.packages_distributions()["torch"][0])
        import torch
        print(torch.__version__, torch.__version__ >= "2.9", torch.__version__ >= (2, 13))
        print(torch.__version__ < "2.13.0.dev1", torch.__version__.split("."))
        print(util.find_spec("torch") is not None)
    """
    check(run_script(tmp_path, source), [
        "True", "None torch.autograd", "2.13.0 torch", "torch", "2.13.0 True True",
        "False ['2', '13', '0']", "True",
    ])  # fmt: skip


def test_an_installed_torch_is_not_touched(tmp_path):
    site = tmp_path / "site"
    (site / "torch" / "nn").mkdir(parents=True)
    (site / "torch" / "__init__.py").write_text("raise SystemExit('the other torch')")
    (site / "torch" / "nn" / "only_there.py").write_text("")
    (site / "torch-9.9.dist-info").mkdir()
    (site / "torch-9.9.dist-info" / "METADATA").write_text(
        "Metadata-Version: 2.1\nName: torch\nVersion: 9.9\n"
    )
    source = """
        import torch, flambeau
        from importlib import metadata, util
        print(torch is flambeau, metadata.version("torch"), util.find_spec("torch.only_there"))
    """
    path = os.pathsep.join([str(site), PACKAGES])
    done = run_script(tmp_path, source, PYTHONPATH=path)
    assert done.stdout == "True 2.13.0 None\n", done.stderr


def test_the_process_looks_as_under_python(tmp_path):
    (tmp_path / "beside.py").write_text("value = 5\n")
    source = """
        import sys, os, pickle, beside, __main__
        class Thing: pass
        print(sys.argv[1:], os.path.basename(sys.argv[0]), sys.path[0] == os.getcwd())
        print(__name__, os.path.basename(__file__), __spec__, __main__.Thing is Thing)
        print(type(pickle.loads(pickle.dumps(Thing()))) is Thing, beside.value)
    """
    check(run_script(tmp_path, source, "a", "-m", "--flag"), [
        "['a', '-m', '--flag'] script.py True", "__main__ script.py None True", "True 5",
    ])  # fmt: skip


def test_traceback_and_exit_codes(tmp_path):
    done = run_script(tmp_path, "def f():\n    1 / 0\nf()\n")
    lines = done.stderr.splitlines()
    assert done.returncode == 1 and lines[0] == "Traceback (most recent call last):"
    assert lines[1].endswith('script.py", line 3, in <module>')
    assert lines[-1] == "ZeroDivisionError: division by zero"
    assert "runpy" not in done.stderr and "__main__.py" not in done.stderr
    done = run_script(tmp_path, "x = (\n")
    assert done.returncode == 1 and done.stderr.lstrip().startswith("File")
    assert run_script(tmp_path, "import sys; sys.exit(7)").returncode == 7
    done = run_script(tmp_path, "raise SystemExit('enough')")
    assert (done.returncode, done.stderr) == (1, "enough\n")
    assert run_script(tmp_path, "raise KeyboardInterrupt").returncode == 130


def test_excepthook_and_atexit_of_the_script(tmp_path):
    source = """
        import sys, atexit
        atexit.register(lambda: print("bye", sys.modules["__main__"].__file__ == __file__))
        sys.excepthook = lambda kind, error, traceback: print("hook", error, traceback.tb_lineno)
        raise ValueError("x")
    """
    done = run_script(tmp_path, source)
    assert (done.returncode, done.stdout) == (1, "hook x 5\nbye True\n")


def test_module_code_and_folder(tmp_path):
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "__init__.py").write_text("")
    main = "import sys, torch; print(__package__, __name__, sys.argv[1:], torch.ones(1).item())\n"
    (tmp_path / "package" / "__main__.py").write_text(main)
    check(cli("run", "-m", "package", "x", cwd=tmp_path), ["package __main__ ['x'] 1.0"])
    done = cli("run", "package", "x", cwd=tmp_path)
    check(done, [" __main__ ['x'] 1.0"])
    code = "import torch, sys; print(torch.zeros(1).item(), sys.argv)"
    check(cli("run", "-c", code, "x"), ["0.0 ['-c', 'x']"])


def test_misuse(tmp_path):
    done = cli("run", "missing.py", cwd=tmp_path)
    assert done.returncode == 2
    assert "can't open file" in done.stderr and "No such file or directory" in done.stderr
    done = cli("run", "-m", "no_such_module")
    assert done.returncode == 1 and done.stderr.endswith("No module named no_such_module\n")
    for arguments in ([], ["fly"], ["run"], ["run", "-m"], ["run", "--fast"], ["info", "x"]):
        done = cli(*arguments)
        assert done.returncode == 2 and "flambeau: " in done.stderr, arguments


def test_info_version_help():
    done = cli("info")
    assert done.returncode == 0
    for text in ("flambeau:", "follows PyTorch:   2.13.0", "threads:", "libraries"):
        assert text in done.stdout
    assert cli("--version").stdout == f"flambeau {flambeau._version.__version__}\n"
    assert cli("--help").stdout.startswith("usage: flambeau run")
