"""Processes that run one function, and the errors of those that fail."""

from __future__ import annotations

import multiprocessing
import multiprocessing.connection
import os
import pickle
import signal
import sys
import threading
import time
import warnings

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]

_GRACE = 30.0  # seconds from SIGTERM to SIGKILL


class ProcessException(Exception):
    """A process has failed.

    Attributes:
        error_index: which one.
        error_pid: its process id.
    """

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """Its function raised an exception; the message has the traceback."""


class ProcessExitedException(ProcessException):
    """It ended by a signal, or with an exit code.

    Attributes:
        exit_code: the code; minus the signal's number where there was one.
        signal_name: the signal's name, or None.
    """

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        arguments = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), arguments


def _end_with_parent():
    """Interrupts this process when the one that started it is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        multiprocessing.connection.wait([parent.sentinel])
        # what a shell starts in its background ignores interrupts
        ignored = signal.getsignal(signal.SIGINT) is signal.SIG_IGN
        os.kill(os.getpid(), signal.SIGTERM if ignored else signal.SIGINT)


def _run(fn, index, args, errors):
    """What a process does: the traceback of an exception goes back through a pipe."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    try:
        fn(index, *args)
    except KeyboardInterrupt:
        pass  # the parent gets it, too
    except Exception:
        import traceback

        errors.send(traceback.format_exc())
        sys.exit(1)
    finally:
        errors.close()


class ProcessContext:
    """Processes that `start_processes` started.

    Attributes:
        processes: the `multiprocessing` processes.
        sentinels: those that have not been joined: sentinel to index.
    """

    def __init__(self, processes, error_files):
        self.error_files = error_files
        self.processes = processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}

    def pids(self):
        """The process ids."""
        return [int(process.pid) for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until one fails or, at most `timeout` seconds, until all have ended.

        Args:
            timeout: seconds; None waits as long as it takes.
            grace_period: seconds that the others get to end by themselves when one has failed.

        Returns:
            True when all have ended, False if there are more to wait for.

        Raises:
            ProcessRaisedException: a function raised an exception.
            ProcessExitedException: a process ended with a code other than 0, or by a signal.
        """
        if not self.sentinels:
            return True
        ended = multiprocessing.connection.wait(list(self.sentinels), timeout)
        failed = None
        for sentinel in ended:
            index = self.sentinels.pop(sentinel)  # type: ignore[call-overload]
            self.processes[index].join()
            if self.processes[index].exitcode != 0:
                failed = index
                break
        if failed is None:
            return not self.sentinels
        self._end_others(grace_period)
        raise self._error(failed)

    def _wait(self, seconds):
        deadline = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0.0, deadline - time.monotonic()))

    def _end_others(self, grace_period):
        if grace_period is not None:
            self._wait(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait(_GRACE if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _error(self, index):
        process = self.processes[index]
        errors = self.error_files[index]
        try:
            text = errors.recv() if errors.poll() else None
        except (EOFError, OSError, pickle.UnpicklingError):
            text = None
        if text is not None:
            message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
            return ProcessRaisedException(message, index, process.pid)
        code = process.exitcode
        if code >= 0:
            message = f"process {index} terminated with exit code {code}"
            return ProcessExitedException(message, index, process.pid, code)
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        message = f"process {index} terminated with signal {name}"
        return ProcessExitedException(message, index, process.pid, code, name)


class SpawnContext(ProcessContext):
    """The old name of `ProcessContext`."""

    def __init__(self, processes, error_files):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_files)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs `fn(i, *args)` in processes 0 to `nprocs` - 1.

    Args:
        fn: a function at the top level of a module, unless processes are forked.
        args: its other arguments.
        nprocs: how many processes.
        join: wait for them; otherwise the result is a `ProcessContext`.
        daemon: the processes end with this one.
        start_method: "spawn", "fork" or "forkserver".

    Raises:
        ProcessRaisedException: with the traceback of the process that failed first; the others are
            ended.
        ProcessExitedException: a process ended otherwise.

    >>> start_processes(print, nprocs=0)
    """
    mp = multiprocessing.get_context(start_method)
    processes, pipes = [], []
    for index in range(nprocs):
        receive, send = mp.Pipe(duplex=False)
        process = mp.Process(  # type: ignore[attr-defined]
            target=_run, args=(fn, index, args, send), daemon=daemon
        )
        process.start()
        send.close()
        processes.append(process)
        pipes.append(receive)
    context = ProcessContext(processes, pipes)
    if not join:
        return context
    while not context.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """`start_processes` by "spawn": each process is a new interpreter that imports the program.

    >>> spawn(print, nprocs=0)
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\nTo use a "
            "different start_method use:\n\t\t torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
