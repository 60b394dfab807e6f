"""Exercises written in Markdown, which a teacher can edit, extend or translate: solution, inputs, mistakes.

A file is a chapter. What is indented by four spaces is code:

    # Scores                      a section; the code below it is for its exercises, and for later sections
    ## 01.scores                  an exercise: its solution, then "Inputs:" and the arguments of each call
    ### your code does not scale  a known mistake: why it is one, then wrong answers, with `# or` between

The solution is a function, or a value if the exercise asks for one. A wrong answer is the body of that
function, or a value; `answer = …` takes a function made elsewhere, and `answers = […]` several of them.
Lines such as `minutes: 5` below the name of an exercise set these fields (FIELDS, and `now`, a sentence).
PyTorch, `math`, the makers of inputs and what `run` can forbid are at hand.
"""

import ast
import math
import re
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from course_lib.exercises.exercise import Answer, Exercise, Mistake, normal, numbered, value, whole
from course_lib.exercises.watching import no_tensor_of, without

Names = dict[str, Any]

FIELDS = "tolerance|run|minutes|difficulty"
MAKERS = (normal, numbered, whole, no_tensor_of, without)
AT_HAND: Names = {"torch": torch, "Tensor": Tensor, "nn": nn, "F": nn.functional, "math": math}
AT_HAND |= {maker.__name__: maker for maker in MAKERS}


@dataclass
class Part:
    """A heading, and what is below it. code: its blocks, and the number of the first line of each."""

    file: Path
    line: int
    level: int
    title: str
    prose: list[str] = field(default_factory=list)
    code: list[tuple[int, str]] = field(default_factory=list)
    mistakes: list["Part"] = field(default_factory=list)

    def error(self, text: str, line: int = 0) -> ValueError:
        return ValueError(f"{self.file.name}, line {line or self.line}: {text}")

    def compiled(self, line: int, code: str, mode: str = "exec") -> Any:
        """The code, whose errors show the lines of the file."""
        try:
            return compile("\n" * (line - 1) + code, self.file, mode, dont_inherit=True)
        except SyntaxError as error:
            raise self.error(f"{error.msg}: {(error.text or code).strip()}", error.lineno or line) from None


def read_exercises(file: Path) -> tuple[Exercise, ...]:
    """The exercises of a chapter. Raises ValueError, naming the line, for what is none."""
    exercises, shared = [], dict(AT_HAND)
    for part in parts(file):
        if part.level == 1:
            shared = dict(shared)
            for line, code in part.code:
                exec(part.compiled(line, code), shared)
        else:
            exercises.append(exercise(part, shared))
    return tuple(exercises)


def parts(file: Path) -> Iterator[Part]:
    """The sections and exercises of a file, in order; an exercise holds its mistakes."""
    found: list[Part] = []
    part = Part(file, 1, 1, "")
    in_code = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), start=1):
        if heading := re.match(r"(#{1,3}) (.+)", line):
            part = Part(file, number, len(heading[1]), heading[2].strip())
            if part.level < 3:
                found.append(part)
            elif found and found[-1].level == 2:
                found[-1].mistakes.append(part)
            else:
                raise part.error("a mistake (###) needs an exercise (##) above it")
        elif line.startswith("    ") or not line.strip() and in_code:
            if not in_code:
                part.code.append((number, ""))
            first, code = part.code[-1]
            part.code[-1] = first, f"{code}{line[4:]}\n"
        elif line.strip():
            part.prose.append(line.strip())
        in_code = line.startswith("    ") or not line.strip() and in_code
    yield from found


def exercise(part: Part, shared: Names) -> Exercise:
    """The exercise of a part. Its solution becomes one of the shared names."""
    settings = dict(re.findall(rf"(?m)^({FIELDS}): (.+)$", "\n".join(part.prose)))
    now = next((line.removeprefix("now: ") for line in part.prose if line.startswith("now: ")), "")
    inputs_follow = "Inputs:" in part.prose
    if len(part.code) != 1 + inputs_follow:
        raise part.error(f"{part.title} needs its solution and, for a function, Inputs: with the arguments")
    line, code = part.code[0]
    reference, signature = solution(part, line, code, shared)
    if inputs_follow != (signature is not None):
        raise part.error(f"{part.title}: a function has Inputs:, and a value has none", line)
    inputs: tuple[tuple[Any, ...], ...] = ((),)
    if inputs_follow:
        first, arguments = part.code[1]
        inputs = eval(part.compiled(first, f"({arguments})", "eval"), shared)
    mistakes = tuple(mistake(one, shared, signature) for one in part.mistakes)
    fields = {name: eval(text, shared) for name, text in settings.items()}
    return Exercise(part.title, reference, inputs, mistakes, now=now, **fields)


def solution(part: Part, line: int, code: str, shared: Names) -> tuple[Answer, str | None]:
    """The solution as a function, and its parameters as text; None if it is a value."""
    tree = part.compiled(line, code) and ast.parse(code)
    if not isinstance(tree.body[-1], ast.FunctionDef):
        return value(eval(part.compiled(line, f"({code})", "eval"), shared)), None
    exec(part.compiled(line, code), shared)
    return shared[tree.body[-1].name], ast.unparse(tree.body[-1].args)


def mistake(part: Part, shared: Names, signature: str | None) -> Mistake:
    """The mistake of a part."""
    wrong: list[Answer] = []
    for first, block in part.code:
        line = first
        for code in re.split(r"(?m)^# or\n", block):
            wrong += answers(part, line, code.rstrip() + "\n", shared, signature)
            line += code.count("\n") + 1
    if not wrong or not part.prose:
        raise part.error(f"the mistake {part.title!r} needs a reason and a wrong answer")
    return Mistake(part.title, " ".join(part.prose), tuple(wrong))


def answers(part: Part, line: int, code: str, shared: Names, signature: str | None) -> list[Answer]:
    """The wrong answers of one piece of code."""
    names = dict(shared)
    if given := re.search(r"(?m)^(answers?) = ", code):
        exec(part.compiled(line, code), names)
        found = [names["answer"]] if given[1] == "answer" else list(names["answers"])
        return found if signature is not None else [value(one) for one in found]
    if signature is None:
        return [value(eval(part.compiled(line, f"({code})", "eval"), names))]
    body = textwrap.indent(code, "    ", lambda _: True)
    exec(part.compiled(max(line - 1, 1), f"def answer({signature}):\n{body}"), names)
    return [names["answer"]]
