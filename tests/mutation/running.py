"""Tests of a copy of the repository, in their own processes: forked, so that imports are paid for once."""

import importlib
import importlib.util
import json
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import ClassVar

import pytest

from mutation.plugins import Baseline, Chosen

LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "node_modules", "mutation")
PATIENCE = 100  # seconds on the clock for each second of computing, on a machine that others use too


def copy_of(root: Path, folder: Path) -> Path:
    """A copy of the repository without what is hidden; faults are planted there."""
    return Path(shutil.copytree(root, folder, ignore=LEFT_OUT))


class Child:
    """A forked process that calls `work` in a copy and sends back what it returns; see `result`.

    seconds: of computing, after which the system ends it.
    """

    alive: ClassVar[set["Child"]] = set()

    def __init__(self, work: Callable[[], object], copy: Path, seconds: float):
        self.answer, self.log = copy / ".answer.json", copy / ".log"
        self.answer.unlink(missing_ok=True)
        self.ends = time.monotonic() + PATIENCE * seconds
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._work(work, copy, int(seconds))
        self.alive.add(self)

    def _work(self, work: Callable[[], object], copy: Path, seconds: int) -> None:
        try:
            os.setsid()
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
            for stream in (1, 2):
                os.dup2(os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
            os.chdir(copy)
            os.environ["PYTHONPATH"] = str(copy)
            sys.path.insert(0, str(copy))
            self.answer.write_text(json.dumps(work()))
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(0)

    def result(self) -> object | None:
        """What `work` has returned; False while it runs, None where it has died or its time is up."""
        late = time.monotonic() > self.ends
        if late:
            self.kill()
        if not os.waitpid(self.pid, 0 if late else os.WNOHANG)[0]:
            return False
        self.alive.discard(self)
        return json.loads(self.answer.read_text()) if self.answer.exists() else None

    def kill(self) -> None:
        """End the process and all that it has started."""
        with suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)

    def wait(self) -> object | None:
        while (result := self.result()) is False:
            time.sleep(0.02)
        return result


def tests(files: list[str], plugin: object, *options: str) -> int:
    """Run test files of the copy this process is in; returns pytest's exit code."""
    return int(pytest.main(["-q", "-p", "no:cacheprovider", "-p", "no:xdist", *options, *files], [plugin]))


def baseline(copy: Path, files: list[str]) -> dict[str, object]:
    """Run all near tests without a fault; what `Baseline` has seen, and what was imported for it."""
    plugin = Baseline(copy / "course_lib")
    tests(files, plugin)
    modules = [name for name, module in sys.modules.items() if _foreign(module, copy)]
    return {
        "seconds": plugin.seconds,
        "functions": {name: sorted(found) for name, found in plugin.functions.items()},
        "failed": sorted(plugin.failed),
        "modules": modules,
    }


def measured(copy: Path, files: list[str]) -> dict[str, object]:
    """`baseline` in its own process; what it has imported is imported here too, once for all faults."""
    child = Child(lambda: baseline(copy, files), copy, 3600)
    if (base := child.wait()) is None:
        raise SystemExit(f"the tests cannot be run:\n{child.log.read_text()[-3000:]}")
    tests = sum("::" in name for name in base["seconds"])
    print(f"{tests} near tests; slow, failing or skipped, and not used: {len(base['failed'])}", flush=True)
    warm_up(copy, base["modules"])
    return base


def first_failure(names: list[str]) -> str | None:
    """Run tests until one fails; its name. A process that dies in it counts as a failure too."""
    plugin = Chosen(names)
    code = tests(sorted({name.partition("::")[0] for name in names}), plugin, "-x")
    return plugin.failed or (None if code == 0 else f"pytest ended with {code}")


def warm_up(copy: Path, modules: list[str]) -> None:
    """Import what the tests will import, the repository's own files left out."""
    for path in (copy / "course_lib").rglob("torchvision_ops.py"):  # else torchvision refuses some torches
        spec = importlib.util.spec_from_file_location("_torchvision_ops", path)
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        sys.modules[spec.name] = module
        module.import_torchvision()
    for name in modules:
        try:
            importlib.import_module(name)
        except Exception:  # anyone who needs it will say so
            continue


def _foreign(module: object, copy: Path) -> bool:
    path = getattr(module, "__file__", None) or ""
    return "site-packages" in path and not path.startswith(str(copy))
