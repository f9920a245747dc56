"""Kernels for the notebooks that nbval runs, forked from a process that has imported the libraries.

A new Python takes five seconds to import torch, a fork of one that has it almost nothing. The first
process of all (Python's fork server) imports libraries alone and starts no thread. Everything
of ours is imported by each kernel for itself.
"""

import multiprocessing
import os
import signal
from importlib.metadata import EntryPoint
from multiprocessing.context import ForkServerProcess
from typing import Any

from jupyter_client.connect import KernelConnectionInfo
from jupyter_client.provisioning import KernelProvisionerFactory, LocalProvisioner

NAME = "forked"
BACKEND = "module://matplotlib_inline.backend_inline"
"""What a kernel asks for in its environment, which matplotlib reads only when it is imported."""

CONTEXT = multiprocessing.get_context("forkserver")
PRELOADED = [
    "torch", "pandas", "scipy.stats", "sklearn.datasets", "ipykernel.kernelapp",
    "matplotlib.figure", "matplotlib.backends.backend_svg",
    "jaxtyping", "pydantic", "requests", "sacrebleu", "tokenizers", "safetensors.torch",
]  # fmt: skip
CONTEXT.set_forkserver_preload(PRELOADED)


def use_forked_kernels() -> None:
    """Let all kernels that this process starts be forked."""
    factory = KernelProvisionerFactory.instance(default_provisioner_name=NAME)
    place = f"{__name__}:{ForkedProvisioner.__name__}"
    factory.provisioners[NAME] = EntryPoint(NAME, place, factory.GROUP_NAME)


def run(arguments: list[str], environment: dict[str, str], folder: str) -> None:
    """Be a kernel, in a process that was just forked."""
    import matplotlib
    from ipykernel import kernelapp

    os.setsid()  # as a kernel that is started as a program: it can be killed with its children
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)  # as nbval starts it
    matplotlib.rcParams["backend"] = BACKEND
    kernelapp.launch_new_instance(argv=arguments)


class Forked:
    """A forked kernel with what jupyter_client asks of a program that it has started."""

    stdin = stdout = stderr = None

    def __init__(self, process: ForkServerProcess) -> None:
        self.process = process
        self.pid = process.pid

    def poll(self) -> int | None:
        """Return the exit code, or None while it runs."""
        return self.process.exitcode

    def wait(self) -> int | None:
        """Wait until it ends, and return the exit code."""
        self.process.join()
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        """Send it a signal."""
        os.kill(self.process.pid or 0, number)

    def terminate(self) -> None:
        """Ask it to end."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class ForkedProvisioner(LocalProvisioner):
    """It starts kernels by forking."""

    async def launch_kernel(self, cmd: list[str], **kwargs: Any) -> KernelConnectionInfo:
        """Fork a kernel; ``cmd`` is that of the program, Python's arguments first."""
        arguments = cmd[cmd.index("ipykernel_launcher") + 1 :]
        process = CONTEXT.Process(
            target=run, args=(arguments, dict(kwargs["env"]), kwargs["cwd"]), daemon=True
        )
        process.start()
        self.process = Forked(process)
        self.pid = self.pgid = process.pid
        return self.connection_info
