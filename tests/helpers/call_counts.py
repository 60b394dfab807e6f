"""How many of the library's own functions a call goes through, and how deep."""

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def counted(call: Callable[[], object]) -> tuple[set[str], int, int]:
    """The functions of `course_lib` that a call runs, the number of their calls, and the largest depth."""
    functions: set[str] = set()
    calls = deepest = depth = 0

    def watch(frame: FrameType, event: str, _: Any) -> None:
        nonlocal calls, deepest, depth
        if "course_lib" not in frame.f_code.co_filename or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            depth, calls = depth + 1, calls + 1
            deepest = max(deepest, depth)
            functions.add(f"{frame.f_code.co_filename}:{frame.f_code.co_qualname}")
        elif event == "return":
            depth -= 1

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return functions, calls, deepest


def gpt() -> Callable[[], object]:
    import torch

    from course_lib.models import GPT, GPTConfig

    model = GPT(GPTConfig(vocab=65))
    return lambda: model(torch.tensor([[1, 2, 3]]))


def translation() -> Callable[[], object]:
    from course_lib.experiments.stored_translator import stored_translator
    from course_lib.tasks.translation import translate

    model, tokenizer = stored_translator()
    return lambda: translate(model, tokenizer, ["I am reading a book."])


if __name__ == "__main__":
    call = {"gpt": gpt, "translation": translation}[sys.argv[1]]()
    call()  # what is imported or made on first use does not count
    functions, calls, depth = counted(call)
    print(len(functions), calls, depth)
    print("\n".join(sorted(functions)), file=sys.stderr)
