"""`python -m course_lib.experiments NAME …` makes the runs of an experiment; without a name, lists them."""

import ast
import runpy
import sys
from pathlib import Path

PACKAGE = Path(__file__).parents[1]
FILES = sorted(
    [*PACKAGE.glob("experiments/*.py"), *PACKAGE.glob("chapters/*/*.py")], key=lambda path: path.stem
)
COMMANDS = {
    path.stem: path
    for path in FILES
    if path.stem != "__main__" and 'if __name__ == "__main__":' in path.read_text("utf-8")
}


def main(arguments: list[str]) -> None:
    """Run the command of the module that is named first. Exits with a list if there is none."""
    if not arguments or arguments[0] not in COMMANDS:
        about = {
            name: ast.get_docstring(ast.parse(path.read_text("utf-8"))) for name, path in COMMANDS.items()
        }
        lines = [f"  {name:20} {(text or '').splitlines()[0]}" for name, text in about.items()]
        unknown = f"no experiment {arguments[0]!r}; there are\n" if arguments else ""
        sys.exit(unknown + "\n".join(lines))
    sys.argv[1:] = arguments[1:]
    module = ".".join(COMMANDS[arguments[0]].relative_to(PACKAGE.parent).with_suffix("").parts)
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main(sys.argv[1:])
