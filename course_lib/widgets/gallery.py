"""Every widget of the course on one page, by chapter, with a line for the teacher beside each.

The table `EXHIBITS` is all there is to say about them; a test compares it with `course_lib.widgets.__all__`.
"""

from collections.abc import Callable
from dataclasses import dataclass

from course_lib import widgets
from course_lib.widgets.explorer import Explorer
from course_lib.widgets.stored_translator import EXAMPLES, stored_translator

CHAPTERS = {  # the words on the buttons
    "00": "why attention",
    "01": "softmax",
    "02": "masks",
    "03": "heads",
    "04": "positions",
    "05": "blocks",
    "05a": "anatomy",
    "06": "translation",
    "06a": "the d2l system",
    "07": "language models",
    "08": "images",
    "09": "classification",
    "10": "pixels",
}


@dataclass(frozen=True)
class Exhibit:
    """A widget and how to teach with it: what to ask the class, what to move, what will be seen."""

    chapter: str
    widget: str
    title: str
    ask: str
    move: str
    seen: str

    def make(self) -> Explorer:
        """Build the widget; one that needs a model from its user gets a small stored one."""
        return MODELS.get(self.widget, getattr(widgets, self.widget))()


MODELS: dict[str, Callable[[], Explorer]] = {
    "translation_explorer": lambda: widgets.translation_explorer(*stored_translator(), EXAMPLES),
}

EXHIBITS = (
    Exhibit("00", "lookup_explorer", "A dictionary that answers to every query",
        "Between two keys, which value should come back?",
        "the query once round; then the sharpness to both ends; then the box",
        "blunt, the mean of all values; sharp, a staircase; with the box, no slope left to learn from"),
    Exhibit("01", "softmax_explorer", "Softmax, temperature, √d",
        "The vectors get longer. What do the weights do?",
        "scaling off and d to its end; then scaling on, and d again",
        "unscaled, one key takes everything and the gradient vanishes; scaled, d changes little"),
    Exhibit("02", "bmm_explorer", "Batched matrix product",
        "Which row and which column make this number?",
        "row and column; then each size, and the list of products",
        "only b must agree on both sides, and it is gone from the result; n is carried along"),
    Exhibit("02", "scoring_explorer", "Two ways to score",
        "Can a score grow for ever?",
        "the scale of W_q and W_k; then the two numbers of the query",
        "the additive score levels off, the dot product rises with the length of the key"),
    Exhibit("02", "mask_explorer", "Masks",
        "What should a query do that may look nowhere?",
        "padding, and the valid length to 0; then each way to hide",
        "−∞ gives zeros, −1e6 uniform weights; zeros after the softmax leave rows that no longer sum to 1"),
    Exhibit("03", "heads_explorer", "Several heads",
        "Four things to fetch: how many heads does it take?",
        "the number of heads from 1 upwards; then type a sentence with another longest word",
        "one head settles for a mixture; with several, each finds an errand and follows the new word"),
    Exhibit("04", "positions_explorer", "Sines and cosines",
        "Which positions look alike?",
        "the position; then the base down; then d_model down to 4",
        "the hump moves along unchanged; a small base brings it back far away; 4 features make it broad"),
    Exhibit("05", "block_explorer", "A walk through a block",
        "Where does the shape change?",
        "the step; then the norm; then the number of heads",
        "only inside the sublayers; post-norm also takes the residual through a norm; heads split d_model"),
    Exhibit("05", "norm_explorer", "Where the norm stands",
        "Why does one of them need a warm-up?",
        "post-norm, six blocks, no warm-up, the rate upwards; then the warm-up; then pre-norm",
        "the last decoder block of post-norm has the largest gradient, and training fails there first"),
    Exhibit("05a", "anatomy_explorer", "Mending a lecture's system",
        "Can a system be right on every training sentence and still not translate?",
        "the boxes one by one; then what it is tested with",
        "training BLEU rises far above held-out BLEU: 500 sentences are learnt by heart"),
    Exhibit("06", "schedule_explorer", "Learning rates",
        "Where is the highest rate, and who decides it?",
        "the warm-up with Noam; then the same with linear or cosine",
        "a longer warm-up lowers Noam's peak; the others keep theirs and reach 0 at the end"),
    Exhibit("06", "translation_explorer", "A translator at work",
        "Where does it look when it writes the next word?",
        "the step from 1 to the end; then layer and head; then the beam; then type a sentence",
        "most steps look at the word they translate, in Spanish order; unsure steps have two candidates"),
    Exhibit("06", "bleu_explorer", "BLEU by hand",
        "Which of the two is the better translation, and which scores more?",
        "the examples; then the longest run; then change one word in the middle",
        "one changed word breaks several runs; a short candidate pays by the brevity penalty"),
    Exhibit("06a", "plotted_loss_explorer", "A mean of two batches",
        "129 sentences in batches of 128: how much does the last one count?",
        "the size of the batch to 129; then what the decoder sees",
        "the plotted mean agrees with the sentences' mean only where all batches are equal"),
    Exhibit("07", "sampler_explorer", "Writing by chance",
        "Which setting forbids the absurd and still surprises?",
        "temperature to 0 and to 3; then top-k, top-p, min-p; then step and seed",
        "at 0 always the same text; at 3 nearly anything; top-p keeps many tokens only where it is unsure"),
    Exhibit("07", "text_attention_explorer", "Where each token looks",
        "How can it know whose hat it is?",
        "the token that looks to the end; then layer and head",
        "nobody looks to the right; in some head the last tokens look back at the answer"),
    Exhibit("07", "logit_lens_explorer", "What each block would say",
        "At which depth does it know the answer?",
        "the last token read; then the cells to the token of the last row",
        "below, frequent words; further up the right one, and its probability grows"),
    Exhibit("08", "patch_explorer", "An image as a sequence",
        "Patches half as wide: how many tokens, and how many pairs?",
        "patch size from 8 to 4 and to 1; stride to half the size; then the lecture's reshape",
        "four times the tokens, about sixteen times the pairs; reshaped, no token shows one place"),
    Exhibit("08", "class_attention_explorer", "Where the class token looks",
        "Which patches tell this digit from the one it is taken for?",
        "image 1 (the least sure) upwards; then the layers; then the heads, mean and rollout",
        "the first layer looks at few patches, often empty ones; heads differ; the rollout is far more even"),
    Exhibit("08", "confusion_explorer", "What is taken for what",
        "Nearly all are right. What if every image moves by one pixel?",
        "the cells off the diagonal; then the images one pixel to the right, then with noise",
        "about half are left after one pixel: it was never shown a moved digit; 0 becomes 6, 5 becomes 9"),
    Exhibit("09", "classification_explorer", "Three ways to read a sentence",
        "Which words decide?",
        "the head of the classifier; then the sentence; then type a word more",
        "the mean counts every word alike, the largest value picks a few, the class token weighs them"),
    Exhibit("10", "pixel_attention_explorer", "Attention between pixels",
        "Which other pixel helps to clean this one?",
        "row and column; then the head; then the picture",
        "the weight lies on the pixel itself and on its mirror pixel, however far away"),
    Exhibit("10", "diffusion_explorer", "Noise, there and back",
        "After how many steps can nobody see the digit any more?",
        "the steps of noise from 0 to the end; then the digit",
        "with little noise the estimate is sharp; with much it is soft, the mean of what digits look like"),
)  # fmt: skip


def exhibits(wanted: str | None = None) -> tuple[Exhibit, ...]:
    """Those of a chapter ("3", "03", "05a"), or one by its name ("softmax"); all without a name.

    Raises ValueError for anything else, naming what there is.
    """
    if wanted is None:
        return EXHIBITS
    key = wanted.strip().lower().removesuffix("_explorer")
    chapter = key and key.zfill(3 if key[-1].isalpha() else 2)
    found = tuple(e for e in EXHIBITS if e.chapter == chapter or e.widget == f"{key}_explorer")
    if not found:
        chapters = ", ".join(dict.fromkeys(exhibit.chapter for exhibit in EXHIBITS))
        names = ", ".join(exhibit.widget.removesuffix("_explorer") for exhibit in EXHIBITS)
        raise ValueError(f"{wanted!r} is neither a chapter with widgets ({chapters}) nor a widget ({names})")
    return found
