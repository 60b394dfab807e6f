"""Guided tour of the model explorer: eight steps from a sentence to the next token."""

from typing import TypedDict


class Step(TypedDict):
    """A step of the tour.

    opens: what is open, "model" (nothing), "tokens", "block", "head" or "next". marks: CSS selector of what
    is framed. text: what one sees. offline: the same where no kernel runs.
    """

    title: str
    opens: str
    marks: str
    text: str
    offline: str


def _step(title: str, opens: str, marks: str, text: str, offline: str | None = None) -> Step:
    return Step(title=title, opens=opens, marks=marks, text=text, offline=offline or text)


WRITES = "then press Play: the model writes its answer, piece by piece."
TOUR = (
    _step(
        "A sentence", "model", ".mx-toolbar",
        f"Type a sentence of your own and press Enter, {WRITES}",
        f"Choose a sentence from the list, {WRITES}",
    ),
    _step(
        "Tokens", "tokens", ".mx-panel .mx-scroll",
        "The text is cut into tokens, which are words or pieces of words, and each token becomes a vector: a "
        "list of numbers, drawn as colored cells.",
    ),
    _step(
        "A block", "block", ".mx-sublayer",
        "A block updates these vectors twice: in self-attention, tokens take information from one another; "
        "in the feed-forward network, each token is processed by itself.",
    ),
    _step(
        "A head", "head", ".mx-attention",
        "Attention happens in heads, and each head has a map of weights: row by row, how much one token "
        "takes from the others.",
    ),
    _step(
        "A weight", "head", ".mx-product",
        "Behind each weight is plain arithmetic: multiply two short vectors, q and k, number by number, add "
        "up, divide, and compare with the other keys (softmax).",
    ),
    _step(
        "The residual stream", "block", ".mx-stage:not(.mx-sublayer)",
        "What a sublayer computes is added (⊕) to the vectors that it has read, and the sums flow on through "
        "all the blocks: the residual stream.",
    ),
    _step(
        "The next token", "next", ".mx-next-bars",
        "After the last block, the newest vector becomes a probability for every token of the vocabulary; "
        "one is chosen, and everything runs again with one more token.",
    ),
    _step(
        "The chapters", "model", ".mx-about",
        "Each box names the chapters that take it apart: open any of them and look around.",
    ),
)  # fmt: skip
