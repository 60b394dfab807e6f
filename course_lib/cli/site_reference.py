"""The reference pages of the site: a page for each package, and docstrings as reStructuredText.

The docstrings are plain text that a person reads in the source; Sphinx wants markup.
"""

import re

TOP = "course_lib"
PACKAGES = (
    TOP, "layers", "models", "training", "generation", "tasks", "text", "datasets", "pretrained", "viz",
    "widgets", "exercises",
)  # fmt: skip
ARGUMENT = re.compile(r"((?:\*{0,2}[a-z]\w*)(?:, \*{0,2}[a-z]\w*)*): ")
STATEMENT = re.compile(r"(?:Raises|Returns|Yields|Sources?:) ")


def page(package: str) -> str:
    """The page of a package: its description and its public names, which autodoc finds."""
    if package == TOP:
        return f"{TOP}\n{'=' * len(TOP)}\n\n.. automodule:: {TOP}\n"
    return f"{package}\n{'=' * len(package)}\n\n.. automodule:: {TOP}.{package}\n   :members:\n"


def restructured(docstring: str) -> str:
    """A docstring in reStructuredText: arguments as a list, code and examples as they are."""

    def block(text: str) -> str:
        if text.startswith(">>>"):  # Sphinx knows examples
            return text
        return literal(text) if re.search(r"(?m)^\s", text) else prose(text)

    return "\n\n".join(map(block, re.split(r"\n\s*\n", docstring.strip("\n")))) + "\n"


def literal(block: str) -> str:
    """A block whose line breaks and indentation matter."""
    lines = block.split("\n")
    first = next(i for i, line in enumerate(lines) if line[:1].isspace())
    before = prose("\n".join(lines[:first])) if first else ""
    return f"{before}\n\n::\n\n" + "\n".join(f"    {line}" for line in lines[first:])


def prose(block: str) -> str:
    """A paragraph; lines that begin with an argument, or with what is raised or returned, stay apart."""
    items: list[str] = []
    for line in block.split("\n"):
        if items and not ARGUMENT.match(line) and not STATEMENT.match(line):
            items[-1] += " " + line
        else:
            items.append(line)
    return "\n\n".join(map(marked_up, items))


def marked_up(text: str) -> str:
    """A line of plain text, in which only backquotes have a meaning; with an argument, an item of a list."""
    argument = ARGUMENT.match(text)
    start, rest = (f"* ``{argument[1]}``: ", text[argument.end() :]) if argument else ("", text)
    return start + re.sub(r"`+([^`]+)`+|([\\*|`]|_(?=\W|$))", _literal_or_escaped, rest)


def _literal_or_escaped(found: re.Match) -> str:
    return f"``{found[1]}``" if found[1] else f"\\{found[2]}"
