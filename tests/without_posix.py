"""The command line as a system sees it that lacks what POSIX alone has.

    python tests/without_posix.py train --steps 4

Our modules and their libraries are imported first: a library has its own branch for such a system.
What Python itself calls by these names, to begin processes, has to stay.
"""

import os
import signal
import sys
from typing import NoReturn

from annotated_transformer.cli import main

MODULES = ("fcntl", "grp", "pty", "pwd", "resource", "termios", "tty")
OF_THE_SYSTEM = (
    *("fork", "getpgid", "getuid", "geteuid", "killpg", "mkfifo", "nice", "pread", "setsid"),
    *("sched_getaffinity", "sched_setaffinity", "statvfs", "sysconf", "uname", "chown"),
)
SIGNALS = ("SIGALRM", "SIGCHLD", "SIGHUP", "SIGKILL", "SIGPIPE", "SIGQUIT", "SIGUSR1", "alarm")


def refused(*_: object, **__: object) -> NoReturn:
    """Do what Windows does where nobody has turned on the developer's mode."""
    raise OSError(1314, "A required privilege is not held by the client")


if __name__ == "__main__":
    sys.modules |= dict.fromkeys(MODULES)  # type: ignore[arg-type]
    for module, names in ((os, OF_THE_SYSTEM), (signal, SIGNALS)):
        for name in names:
            delattr(module, name)
    os.link = os.symlink = refused
    main()
