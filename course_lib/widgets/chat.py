"""Chat: a model's answer to a message, token by token, with a stop button and each token's probability."""

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import ipywidgets
import torch
from matplotlib.figure import Figure

from course_lib.experiments.real_gpt import PROMPTS
from course_lib.generation.decoding import stream
from course_lib.models.gpt import GPT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.language_modeling import in_evaluation, stream_text, with_texts
from course_lib.tasks.prefix_lm import prompt as instruction_prompt
from course_lib.text.preparation import encode_clean
from course_lib.text.tokenizers import BOS, EOS, UNK, Vocabulary
from course_lib.text.unicode_text import check_text
from course_lib.viz.style import PALETTE
from course_lib.widgets.explorer import Explorer, choice, numbered_bars, slider
from course_lib.widgets.markup import Markup, join, line, shaded, span
from course_lib.widgets.reading import Controls, encode, model_of, pieces_of, prompt_controls, unknown
from course_lib.widgets.token_map import Names
from course_lib.widgets.toy_lm import PREFIXES

BARS = 24  # tokens in the picture, the newest ones
VIEWS = ("answer", "probabilities", "prompt format")
TEXTS = {"wikipedia": PROMPTS, "stories": PREFIXES}
AT_ONCE = 1.0  # seconds of writing before the widget appears; the rest is streamed
BETWEEN = 0.1  # seconds between two drawings
PAUSE = 0.005  # seconds after each token in which the kernel reads what the page has sent, such as Stop
Pieces = Iterator[tuple[str, float]]
Answering = Callable[[str, float, int], tuple[list[str], Pieces]]


@dataclass
class Reply:
    """What the model reads, in pieces, and what it has written: text and probability of each token."""

    read: list[str] = field(default_factory=list)
    written: list[tuple[str, float]] = field(default_factory=list)
    error: str = ""
    ended: str = ""  # how; "" while it is being written

    @property
    def text(self) -> str:
        return "".join(text for text, _ in self.written)


def chat_explorer(
    model: GPT | Seq2Seq | str | None = None,
    tokens: Vocabulary | None = None,
    prompts: Sequence[str] = (),
    *,
    instruction: bool = False,
    length: int = 60,
) -> "ChatExplorer":
    """Chat with a model: it streams its answer to a message; a button stops it, or lets it write another one.

    Without a model, the stored GPT with a real vocabulary. prompts: messages to choose from; the first is
    answered at once. length: most new tokens. instruction: whether the model answers requests,
    `BOS request EOS`, as after instruction tuning; otherwise a language model continues the message, and a
    `Seq2Seq` translates it.
    Raises ValueError for a model without its tokenizer or without a prompt.

    >>> from course_lib.widgets import chat_explorer
    >>> chat = chat_explorer()
    >>> chat.reply.ended, len(chat.reply.written) > 0
    ('all 60 tokens', True)
    """
    model, tokens, prompts = model_of(model, tokens, prompts, TEXTS)
    return ChatExplorer(answering(model, tokens, instruction, length), prompts, length)


def answering(model: GPT | Seq2Seq, tokens: Vocabulary, instruction: bool, length: int) -> Answering:
    """The function that answers a message, given temperature and seed: what is read, and the tokens."""

    def answer(message: str, temperature: float, seed: int) -> tuple[list[str], Pieces]:
        settings = {"temperature": temperature, "top_p": 0.95 if temperature else None}
        if isinstance(model, Seq2Seq):
            source = [*cleaned(tokens, message, model.config.max_tokens - 1), EOS]
            read = pieces_of(tokens, [*source, BOS])
            return read, translating(model, tokens, source, length, seed, **settings)
        if instruction:
            ids = instruction_prompt(cleaned(tokens, message, model.config.max_tokens - 3))
            end = EOS
        else:
            ids, end = encode(tokens, message, most=10**9), None
        return pieces_of(tokens, ids), stream_text(model, tokens, ids, length, seed, end, **settings)

    return answer


def cleaned(tokens: Vocabulary, message: str, most: int) -> list[int]:
    """Ids of a cleaned message. Raises ValueError as `encode` does."""
    (ids,) = encode_clean(tokens, [message])
    if UNK in ids:
        raise ValueError(unknown(tokens, message, ids.count(UNK)))
    if not 0 < len(ids) <= most:
        raise ValueError(f"The message has {len(ids)} tokens, and must have from 1 to {most}.")
    return ids


def translating(
    model: Seq2Seq, tokens: Vocabulary, source: list[int], length: int, seed: int, **settings: Any
) -> Pieces:
    """Stream a translation."""
    device = model.embedding.weight.device
    most = min(length, model.config.max_tokens - 1)

    def pieces() -> Pieces:
        generator = model.generator(torch.tensor([source], device=device), most)
        start = torch.tensor([[BOS]], device=device)
        rng = torch.Generator(device).manual_seed(seed)
        yield from with_texts(tokens, [BOS], stream(generator, start, EOS, most, rng=rng, **settings))

    return in_evaluation(model, pieces())


def chat_controls(prompts: Sequence[str]) -> Controls:
    """The message, temperature, seed and view, and the button that stops, or writes another answer."""
    temperature = {"value": 0.8, "min": 0.0, "max": 2.0, "step": 0.1, "readout_format": ".1f"}
    return {
        **prompt_controls(prompts),
        "temperature": slider(ipywidgets.FloatSlider, "temperature", **temperature),
        "seed": slider(ipywidgets.IntSlider, "seed", value=0, min=0, max=99),
        "view": choice("show", VIEWS),
        "write": ipywidgets.ToggleButton(description=AGAIN, tooltip="Write another answer, or stop writing"),
    }


AGAIN, STOP = "write another", "stop"


class ChatExplorer(Explorer):
    """The widget: it writes in the kernel's own event loop, one token at a time, so that Stop can be read.

    reply: what has been written. Without an event loop, as in a script, each answer is complete at once.
    """

    def __init__(self, answer: Answering, prompts: Sequence[str], length: int):
        self.answer, self.length = answer, length
        self.reply = Reply()
        self.pieces: Pieces = iter(())
        self.task: asyncio.Task[None] | None = None
        self.pressing = False
        summary = (
            "a menu of messages and a field to type one, sliders for the temperature and the seed, and a "
            "button that stops the model, with its answer and the probability of each token."
        )
        super().__init__(
            chat_controls(prompts), lambda figure: chat_picture(figure, self), summary, (7.0, 2.8)
        )

    def redraw(self, change: Any = None) -> None:
        """Draw what has been written; begin a new answer if the message, temperature or seed has changed."""
        owner = None if change is None else change["owner"]
        if self.pressing or (change is not None and owner is self.controls["example"]):
            return  # the field that it fills has had it answered
        if owner is self.controls["write"]:
            self.press()
        elif change is None or owner is not self.controls["view"]:
            self.begin(first=change is None)
        else:
            self.shown = None
            super().redraw()

    def press(self) -> None:
        """Stop the answer that is being written; if there is none, write another one."""
        if not self.reply.ended and not self.reply.error:
            self.stop("stopped")
        else:
            seed = self.controls["seed"]
            seed.value = (seed.value + 1) % (seed.max + 1)  # which begins an answer

    def begin(self, first: bool = False) -> None:
        """Answer the message: at once where nothing else can run, otherwise while the kernel is free."""
        self.stop("")
        values = self._values()
        try:
            check_text(values["prompt"])
        except ValueError:
            return super().redraw()  # which says so, and leaves the picture
        self.reply = Reply()
        try:
            self.reply.read, self.pieces = self.answer(
                values["prompt"], values["temperature"], values["seed"]
            )
        except ValueError as error:
            self.reply.error = str(error)
            return super().redraw()
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a script, a test
            loop, first = None, False
            while self.step():
                pass
        end = time.monotonic() + AT_ONCE
        while loop and first and time.monotonic() < end and self.step():
            pass
        if not self.reply.ended and loop:
            self.button(STOP, pressed=True)
            self.task = loop.create_task(self.writing())
        super().redraw()

    def step(self) -> bool:
        """Write one more token; whether there was one."""
        try:
            self.reply.written.append(next(self.pieces))
        except StopIteration:
            many = len(self.reply.written)
            self.reply.ended = f"all {many} tokens" if many >= self.length else f"ended after {many} tokens"
        except Exception as error:  # in a task, nobody else would see it
            self.reply.error = f"{type(error).__name__}: {error}"
            return False
        return not self.reply.ended

    async def writing(self) -> None:
        """Write token by token, with a pause after each for the messages of the page."""
        drawn = 0.0
        while self.step():
            if time.monotonic() - drawn > BETWEEN:
                super().redraw()
                drawn = time.monotonic()
            await asyncio.sleep(PAUSE)
        self.button(AGAIN, pressed=False)
        super().redraw()

    def stop(self, ended: str) -> None:
        """End the answer that is being written, if there is one."""
        if self.task and not self.task.done():
            self.task.cancel()
        self.task = None
        getattr(self.pieces, "close", lambda: None)()
        self.button(AGAIN, pressed=False)
        if ended:
            self.reply.ended = f"{ended} after {len(self.reply.written)} tokens"
            super().redraw()

    def button(self, label: str, pressed: bool) -> None:
        """Set the button, which is not a press."""
        self.pressing = True
        self.controls["write"].description, self.controls["write"].value = label, pressed
        self.pressing = False


def chat_picture(figure: Figure, chat: ChatExplorer) -> Callable[..., str | tuple[str, Markup]]:
    """A bar for each of the newest tokens: the probability that the model gave it."""
    axes = figure.add_axes((0.08, 0.4, 0.9, 0.55))
    axes.set(ylim=(0, 1.12), yticks=(0, 0.5, 1), xticks=(), ylabel="probability")
    bars = axes.bar(range(BARS), [0.0] * BARS, color=PALETTE[9])
    axes.set_xlim(-0.5, BARS - 0.5)
    move, names = numbered_bars(bars), Names(axes, below=True)

    def update(view: str, prompt: str, **rest: Any) -> str | tuple[str, Markup]:
        reply = chat.reply
        seen = [(text or "…", p) for text, p in reply.written]
        if view == "prompt format":  # what is read has no probability
            seen = [*((piece, float("nan")) for piece in reply.read), *seen][:BARS]
        seen = seen[-BARS:]
        empty = BARS - len(seen)
        names.set([*(text for text, _ in seen), *[""] * empty])
        heights = [*(p for _, p in seen), *[float("nan")] * empty]
        move(heights)
        if view != "probabilities":  # bars alone
            for text in numbers:
                text.set_text("")
        if reply.error:
            return reply.error
        return status(reply), words(view, prompt, reply)

    numbers = [text for text in axes.texts if text not in names.texts]
    return update


def status(reply: Reply) -> str:
    """Status line: how far the answer is, and how sure the model was."""
    if not reply.written:
        return "The model writes nothing: " + (reply.ended or "wait for its first token") + "."
    low, (text, p) = min(enumerate(reply.written), key=lambda one: one[1][1])
    how = reply.ended or f"writing, {len(reply.written)} tokens so far"
    return f"{how[0].upper()}{how[1:]}. Least likely: token {low + 1}, {text!r}, with probability {p:.2f}."


def words(view: str, prompt: str, reply: Reply) -> Markup:
    """The message and the answer, as text, with probabilities, or with all that the model reads."""
    as_it_is = "white-space: pre-wrap"
    if view == "prompt format":
        framed = [span(piece, f"{as_it_is}; outline: 1px dotted; margin: 0 1px") for piece in reply.read]
        return join([line("The model reads:", *framed), line("and writes:", span(reply.text, as_it_is))])
    answer = [span(reply.text, as_it_is)]
    if view == "probabilities":
        answer = [shaded(text or "…", p) for text, p in reply.written]
    return join([line("You:", span(prompt, as_it_is)), line("Model:", *answer)])
