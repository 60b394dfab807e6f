"""Learning from text without labels: the next token, masked tokens, or the text itself."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.prefix_translation import NOT_COUNTED, IdsAndLabels, next_labels, pad_both
from course_lib.tokens import BOS, CONTROL, EOS, Tokens, buckets

TASKS = ("next token", "masked token", "autoencoder")


class UnlabelledTexts:
    """Sentences as batches of texts `BOS sentence EOS sentence EOS`, and labels made from the texts alone.

    task: "next token": the label is the token that follows (for a causal model). "masked token": BERT's, see
    `mask_tokens`. "autoencoder": the label is the token itself. The last two are for models that see the
    whole text.
    batch: texts in a batch; each holds two sentences that met by chance. seed: of the order. The id of the
    mask is len(tokens), one more than the vocabulary holds.
    Raises ValueError for an unknown task, and where there are no sentences.
    """

    def __init__(
        self, sentences: Sequence[str], tokens: Tokens, batch: int, task: str = "next token", seed: int = 0
    ):
        if task not in TASKS:
            raise ValueError(f"task={task!r} is none of {list(TASKS)}")
        if not sentences:
            raise ValueError("no batches: there are no sentences")
        self.ids = tokens.encode_batch(sentences)
        self.mask = len(tokens)
        self.batch, self.task, self.seed = batch, task, seed

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, as numbers of sentences, two for a text."""
        lengths = [(len(ids),) for ids in self.ids]
        return buckets(lengths, 2 * self.batch, seed=self.seed * 1_000_003 + number)

    def collate(self, numbers: Sequence[int]) -> IdsAndLabels:
        """The texts of some sentences, and the label of each token. Masks are drawn from PyTorch's chance."""
        pairs = (numbers[i : i + 2] for i in range(0, len(numbers), 2))
        texts = [[BOS, *(i for n in pair for i in (*self.ids[n], EOS))] for pair in pairs]
        if self.task == "next token":
            return pad_both(texts, [next_labels(ids) for ids in texts])
        ids, labels = pad_both(texts, texts)
        return mask_tokens(ids, self.mask) if self.task == "masked token" else (ids, labels)


def mask_tokens(
    ids: Int[Tensor, "batch tokens"],
    mask: int,
    share: float = 0.15,
    rng: torch.Generator | None = None,
) -> IdsAndLabels:
    """BERT's task: a share of the tokens is chosen, and is to be guessed from what remains.

    Of the chosen, 80 % are replaced by `mask`, 10 % by any token of the vocabulary, 10 % stay. Control tokens
    are never chosen. mask: its id, one more than the largest of the vocabulary.
    Returns the changed ids and the labels: the right token where one was chosen, NOT_COUNTED elsewhere.
    Raises ValueError for a share outside (0, 1].
    Source: Devlin et al. 2019, section 3.1; anew at every visit as in Liu et al. 2019 (RoBERTa), section 4.1.
    """
    if not 0 < share <= 1:
        raise ValueError(f"share={share} is outside (0, 1]")
    draw, dice = torch.rand(2, *ids.shape, generator=rng)
    chosen = (draw < share) & ~is_control(ids)
    any_token = torch.randint(len(CONTROL), mask, ids.shape, generator=rng)
    changed = torch.where(dice < 0.8, mask, torch.where(dice < 0.9, any_token, ids))
    return torch.where(chosen, changed, ids), torch.where(chosen, ids, NOT_COUNTED)


def is_control(ids: Int[Tensor, "*batch tokens"]) -> Bool[Tensor, "*batch tokens"]:
    """Which ids are control tokens, padding included: they come first in every vocabulary."""
    return ids < len(CONTROL)
