"""How many single faults in the core modules do the tests near them catch?

    python tests/mutation [--only MODULE …] [--number 8] [--seed 0] [--jobs 1]

Each fault (a swapped comparison, a dropped call, another constant, …) is planted in a temporary copy of the
repository, and the near tests run on it until one fails: those of the test files that import the module's
names, first those that run the changed function. A process that dies or runs out of time counts as caught.
Faults that change no behavior are listed in equivalent.csv with the reason. Ends with status 1 where less
than 90 % of the others are caught.
"""

import argparse
import csv
import math
import os
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from itertools import zip_longest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from mutation import running  # noqa: E402
from mutation.faults import Fault, faults_in, sample  # noqa: E402
from mutation.nearest import nearest_tests  # noqa: E402

ROOT = Path(__file__).resolve().parents[2]
EQUIVALENT = Path(__file__).with_name("equivalent.csv")
CORE = ("layers", "text", "training", "generation", "models", "tasks")  # packages
SECONDS = 10  # of computing, for each fault: so much of the near tests


def core_modules(root: Path) -> list[str]:
    """Paths of the core modules below the root."""
    paths = (path for package in CORE for path in (root / "course_lib" / package).glob("*.py"))
    return sorted(path.relative_to(root).as_posix() for path in paths if path.name != "__init__.py")


def chosen_tests(fault: Fault, files: list[str], base: dict) -> list[str]:
    """The near tests for a fault: those that run its function first, near files first, up to SECONDS."""
    seconds, functions = base["seconds"], base["functions"]
    place = f"{fault.module}:{fault.function}"

    def rank(name: str) -> tuple[bool, bool, float]:
        return place not in functions[name], name.partition("::")[0] not in files, seconds[name]

    tests = {name for name in functions if "::" in name} - set(base["failed"])
    order = sorted((name for name in tests if False in rank(name)[:2]), key=rank)
    chosen, spent = [], 0.0
    for name in order:
        if spent + seconds[name] <= SECONDS:
            chosen.append(name)
            spent += seconds[name]
    in_turn = list(dict.fromkeys(name.partition("::")[0] for name in chosen))  # a file's tests stay together
    return sorted(chosen, key=lambda name: in_turn.index(name.partition("::")[0]))


def catch(
    faults: list[Fault], near: dict[str, list[str]], base: dict, copies: list[Path], ends: float
) -> dict[Fault, str]:
    """Which test caught each fault; "" for those that survive. Plants no more when the clock says `ends`."""
    waiting, free, busy, found = list(reversed(faults)), list(copies), {}, {}
    originals = {name: (copies[0] / name).read_text(encoding="utf-8") for name in near}
    while waiting or busy:
        if time.monotonic() > ends:
            waiting.clear()
        while waiting and free:
            fault, copy = waiting.pop(), free.pop()
            names = chosen_tests(fault, near[fault.module], base)
            limit = 10 + 4 * sum(base["seconds"][name] for name in names)
            plant(copy, fault.module, fault.source, len(waiting))
            busy[fault] = copy, running.Child(lambda names=names: [running.first_failure(names)], copy, limit)
        for fault, (copy, child) in list(busy.items()):
            if (result := child.result()) is not False:
                del busy[fault]
                plant(copy, fault.module, originals[fault.module], -1)
                free.append(copy)
                found[fault] = "died or ran out of time" if result is None else result[0] or ""
                show(fault, found[fault])
        time.sleep(0.02)
    return found


def plant(copy: Path, module: str, source: str, number: int) -> None:
    """Write a module so that no compiled file of an earlier one passes for it: each has its own time."""
    path = copy / module
    path.write_text(source, encoding="utf-8")
    os.utime(path, (2_000_000_000 + number,) * 2)


def show(fault: Fault, caught: str) -> None:
    what = f"{fault.module}:{fault.line} {fault.function}: {fault.operator}: {fault.key[3]}"
    print(f"caught by {caught.rpartition('/')[2]}: {what}" if caught else f"SURVIVED: {what}", flush=True)


def equivalents() -> set[tuple[str, ...]]:
    """The keys of the faults that change no behavior."""
    with EQUIVALENT.open(newline="", encoding="utf-8") as file:
        return {tuple(row[:4]) for row in csv.reader(file)}


def planted_faults(root: Path, modules: list[str], number: int, seed: int) -> list[Fault]:
    """The sample: so many faults of each module, all modules in turn. Names equivalents that match none."""
    samples, keys = [], set()
    for module in modules:
        everything = faults_in((root / module).read_text(encoding="utf-8"), module)
        samples.append(sample(everything, number, seed))
        keys |= {fault.key for fault in everything}
    names = {Path(module).stem for module in modules}
    for key in sorted(equivalents() - keys):
        if key[0] in names:
            print(f"equivalent.csv: no fault is {key}")
    return [fault for turn in zip_longest(*samples) for fault in turn if fault]


def report(found: dict[Fault, str], same: set[tuple[str, ...]]) -> float:
    """Print the table by module; returns the part of the faults with an effect that is caught."""
    table: defaultdict[str, Counter] = defaultdict(Counter)
    for fault, caught in found.items():
        kind = "caught" if caught else "equivalent" if fault.key in same else "survived"
        for row in (fault.key[0], "all"):
            table[row].update(["planted", kind])
    columns = ("planted", "caught", "equivalent", "survived")
    print("", f"{'module':20}" + "".join(f"{column:>12}" for column in columns), sep="\n")
    for row, counts in sorted(table.items(), key=lambda entry: (entry[0] == "all", entry[0])):
        print(f"{row:20}" + "".join(f"{counts[column]:12}" for column in columns))
    counts = table["all"]
    share = counts["caught"] / max(1, counts["planted"] - counts["equivalent"])
    print(f"caught: {share:.1%} of those with an effect")
    return share


def settings() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--only", nargs="+", metavar="MODULE", help="names of modules")
    parser.add_argument("--number", type=int, default=8, help="faults in each module (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=0, help="which ones (default: %(default)s)")
    parser.add_argument("--files", type=int, default=3, help="near test files of each (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=1, help="processes at once (default: %(default)s)")
    parser.add_argument("--minutes", type=float, default=math.inf, help="plant no more after so many")
    parser.add_argument("--root", type=Path, default=ROOT, help="another repository than this one")
    parser.add_argument("--list", action="store_true", help="show the faults and plant none")
    return parser.parse_args()


def main() -> int:
    os.environ.update(OMP_NUM_THREADS="1", TQDM_DISABLE="1")  # forked processes, each on one thread
    os.environ.pop("COURSE_DATA", None)  # near tests need no real data
    options = settings()
    root = options.root.resolve()
    modules = [m for m in core_modules(root) if not options.only or Path(m).stem in options.only]
    faults = planted_faults(root, modules, options.number, options.seed)
    if options.list:
        print(*(f"{fault.module}:{fault.line} {fault.key}" for fault in faults), sep="\n")
        return 0
    near = {module: nearest_tests(root, module, options.files) for module in modules}
    files = sorted(set().union(*near.values()))
    print(f"{len(faults)} faults in {len(modules)} modules, {len(files)} near test files", flush=True)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    with tempfile.TemporaryDirectory() as folder:
        copies = [running.copy_of(root, Path(folder).resolve() / str(i)) for i in range(options.jobs)]
        try:
            base = running.measured(copies[0], files)
            found = catch(faults, near, base, copies, time.monotonic() + 60 * options.minutes)
        finally:
            for child in running.Child.alive:
                child.kill()
    return 0 if report(found, equivalents()) >= 0.9 else 1


if __name__ == "__main__":
    raise SystemExit(main())
