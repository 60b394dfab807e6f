"""`python -m course_lib <verb>`: the commands of the course.

Only the standard library is needed until the environment is ready.
"""

import sys

# What each verb needs: None = the standard library; else the library's requirements and these extras.
NEEDS = {
    "lab": ("dev",),
    "present": ("dev",),
    "test": ("dev",),
    "doctor": None,
    "update": None,
    "data": (),
    "train": (),
    "runs": (),
    "generate": (),
    "translate": (),
    "classify": (),
    "evaluate": (),
    "export": ("dev",),
    "bench": ("dev",),
    "refresh": ("dev",),
    "new-chapter": ("dev",),
    "colab": None,
    "colab-test": None,
    "release": ("dev",),
    "grade": ("dev",),
    "slides": ("dev",),
    "site": ("dev",),
}
EXPECTED = {  # by name: their modules need packages that may be missing
    "ValueError",
    "OSError",
    "SafetensorError",  # a full disk, where another package writes
    "SetUpError",
    "DataSetUnavailable",
    "Diverged",
}


def main(arguments):
    """Run one verb; returns the exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file must say so to an older Python
        return old_python()
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a character that an old console lacks is no reason to stop
            stream.reconfigure(errors="replace")
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if verb in ("-h", "--help"):
        print(overview())
        return 0
    if verb not in NEEDS:
        return complain(f"There is no command {verb!r}. The commands are {', '.join(NEEDS)}.")
    try:
        return perform(verb, rest)
    except KeyboardInterrupt:
        return complain("Interrupted. You can run the same command again.")
    except Exception as problem:
        said = None if sys.flags.dev_mode else explanation(problem)  # `python -X dev` shows every traceback
        if said is None:
            raise
        return complain(f"{verb}: {said}")


def perform(verb, rest):
    """Parse the arguments of a verb, provide what it needs, and run it; returns the exit code."""
    from course_lib.cli import environment
    from course_lib.cli.arguments import Parser

    if NEEDS[verb]:  # these use Jupyter or matplotlib, which complain about a home that cannot be written
        environment.leave_locked_home()
    module = load(verb)
    parser = Parser(prog=f"python -m course_lib {verb}", description=module.HELP, allow_abbrev=False)
    module.add_arguments(parser)
    known, unknown = parser.parse_known_args(rest)
    if unknown and not getattr(module, "PASSES_ON", False):
        parser.error(f"unknown arguments: {' '.join(unknown)}")
    known.rest = unknown
    if NEEDS[verb] is not None:
        chosen = getattr(known, "device", None)
        environment.ensure(NEEDS[verb], getattr(module, "ENOUGH", ()) if chosen else ())
    return module.run(known)


def explanation(problem):
    """The message of an exception that reports a user error; None for a bug, which needs its traceback."""
    import shutil

    from course_lib.utils.device import lacks_memory, what_to_lower

    if lacks_memory(problem):
        return what_to_lower(problem)
    if EXPECTED.isdisjoint(kind.__name__ for kind in type(problem).__mro__):
        return None
    if isinstance(problem, shutil.Error):  # one entry for each file that could not be copied
        return problem.args[0][0][-1]
    if isinstance(problem, OSError) and problem.strerror:
        return f"{problem.filename}: {problem.strerror}" if problem.filename else problem.strerror
    return str(problem)


def load(verb):
    """The verb's module; if it needs packages that this Python lacks, the environment is set up first."""
    import importlib

    from course_lib.cli import environment

    name = f"course_lib.cli.{verb.replace('-', '_')}"
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        if missing.name == name:
            raise environment.SetUpError(f"This version of the course has no command {verb!r}.") from None
        if NEEDS[verb] is None:
            raise
    environment.ensure(NEEDS[verb])
    return importlib.import_module(name)


def overview():
    """The verbs, one line each, read from the files without importing them: some need packages."""
    import ast
    from pathlib import Path

    lines = ["python -m course_lib <command> [--help]", ""]
    for verb in NEEDS:
        file = Path(__file__).parent / "cli" / f"{verb.replace('-', '_')}.py"
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.exists() else ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "HELP":
                lines.append(f"  {verb:<12}{ast.literal_eval(node.value)}")
    return "\n".join(lines)


def old_python():
    """Say which Python the course needs, and which installed one would do."""
    import shutil

    found = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    here = ".".join(str(number) for number in sys.version_info[:3])
    advice = "Use " + found[0] if found else "Install a newer one from https://www.python.org/downloads"
    return complain(f"The course needs Python 3.11 or newer; this is {here}. {advice}, for example:\n"
                    f"  {found[0] if found else 'python3.13'} -m course_lib lab")  # fmt: skip


def complain(text):
    """Print `text` to stderr; returns the exit code of a failure."""
    print(text, file=sys.stderr)
    return 1


def start():
    """The entry point: `main`; SIGTERM and SIGHUP, which by default skip every `finally`, end it cleanly."""
    import signal
    import warnings

    warnings.formatwarning = lambda message, *place, **more: f"warning: {message}\n"  # one line, without code

    def stop(number, frame):
        for name in signals:  # a second one must not interrupt the cleaning up
            signal.signal(name, signal.SIG_IGN)
        sys.exit(128 + number)

    signals = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    for name in signals:
        if signal.getsignal(name) == signal.SIG_DFL:  # under nohup, SIGHUP is already ignored
            signal.signal(name, stop)
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    start()
