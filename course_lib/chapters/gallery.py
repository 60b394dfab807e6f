"""Every widget of the course on one page, by chapter, each with notes for the teacher.

The table `EXHIBITS` lists them all; a test compares it with what is exported. `REVISITED` lists
the chapters that show the widget of another one.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from types import ModuleType

from course_lib import widgets
from course_lib.chapters import ch06_translation as ch06
from course_lib.experiments.real_translator import SENTENCES, real_translator
from course_lib.utils.chapters import chapter_settings
from course_lib.widgets.explorer import Explorer

CHAPTERS = chapter_settings("button")  # labels


@dataclass(frozen=True)
class Exhibit:
    """A widget and how to teach with it: a question for the class, what to move, and what to expect."""

    chapter: str
    widget: str
    title: str
    ask: str
    move: str
    seen: str

    def make(self) -> Explorer:
        """Build the widget; if it needs a model, it gets a small stored one."""
        return maker(self.widget)()


@cache
def homes() -> dict[str, ModuleType]:
    """The package that exports each widget, by the widget's name."""
    folders = sorted(path.name for path in Path(__file__).parent.glob("ch*"))
    packages = [widgets, *(import_module(f"course_lib.chapters.{name}") for name in folders)]
    exported = ((name, package) for package in packages for name in getattr(package, "__all__", ()))
    return {name: package for name, package in exported if name.endswith("_explorer")}


def maker(name: str) -> Callable[[], Explorer]:
    """The function that builds a widget; if the widget needs a model, with a small stored one."""
    return MODELS.get(name) or getattr(homes()[name], name)


MODELS: dict[str, Callable[[], Explorer]] = {
    "translation_explorer": lambda: ch06.translation_explorer(*real_translator(), SENTENCES),
}

BROWSER_DRAWN = frozenset({"model_explorer"})  # a component of the page, not an `Explorer` with controls

EXHIBITS = (
    Exhibit("00", "model_explorer", "Inside a whole Transformer",
        "Where does each Spanish word come from?",
        "the steps; then Decoder block 2, its cross-attention, a head; then Next token and the temperature",
        "each step attends to the word it translates; heat gives only uncertain steps more candidates"),
    Exhibit("00", "lookup_explorer", "A dictionary that answers every query",
        "Between two keys, which value should be returned?",
        "the query, all the way around; then the sharpness, to both ends; then the checkbox",
        "at low sharpness, the mean of all values; at high, a staircase; with the checkbox, no gradient"),
    Exhibit("01", "softmax_explorer", "Softmax, temperature, √d",
        "The vectors get longer. What do the weights do?",
        "scaling off and d to its maximum; then scaling on, and d again",
        "unscaled, one key takes all the weight and the gradient vanishes; scaled, d changes little"),
    Exhibit("02", "bmm_explorer", "Batched matrix product",
        "Which row and which column produce this number?",
        "click on an entry of the product, then on others; then each size, and the menu of products",
        "only b must match, and it disappears from the result; n is a batch dimension"),
    Exhibit("02", "scoring_explorer", "Two ways to score",
        "Can a score grow without bound?",
        "the scale of W_q and W_k; then click in a plane to move the query",
        "the additive score saturates; the dot product grows with the length of the key"),
    Exhibit("02", "mask_explorer", "Masks",
        "What should a query do if every key is masked?",
        "padding, and the valid length to 0; then each way to mask; click on a cell to mask it",
        "−∞ gives zeros, −1e6 uniform weights; zeros after the softmax leave rows that no longer sum to 1"),
    Exhibit("03", "heads_explorer", "Several heads",
        "Four retrieval tasks: how many heads do they take?",
        "the heads, from 1 up; click on a word; then type a sentence with a different longest word",
        "one head settles for a mixture; with several, each learns one task and follows the new word"),
    Exhibit("04", "positions_explorer", "Sinusoidal and rotary positions",
        "Which positions are similar?",
        "the position; then the base down; then d_model down to 4",
        "both peaks move without changing shape; a small base repeats them far away; 4 features widen them"),
    Exhibit("05", "block_explorer", "A walk through a block",
        "Where does the shape change?",
        "the step; then the norm; then the number of heads",
        "only inside the sublayers; post-norm also normalizes the residual stream; heads split d_model"),
    Exhibit("05b", "norm_explorer", "Post-norm and pre-norm",
        "Why does one of them need warm-up?",
        "the norm to pre-norm and back; then the warm-up; then fewer blocks and a lower learning rate",
        "post-norm has its largest gradient in the last decoder block and collapses; warm-up rescues it"),
    Exhibit("06", "schedule_explorer", "Learning rates",
        "Where is the peak learning rate, and what determines it?",
        "the warm-up with Noam; then the same with linear or cosine",
        "a longer warm-up lowers Noam's peak; the others keep theirs and reach 0 at the end"),
    Exhibit("06", "translation_explorer", "A translator at work",
        "What does it attend to when it writes the next word?",
        "the step from 1 to the end, or click on a target token; then head and beam; then type a sentence",
        "most steps attend to the word they translate, in Spanish order; the last two examples fail"),
    Exhibit("06", "bleu_explorer", "BLEU by hand",
        "Which translation is better, and which one scores higher?",
        "the examples; then the longest n-gram; then change one word in the middle",
        "one changed word breaks several n-grams; a short candidate gets a brevity penalty"),
    Exhibit("06d", "subword_explorer", "Byte-pair encoding",
        "How many tokens does a text have, and what can no token be?",
        "the merges, from 0 up; then a made-up word; then another alphabet",
        "accented letters take two bytes; frequent words become single tokens; nothing is ever unknown"),
    Exhibit("07", "sampler_explorer", "Sampling",
        "Which settings prevent nonsense but keep variety?",
        "temperature to 0 and to 3; then top-k, top-p, min-p; step and seed; a sentence of the class",
        "at 0 always the same text; at 3 almost anything; top-p keeps many tokens only at low confidence"),
    Exhibit("07b", "text_attention_explorer", "What each token attends to",
        "What does each head look at, and is it the same in another sentence?",
        "layer 4, head 2; layer 3, head 2; the second example; then a sentence of the class",
        "4.2 looks at the year, yet without it the prediction hardly changes; 3.2 looks at nouns"),
    Exhibit("07b", "logit_lens_explorer", "What each block would predict",
        "From which block on does it know the next word, and which of the words before does it need?",
        "the second and the third example; then a sentence of the class, and a word of it changed",
        "critics from block 1 on, surer with depth; a king is reviewed, too; without the start, a comma"),
    Exhibit("07c", "scaling_explorer", "A scaling law",
        "Twice the parameters or twice the text: which lowers the loss more?",
        "the parameters to the left end, then the tokens to the right; then the other way around",
        "where one is scarce, more of the other gains next to nothing; it is best to raise both"),
    Exhibit("08", "patch_explorer", "An image as a sequence",
        "Patches half as wide: how many tokens, and how many pairs?",
        "patch size from 8 to 4 and to 1; stride to half the size; then a reshape without permute",
        "four times the tokens, about sixteen times the pairs; after the bare reshape, tokens mix regions"),
    Exhibit("08", "confusion_explorer", "The confusion matrix",
        "Nearly all are correct. What if every image moves by one pixel?",
        "click on cells off the diagonal, and on an image; then one pixel to the right, then with noise",
        "after one pixel, about half are correct: it saw no shifted digit; 0 becomes 6, 5 becomes 9"),
    Exhibit("08b", "class_attention_explorer", "What the class token attends to",
        "Which patches distinguish this digit from the one predicted?",
        "image 1 (the least confident) and up; click on a patch; then layers, heads, mean and rollout",
        "layer 1 attends to few patches, often empty ones; heads differ; the rollout is more uniform"),
    Exhibit("09", "classification_explorer", "Three kinds of pooling",
        "Which words decide?",
        "the pooling; then the sentence; then type another word",
        "the mean weights all words equally, the maximum picks a few, "
        "the class token gives each word its own weight"),
    Exhibit("10", "pixel_attention_explorer", "Attention between pixels",
        "Which other pixel helps to denoise this one?",
        "click on a pixel, then on others; then the head; then the image",
        "mostly, the weight is on the mirror pixel, however far away; hardly any is on the pixel itself"),
    Exhibit("10", "diffusion_explorer", "Adding and removing noise",
        "After how many steps can nobody recognize the digit?",
        "the noise steps, from 0 to the end; then the digit",
        "with little noise the estimate is sharp; with a lot it blurs into the mean of all digits"),
    Exhibit("11", "chat_explorer", "Chat with a model",
        "How sure is the model of each word that it writes?",
        "show, to probabilities and to prompt format; then the temperature to 0 and to 2; then write another",
        "the ends of words and names are certain, content words are not; at 0, every answer is the same"),
    Exhibit("A1", "anatomy_explorer", "Fixing a lecture's system",
        "Can a system be right on every training sentence and still not translate?",
        "the checkboxes one by one; then the evaluation",
        "training BLEU rises far above held-out BLEU: 500 sentences are memorized"),
)  # fmt: skip

REVISITED = (
    Exhibit("03b", "bmm_explorer", "What a product costs",
        "How many multiplications does one entry take, and how many entries are there?",
        "the menu of products to Q·Kᵀ; click on an entry; then twice the tokens",
        "one entry takes d multiplications, and there are n² of them: twice the tokens, four times the cost"),
    Exhibit("04b", "positions_explorer", "Distances that look alike",
        "At which distances does the curve come back to 1?",
        "d_model down to 4; then the base; then the position",
        "a pair comes back after each full turn, 6.28 for the fastest: distances that it cannot tell apart"),
    Exhibit("06b", "translation_explorer", "Beam search at work",
        "When does a wider beam change the translation?",
        "the step, to one where two tokens are close; then the beam width from 1 up",
        "a wider beam changes what comes after close calls, and nothing where one token is certain"),
    Exhibit("06c", "bleu_explorer", "Clipping and the brevity penalty",
        "Which words are struck through, and why?",
        "the menu to the repeated word, then to the one that is too short",
        "a word counts at most as often as in the reference; too short: precisions of 1, and a penalty"),
    Exhibit("07d", "sampler_explorer", "A pretrained model continues",
        "Does it answer a question, or continue a text?",
        "type a request, then step and seed; in the notebook, the chapter's own model: a list, a request",
        "it continues with what follows in texts of its kind; an answer comes only where texts have answers"),
    Exhibit("08c", "confusion_explorer", "One pixel to the right",
        "No training image was moved. Where would the model have learned the answer?",
        "the images as they are; then one pixel to the right; click on cells off the diagonal",
        "after one pixel, about half are correct: nothing in training said that a moved digit is the same"),
)  # fmt: skip


def exhibits(wanted: str | None = None) -> tuple[Exhibit, ...]:
    """Exhibits of a chapter ("3", "03", "A1") or with a name ("softmax"); by default, all.

    Raises ValueError for anything else; the message lists the chapters and names.
    """
    if wanted is None:
        return EXHIBITS
    key = wanted.strip().lower().removesuffix("_explorer")
    chapter = key and key.zfill(3 if key[-1].isalpha() else 2)
    found = tuple(e for e in EXHIBITS if e.chapter.lower() == chapter or e.widget == f"{key}_explorer")
    found = found or tuple(e for e in REVISITED if e.chapter == chapter)
    if not found:
        chapters = ", ".join(sorted({exhibit.chapter for exhibit in EXHIBITS + REVISITED}))
        names = ", ".join(exhibit.widget.removesuffix("_explorer") for exhibit in EXHIBITS)
        raise ValueError(f"{wanted!r} is neither a chapter with widgets ({chapters}) nor a widget ({names})")
    return found
