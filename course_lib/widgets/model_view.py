"""Model explorer: one sentence through a whole Transformer, down to the arithmetic of a single head."""

from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

import anywidget
import ipywidgets
import torch
import traitlets

from course_lib.experiments.real_gpt import PROMPTS, real_gpt
from course_lib.experiments.real_translator import SENTENCES, real_translator
from course_lib.generation.sampling import next_token_probabilities
from course_lib.models.gpt import GPT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.runs import Run
from course_lib.text.tokenizers import EOS, UNK, Vocabulary
from course_lib.text.unicode_text import check_text
from course_lib.viz import figures
from course_lib.viz.style import is_projected
from course_lib.widgets.model_picture import picture
from course_lib.widgets.model_tour import TOUR
from course_lib.widgets.model_trace import Trace, on_cpu, trace_gpt, trace_translation
from course_lib.widgets.modules import FOLDER, joined
from course_lib.widgets.token_words import HuggingFaceTokenizer, end_of
from course_lib.widgets.toy_lm import PREFIXES
from course_lib.widgets.trace_packing import pack, pack_block, shown_probabilities

EXAMPLES = {"translator": SENTENCES, "gpt": PROMPTS}
OWN_PROMPTS = ("The United States of", "She said that", *PREFIXES, "a", "A")  # for a GPT of your own
START = {"translator": 3, "gpt": 0}  # the step first shown
MODELS: dict[str, Callable[[], tuple[Seq2Seq | GPT, Vocabulary]]] = {
    "translator": real_translator,
    "gpt": real_gpt,
}
MOST = 2_000_000  # bytes in one message: Jupyter drops what a kernel sends beyond 3 MB in 3 seconds
TRACES: dict[str, Callable[..., Trace]] = {"translator": trace_translation, "gpt": trace_gpt}
STYLE = (FOLDER / "model_explorer.css").read_text(encoding="utf-8")
SUMMARY = (
    "a text field for a sentence, buttons for the steps, and boxes that open: a Transformer at work, from "
    "the tokens through each block and head to the probabilities of the next token."
)


@cache
def model(mode: str) -> tuple[Seq2Seq | GPT, Vocabulary]:
    """The stored model of a mode, and its tokenizer."""
    return MODELS[mode]()


def trace(mode: str, sentence: str, prefix: Sequence[int] = ()) -> Trace:
    """Trace of a stored model on a sentence. Raises ValueError for a sentence that it cannot show."""
    check_text(sentence)
    return TRACES[mode](*model(mode), sentence, prefix)


def chosen_model(model: Any, tokenizer: Any = None) -> tuple[str, GPT | Seq2Seq, Vocabulary]:
    """The mode, the model and the tokenizer of `model_explorer`.

    Raises ValueError for another kind of model, one without blocks, and for the tokenizer of another model.
    """
    if isinstance(model, Run):
        model, tokenizer = model.model, tokenizer or model.tokenizer
    if not isinstance(model, GPT | Seq2Seq):
        raise ValueError(f"model is a {type(model).__name__}; the explorer shows a GPT or a Seq2Seq")
    layers = [model.blocks] if isinstance(model, GPT) else [model.encoder, model.decoder]
    if not all(layers):
        raise ValueError("the model has no blocks: the explorer needs at least one in each stack")
    if tokenizer is None:
        raise ValueError("tokenizer=None: a model of your own needs its tokenizer")
    if hasattr(tokenizer, "backend_tokenizer"):
        tokenizer = HuggingFaceTokenizer(tokenizer)
    if len(tokenizer) != (vocab := model.config.vocab):
        raise ValueError(f"the tokenizer has {len(tokenizer):,} tokens, the model {vocab:,}: it is another's")
    return "gpt" if isinstance(model, GPT) else "translator", on_cpu(model), tokenizer


def examples_for(model: GPT | Seq2Seq, tokenizer: Vocabulary) -> list[str]:
    """Sentences to begin with: of the usual ones, at most three that the vocabulary has."""
    if isinstance(model, Seq2Seq):
        return SENTENCES[:3]
    unknown = UNK if end_of(model, tokenizer) == EOS else None
    read = ((prompt, tokenizer.encode(prompt)) for prompt in OWN_PROMPTS)
    room = model.config.max_tokens
    return [prompt for prompt, ids in read if unknown not in ids and 0 < len(ids) < room][:3]


class ModelView(anywidget.AnyWidget):
    """The widget on the page. It draws a trace and asks for others; the kernel computes them.

    mode: "translator" or "gpt". step: the step shown. trace, numbers: see `pack`.
    block, block_numbers: all about one block, where the trace of a large model comes without it.
    temperature, top_k, top_p: the sampling settings; top_k 0 and top_p 1 keep all tokens.
    distribution: the probabilities of the candidates at this step, computed by the library.
    error: why a sentence could not be shown. projected: larger, for the projector.
    tour: the steps of the guided tour. touring: whether the page opens with it.
    """

    _esm = joined("model_widget.js")
    _css = STYLE

    examples = traitlets.Dict(EXAMPLES).tag(sync=True)
    tour = traitlets.List(list(TOUR)).tag(sync=True)
    touring = traitlets.Bool(False).tag(sync=True)
    mode = traitlets.Unicode("translator").tag(sync=True)
    sentence = traitlets.Unicode("").tag(sync=True)
    step = traitlets.Int(0).tag(sync=True)
    temperature = traitlets.Float(1.0).tag(sync=True)
    top_k = traitlets.Int(0).tag(sync=True)
    top_p = traitlets.Float(1.0).tag(sync=True)
    trace = traitlets.Dict().tag(sync=True)
    numbers = traitlets.Bytes().tag(sync=True)
    block = traitlets.Dict().tag(sync=True)
    block_numbers = traitlets.Bytes().tag(sync=True)
    distribution = traitlets.Dict().tag(sync=True)
    error = traitlets.Dict().tag(sync=True)
    projected = traitlets.Bool(False).tag(sync=True)


class ModelExplorer:
    """Explorer of the stored translator and the stored GPT, or of one model of your own.

    view: the widget. shown: the trace on the page.
    """

    summary = SUMMARY

    def __init__(
        self,
        chosen: str | GPT | Seq2Seq | Run = "translator",
        tokenizer: Any = None,
        sentence: str | None = None,
        tour: bool = False,
    ):
        """Open a model, with an example unless a sentence is given, and with the tour if asked for.

        Raises ValueError for an unknown mode, for a model that cannot be shown, and for such a sentence.
        """
        self.own: tuple[Seq2Seq | GPT, Vocabulary] | None = None
        examples = EXAMPLES
        if not isinstance(chosen, str):
            mode, its, words = chosen_model(chosen, tokenizer)
            self.own = (its, words)
            examples = {mode: [*([] if sentence is None else [sentence]), *examples_for(*self.own)]}
        elif (mode := chosen) not in MODELS:
            raise ValueError(f"mode={mode!r} is none of {sorted(MODELS)}")
        self.view = ModelView(projected=is_projected(), touring=tour, examples=examples)
        self.shown: Trace
        self.answers = 0
        if not examples[mode]:
            raise ValueError("sentence=None, and this model cannot read the usual examples: give a sentence")
        self.show(mode, examples[mode][0] if sentence is None else sentence, step=START[mode])
        self.view.on_msg(self._asked)
        self.view.observe(self._sample, names=["step", "temperature", "top_k", "top_p"])
        self.box = ipywidgets.VBox([self.view], layout={"width": "100%"})

    def show(self, mode: str, sentence: str, prefix: Sequence[int] = (), step: int = 0) -> None:
        """Run the model on a sentence and show it.

        prefix: ids of the first tokens that are written. Raises ValueError for a sentence it cannot show.
        """
        check_text(sentence)
        self.shown = TRACES[mode](*self._model(mode), sentence, prefix)
        header, numbers = pack(self.shown, *self._model(mode), MOST)
        view, step = self.view, min(step, len(self.shown.chosen) - 1)
        self.answers += 1  # the page notices an answer even if it is the same as before
        with view.hold_sync():
            view.set_trait("numbers", numbers)
            view.mode, view.sentence, view.step = mode, sentence, step
            view.trace = {**header, "answer": self.answers}
            self._sample()

    def draw(self, step: int, rng: torch.Generator | None = None) -> None:
        """Sample the token of this step, and let the model continue from there."""
        view = self.view
        p = next_token_probabilities(
            self.shown.logits[step],
            view.temperature,
            view.top_k or None,
            view.top_p if view.top_p < 1 else None,
        )
        drawn = int(p.multinomial(1, generator=rng))
        self.show(view.mode, view.sentence, [*self.shown.chosen_ids[:step], drawn], step)

    def snapshot(self) -> bytes:
        """A PNG of the whole model on the sentence shown, with the steps of the tour where it is open."""
        _, tokenizer = self._model(self.view.mode)
        tour = TOUR if self.view.touring else ()
        return picture(self.shown, tokenizer, self.view.sentence, self.view.step, tour)

    def _model(self, mode: str) -> tuple[Seq2Seq | GPT, Vocabulary]:
        return self.own or model(mode)

    def _send_block(self, stack: str, index: int) -> None:
        """Send all about a block of the trace on the page."""
        header, numbers = pack_block(getattr(self.shown, stack)[index])
        with self.view.hold_sync():
            self.view.block_numbers = numbers
            self.view.block = {"block": header, "stack": stack, "index": index, "answer": self.answers}

    def _sample(self, change: Any = None) -> None:
        view = self.view
        settings = {"temperature": view.temperature, "topK": view.top_k, "topP": view.top_p}
        step = min(view.step, len(self.shown.chosen) - 1)
        found = shown_probabilities(self.shown.logits[step], *settings.values())
        view.distribution = {"step": step, **settings, **found}

    def _asked(self, view: Any, content: dict[str, Any], buffers: list[bytes]) -> None:
        """Answer a message: {open: {mode, sentence, prefix}}, {draw: step} or {block: [stack, index]}."""
        try:
            if "open" in content:
                wanted = content["open"]
                step = len(wanted["prefix"]) - 1 if wanted["prefix"] else START[wanted["mode"]]
                self.show(wanted["mode"], wanted["sentence"], wanted["prefix"], step)
            elif "draw" in content:
                self.draw(min(content["draw"], len(self.shown.chosen) - 1))
            elif "block" in content:
                self._send_block(*content["block"])
        except ValueError as error:
            self.answers += 1
            text = f"{error} The picture still shows the previous sentence."
            self.view.error = {"text": text, "answer": self.answers}

    def _ipython_display_(self) -> None:
        figures.show_widget(self.box, self.summary + self._tour_in_words(), self.snapshot())

    def _tour_in_words(self) -> str:
        """The steps of the tour, for screen readers, where the picture shows them."""
        if not self.view.touring:
            return ""
        return " ".join((" The tour:", *(f"{i}. {step['text']}" for i, step in enumerate(TOUR, start=1))))


def model_explorer(
    model: str | GPT | Seq2Seq | Run = "translator",
    tokenizer: Any = None,
    sentence: str | None = None,
    tour: bool = False,
) -> ModelExplorer:
    """One sentence through a whole Transformer: open a block, a head, and its arithmetic.

    model: "translator" (English to Spanish) or "gpt" (a small language model, trained
    on sentences of Wikipedia); or a `GPT` or `Seq2Seq` with
    its tokenizer, which may be one of `transformers`; or a run of yours (`load_run`), which has both.
    sentence: at most 40 tokens. tour: open with the guided tour, which a button starts otherwise.
    Raises ValueError for a model that cannot be shown, for a tokenizer that is not the model's, and for a
    sentence with unknown tokens or too many.

    GPT-2 small, which is downloaded:

        from transformers import AutoTokenizer
        model_explorer(load_gpt2("gpt2"), AutoTokenizer.from_pretrained("gpt2"), "The capital of France is")
    """
    return ModelExplorer(model, tokenizer, sentence, tour)
