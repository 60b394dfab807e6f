"""Which of the library's own functions a call goes through, how many, and how deep."""

import json
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def followed(call: Callable[[], object]) -> list[tuple[str, ...]]:
    """Each call of a function of `course_lib`, in order: the functions that it is inside of, and itself."""
    found: list[tuple[str, ...]] = []
    inside: list[str] = []

    def watch(frame: FrameType, event: str, _: Any) -> None:
        file = frame.f_code.co_filename.rpartition("course_lib/")[2]
        if file == frame.f_code.co_filename or frame.f_code.co_name == "<module>":
            return
        if event == "call":
            inside.append(f"{file}:{frame.f_code.co_qualname}")
            found.append(tuple(inside))
        elif event == "return" and inside:
            inside.pop()

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return found


def gpt() -> Callable[[], object]:
    import torch

    from course_lib.models import GPT, GPTConfig

    model = GPT(GPTConfig(vocab=65))
    return lambda: model(torch.tensor([[1, 2, 3]]))


def translation() -> Callable[[], object]:
    from course_lib.chapters.ch06_translation.stored_translator import stored_translator
    from course_lib.tasks.translation import translate

    model, tokenizer = stored_translator()
    return lambda: translate(model, tokenizer, ["I am reading a book."])


def training() -> Callable[[], object]:
    from course_lib.models import GPT, GPTConfig
    from course_lib.tasks import LanguageModelLoss, TextBatches
    from course_lib.training import TrainConfig, train

    model, config = GPT(GPTConfig(vocab=10, d_model=16, layers=1)), TrainConfig(steps=2, warmup=1)
    batches = TextBatches([5, 6, 7, 8, 9] * 20, tokens=8, batch=4)
    return lambda: train(LanguageModelLoss(model), batches, config, device="cpu", progress=False)


if __name__ == "__main__":
    call = {"gpt": gpt, "translate": translation, "train": training}[sys.argv[1]]()
    call()  # what is imported or made on first use does not count
    print(json.dumps(followed(call)))
