"""A text: a language model, against n-gram counts, in bits per character."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from torch import nn

from course_lib.chapters.ch11_your_own_model.project import MOST_ANSWERS, TokenizedProject, heads, part_of
from course_lib.datasets import load_labelled, load_text
from course_lib.datasets.text_files import PathLike
from course_lib.datasets.texts import TextData
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import (
    LanguageModelLoss,
    TextBatches,
    bits_per_character,
    mean_loss,
    save_language_model,
)
from course_lib.text import UNK, KneserNey

CONTEXT, LAYERS = 64, 2
HELD_OUT = 20_000  # most characters of the validation and of the test text
MORE = 400_000  # most characters of a related text


class TextProject(TokenizedProject):
    """A text from a file, a folder or a set of the course; the first `limit` characters of each part."""

    kind, unit, higher, batch = "text", "bits per character", False, 16
    usual, choices = "bytes, 1000", ("characters", "bytes, 400", "bytes, 1000", "bytes, 2000")

    def __init__(self, data: TextData, limit: int = 120_000):
        test = data.test or data.validation  # a set may have no test text
        self.whole, self.limit = data, limit
        held_out = {"validation": data.validation[:HELD_OUT], "test": test[-HELD_OUT:]}
        self.data = replace(data, train=data.train[:limit], **held_out)

    @classmethod
    def load(cls, path: PathLike, **more: Any) -> "TextProject":
        return cls(load_text(path), **more)

    def examples(self, part: str) -> list[str]:
        return [line for line in getattr(self.data, part).splitlines() if line.strip()]

    def answers(self, part: str) -> list[int]:
        return self.ids[part][:MOST_ANSWERS]

    def look(self) -> Iterator[str]:
        text, whole = self.data.train, self.whole.train
        yield f"{len(text):,} of {len(whole):,} characters of training text, {len(set(text))} different ones"
        yield f"{len(self.data.validation):,} for validation, {len(self.data.test):,} for testing"
        lines = self.examples("train")
        yield f"{len(lines) - len(set(lines)):,} of {len(lines):,} lines of the training text are repeated"
        yield f"it begins: {text[:60]!r}"

    def texts(self) -> list[str]:
        return [self.data.train]

    def about(self, option: str) -> str:
        """Length in tokens, rare entries, unknown tokens, and bits per character of counting."""
        tokenizer, whole = self.tokenizer_of(option), self.data.validation
        train, held_out = (tokenizer.encode(part) for part in (self.data.train, whole))
        loss = KneserNey(train, 3, len(tokenizer)).loss(held_out)
        bits = bits_per_character(loss, len(held_out), len(whole))
        unknown = f"{held_out.count(UNK)} unknown"
        return f"{self.entries(train, option)}; {unknown}; trigrams {bits:.2f} bits per character"

    def choose(self, option: str | None = None) -> None:
        super().choose(option)
        self.ids = {
            part: self.tokenizer.encode(getattr(self.data, part)) for part in ("train", "validation", "test")
        }
        self.unique, self.per_example = len(self.ids["train"]), float(CONTEXT)

    def bits(self, loss: float) -> float:
        return bits_per_character(loss, len(self.ids["test"]), len(self.data.test))

    def baselines(self) -> dict[str, float]:
        """Unigrams, and the n-grams with the lowest validation loss, all by Kneser–Ney."""
        found = {}
        for n in (1, 2, 3, 4):
            model = KneserNey(self.ids["train"], n, len(self.tokenizer))
            found[n] = model.loss(self.ids["validation"]), model.loss(self.ids["test"])
        best = min(found, key=lambda n: found[n][0])
        return {"unigrams": self.bits(found[1][1]), f"{best}-grams, Kneser–Ney": self.bits(found[best][1])}

    def new_model(self, d_model: int) -> GPT:
        sizes = {"d_model": d_model, "heads": heads(d_model), "layers": LAYERS, "max_tokens": CONTEXT}
        return GPT(GPTConfig(vocab=len(self.tokenizer), positions="rotary", **sizes))

    def objective(self, model: nn.Module) -> LanguageModelLoss:
        return LanguageModelLoss(model)  # type: ignore[arg-type]

    def batches(self, seed: int) -> TextBatches:
        ids = self.ids["train"]
        return TextBatches(ids, CONTEXT, min(self.batch, max(1, len(ids) // CONTEXT - 1)), seed)

    def tokens_per_step(self, batches: Any) -> float:
        return float(batches.batch_sampler.batch * CONTEXT)

    def validation_loss(self, model: nn.Module) -> float:
        return mean_loss(model, self.ids["validation"])

    def score(self, model: nn.Module) -> float:
        return self.bits(mean_loss(model, self.ids["test"], stride=CONTEXT // 2))

    def errors(self, model: nn.Module, most: int = 6) -> Iterator[str]:
        """Tokens that the model finds least likely, each with what it expected."""
        ids = torch.tensor(self.ids["validation"][: 20 * CONTEXT + 1])
        windows = ids.unfold(0, min(len(ids), CONTEXT + 1), CONTEXT)
        with torch.inference_mode():
            logits = model(windows[:, :-1])
        losses = F.cross_entropy(logits.mT, windows[:, 1:], reduction="none")
        for place in losses.flatten().topk(min(most, losses.numel())).indices.tolist():
            row, column = divmod(place, losses.shape[1])
            before = self.tokenizer.decode(windows[row, max(0, column - 9) : column + 1].tolist())
            p, guess = logits[row, column].softmax(-1).max(-1)
            there, expected = (self.readable(int(i)) for i in (windows[row, column + 1], guess))
            yield f"{before!r:.50} → {there!r}, where {expected!r} was expected ({p:.0%})"

    def readable(self, i: int) -> str:
        """The text of a token; of a part of a character such as é, its bytes."""
        text = self.tokenizer.decode([i]) or self.tokenizer[i]
        return f"byte token {self.tokenizer[i]}" if "\ufffd" in text else text

    def unfrozen(self, model: nn.Module) -> list[nn.Module]:
        """The embedding matrix: the other text may lack many of these tokens."""
        return [model.embedding]  # type: ignore[list-item]

    def prompts(self) -> list[str]:
        """Beginnings of validation lines, to chat with."""
        lines = [line for line in self.data.validation.splitlines() if len(line.split()) > 1]
        prefixes = (" ".join(line.split()[:2]) for line in lines)
        known = (text for text in prefixes if UNK not in self.tokenizer.encode(text))
        return list(dict.fromkeys(known))[:5] or [self.data.train[:10]]

    def save(self, folder: Path, model: nn.Module) -> None:
        save_language_model(folder, model, self.tokenizer)  # type: ignore[arg-type]

    def with_train(self, name: str, train: str) -> "TextProject":
        """The same held-out texts and tokenizer with another training text."""
        other = TextProject(replace(self.data, name=name, train=train), len(train))
        return other.with_tokenizer_of(self)

    def fewer(self, part: int) -> "TextProject":
        return self.with_train(f"1/{part} of {self.data.name}", part_of(self.data.train, part))

    def related(self, path: PathLike | None = None) -> "TextProject":
        """Your other text; by default what lies beyond `limit` in this one, or a text of the course."""
        if path is not None:
            return self.with_train(Path(path).name, load_text(path).train[:MORE])
        rest = self.whole.train[self.limit : self.limit + MORE]
        if len(rest) >= len(self.data.train):
            return self.with_train(f"the rest of {self.data.name}", rest)
        if self.data.name == "grammar":
            return self.with_train("reviews", "\n".join(load_labelled("reviews").train.sentences)[:MORE])
        return self.with_train("grammar", load_text("grammar").train[:MORE])
