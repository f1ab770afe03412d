"""What the tests of fleet/ share: a temporary directory, and processes that end with the test."""

import ctypes
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class Started:
    """`with Started() as test`: what the test starts ends with it, also after Ctrl-C and TERM, and also daemons."""

    def __enter__(self):
        # Orphans of what the test starts become its children, so that none gets lost.
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, lambda number, _: sys.exit(128 + number))
        self.directory = tempfile.mkdtemp(prefix="tiermark-fleet-")
        return self

    def __exit__(self, kind, error, _):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if kind not in (None, SystemExit):
            for name in sorted(os.listdir(self.path("log")) if os.path.isdir(self.path("log")) else []):
                with open(self.path("log", name), errors="replace") as log:
                    print(f"--- {name}", "".join(log.readlines()[-5:]), sep="\n", end="", file=sys.stderr)
        for number, seconds in ((signal.SIGTERM, 3), (signal.SIGKILL, 3)):
            end = time.monotonic() + seconds
            for process in descendants(os.getpid()):
                send(process, number)
            while descendants(os.getpid()) and time.monotonic() < end:
                reap()
                time.sleep(0.02)
        shutil.rmtree(self.directory)

    def path(self, *parts):
        return os.path.join(self.directory, *parts)

    def write(self, name, text, executable=False):
        """Writes a file of the directory; its path."""
        os.makedirs(os.path.dirname(self.path(name)), exist_ok=True)
        with open(self.path(name), "w") as file:
            file.write(text)
        if executable:
            os.chmod(self.path(name), 0o755)
        return self.path(name)

    def start(self, name, words, **options):
        """Starts a process whose output goes to log/NAME."""
        os.makedirs(self.path("log"), exist_ok=True)
        with open(self.path("log", name), "a") as log:
            return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=log, stderr=log, **options)

    def program(self):
        """The tiermark to test: a copy of $TIERMARK or of the debug build, where every user may run it."""
        program = os.environ.get("TIERMARK", f"{ROOT}/target/debug/tiermark")
        if not os.access(program, os.X_OK):
            sys.exit(f"no program {program}: cargo build")
        os.chmod(self.directory, 0o755)
        return shutil.copy(program, self.path("tiermark"))


def in_venv(package):
    """Goes on in a virtual environment of its own that has a package of PyPI. Without the package the test ends:
    skipped, or failed where CI is set."""
    venv = f"{ROOT}/target/fleet-venv/{package}"
    if os.path.realpath(sys.prefix) == os.path.realpath(venv):
        return
    installed = f"{venv}/installed"
    if not os.path.exists(installed):
        install = [[sys.executable, "-m", "venv", "--clear", venv], [f"{venv}/bin/pip", "-q", "install", package]]
        if any(subprocess.run(words).returncode for words in install):
            if os.environ.get("CI"):
                sys.exit(f"FAILED: {package} could not be installed, and CI must not skip this")
            print(f"SKIPPED: {package} could not be installed")
            sys.exit(0)
        open(installed, "w").close()
    os.execv(f"{venv}/bin/python3", [f"{venv}/bin/python3", *sys.argv])


def parents():
    """The parent of each process."""
    found = {}
    for process in map(int, filter(str.isdigit, os.listdir("/proc"))):
        try:
            with open(f"/proc/{process}/stat", errors="replace") as file:
                found[process] = int(file.read().rpartition(")")[2].split()[1])
        except OSError:
            pass
    return found


def descendants(of):
    """The processes below one, zombies too."""
    all_parents = parents()
    found, new = [], {of}
    while new:
        new = {process for process, parent in all_parents.items() if parent in new}
        found += new
    return found


def send(process, number):
    try:
        os.kill(process, number)
    except ProcessLookupError:
        pass


def reap():
    """Takes note of children that ended."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def free_ports(count):
    """Ports of the loopback interface that nobody uses now."""
    sockets = [socket.socket() for _ in range(count)]
    for own in sockets:
        own.bind(("127.0.0.1", 0))
    ports = [own.getsockname()[1] for own in sockets]
    for own in sockets:
        own.close()
    return ports


def wait_for(what, seconds, look):
    """Waits until `look` returns something true; that."""
    end = time.monotonic() + seconds
    while not (found := look()):
        if time.monotonic() > end:
            raise TimeoutError(f"not within {seconds} s: {what}")
        time.sleep(0.1)
    return found
