"""`python -m course_lib <verb>`: the commands of the course.

Only the standard library is needed until the environment stands.
"""

import sys

# What each verb needs: None = the standard library; else the library's requirements and these extras.
NEEDS = {
    "lab": ("dev",),
    "present": ("dev",),
    "test": ("dev",),
    "doctor": None,
    "data": (),
    "train": (),
    "bench": ("dev",),
    "refresh": ("dev",),
    "colab": None,
    "twin": None,
    "student": ("dev",),
    "slides": ("dev",),
}


def main(arguments):
    """Run one verb; returns the exit code."""
    if sys.version_info < (3, 11):  # noqa: UP036 - this file must say so to an older Python
        return old_python()
    import argparse

    from course_lib.commands import environment

    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a sign that an old console lacks is no reason to stop
            stream.reconfigure(errors="replace")
    verb, rest = (arguments[0], arguments[1:]) if arguments else ("--help", [])
    if verb not in NEEDS:
        print(overview())
        return 0 if verb in ("-h", "--help") else complain(f"There is no command {verb!r}.")
    try:
        module = load(verb)
        parser = argparse.ArgumentParser(
            prog=f"python -m course_lib {verb}", description=module.HELP, allow_abbrev=False
        )
        module.add_arguments(parser)
        known, unknown = parser.parse_known_args(rest)
        if unknown and not getattr(module, "PASSES_ON", False):
            parser.error(f"unknown: {' '.join(unknown)}")
        known.rest = unknown
        if NEEDS[verb] is not None:
            environment.ensure(NEEDS[verb])
        return module.run(known)
    except environment.SetUpError as problem:
        return complain(str(problem))
    except KeyboardInterrupt:
        return complain("Interrupted. The same command can be repeated.")


def load(verb):
    """The verb's module. A module that needs packages this Python lacks sets up the environment first."""
    import importlib

    from course_lib.commands import environment

    name = f"course_lib.commands.{verb}"
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
        file = Path(__file__).parent / "commands" / f"{verb}.py"
        tree = ast.parse(file.read_text(encoding="utf-8")) if file.exists() else ast.Module([], [])
        for node in tree.body:
            if isinstance(node, ast.Assign) and getattr(node.targets[0], "id", "") == "HELP":
                lines.append(f"  {verb:<9}{ast.literal_eval(node.value)}")
    return "\n".join(lines)


def old_python():
    """Say which Python the course needs, and which of the installed ones would do."""
    import shutil

    found = [name for name in ("python3.13", "python3.12", "python3.11") if shutil.which(name)]
    here = ".".join(str(number) for number in sys.version_info[:3])
    advice = "Use " + found[0] if found else "Install a newer one from https://www.python.org/downloads"
    return complain(f"The course needs Python 3.11 or newer; this is {here}. {advice}, for example:\n"
                    f"  {found[0] if found else 'python3.13'} -m course_lib lab")  # fmt: skip


def complain(text):
    """Print `text` where errors go; returns the exit code of a failure."""
    print(text, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
