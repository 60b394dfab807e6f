"""Learning from text without labels: the next token, a damaged text, masked tokens, or the text itself."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.prefix_translation import NOT_COUNTED, IdsAndLabels, next_labels, pad_both, prompt
from course_lib.tokens import BOS, CONTROL, EOS, Tokens, buckets

CAUSAL = ("next token", "mending")  # for models that see what came before, as when they write
TASKS = (*CAUSAL, "masked token", "autoencoder")


class UnlabelledTexts:
    """Sentences as batches of texts `BOS sentence EOS sentence EOS`, and labels made from the texts alone.

    task: "next token": the label is the token that follows. "mending": the same, where the second sentence is
    the first one before it was damaged, see `damage`; only the second counts. "masked token": BERT's, see
    `mask_tokens`. "autoencoder": the label is the token itself.
    batch: texts in a batch; but in mending, each holds two sentences that met by chance. seed: of the order.
    The id of the mask is len(tokens), one more than the vocabulary holds.
    Raises ValueError for an unknown task, and where there are no sentences.
    Source: for mending Vincent et al. 2008; in the form of a text that is written, Lewis et al. 2020 (BART).
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
        """The batches of an epoch, as numbers of sentences."""
        lengths = [(len(ids),) for ids in self.ids]
        sentences = self.batch if self.task == "mending" else 2 * self.batch
        return buckets(lengths, sentences, seed=self.seed * 1_000_003 + number)

    def collate(self, numbers: Sequence[int]) -> IdsAndLabels:
        """The texts of some sentences, and the label of each token. Masks are drawn from PyTorch's chance."""
        if self.task == "mending":
            both = [(prompt(damage(self.ids[n], self.mask)), [*self.ids[n], EOS]) for n in numbers]
            return pad_both([s + t for s, t in both], [next_labels(s + t, first=len(s)) for s, t in both])
        pairs = (numbers[i : i + 2] for i in range(0, len(numbers), 2))
        texts = [[BOS, *(i for n in pair for i in (*self.ids[n], EOS))] for pair in pairs]
        if self.task == "next token":
            return pad_both(texts, [next_labels(ids) for ids in texts])
        ids, labels = pad_both(texts, texts)
        return mask_tokens(ids, self.mask) if self.task == "masked token" else (ids, labels)


def damage(ids: Sequence[int], mask: int, rng: torch.Generator | None = None) -> list[int]:
    """A sentence as a torn page has it: neighbours change places, words are missing or cannot be read.

    One token in ten is left out; of the others, 15 % are replaced by `mask`, and some change places with a
    neighbour. Where nothing would be left, the sentence stays whole.
    Source: Lample et al. 2018, section 2.3 (words left out, and moved a little).
    """
    missing, hidden, place = torch.rand(3, len(ids), generator=rng)
    order = (torch.arange(len(ids)) + 2 * place).argsort().tolist()
    kept = [mask if hidden[n] < 0.15 else ids[n] for n in order if missing[n] >= 0.1]
    return kept or list(ids)


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
    draw, dice = torch.rand(2, *ids.shape, generator=rng, device=ids.device)
    chosen = (draw < share) & ~is_control(ids)
    any_token = torch.randint(len(CONTROL), mask, ids.shape, generator=rng, device=ids.device)
    changed = torch.where(dice < 0.8, mask, torch.where(dice < 0.9, any_token, ids))
    return torch.where(chosen, changed, ids), torch.where(chosen, ids, NOT_COUNTED)


def is_control(ids: Int[Tensor, "*batch tokens"]) -> Bool[Tensor, "*batch tokens"]:
    """Which ids are control tokens, padding included: they come first in every vocabulary."""
    return ids < len(CONTROL)
