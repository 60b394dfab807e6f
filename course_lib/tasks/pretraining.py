"""Pretraining tasks on unlabeled text: next token, denoising, masked tokens, autoencoding."""

from collections.abc import Sequence

import torch
from jaxtyping import Bool, Int
from torch import Tensor

from course_lib.datasets.batching import Batches, BucketBatchSampler, ListDataset
from course_lib.tasks.prefix_lm import NOT_COUNTED, IdsAndLabels, next_labels, pad_both, prompt
from course_lib.text.preparation import encode_clean
from course_lib.text.tokenizers import BOS, EOS, SPECIAL_TOKENS, Tokenizer

CAUSAL = ("next token", "denoising")  # with causal attention
TASKS = (*CAUSAL, "masked token", "autoencoder")


class PretrainingBatches(Batches):
    """Batches of texts `BOS sentence EOS sentence EOS` for self-supervised pretraining.

    task: "next token": the label is the following token; the two sentences are unrelated. "denoising" is
    denoising: the first sentence is the second one with noise (`add_noise`), and only the second one counts.
    "masked token": as in BERT, see `mask_tokens`. "autoencoder": the label is the token itself.
    batch: batch size. seed: of the order. longest: tokens that are kept of a sentence; None for all.
    The id of the mask is len(tokenizer), the first one outside the vocabulary.
    Raises ValueError for an unknown task, and if there are no sentences.
    Source: Vincent et al. 2008 (denoising); Lewis et al. 2020 (BART).
    """

    def __init__(
        self,
        sentences: Sequence[str],
        tokenizer: Tokenizer,
        batch: int,
        task: str = "next token",
        seed: int = 0,
        longest: int | None = None,
    ):
        if task not in TASKS:
            raise ValueError(f"task={task!r} is none of {list(TASKS)}")
        if not sentences:
            raise ValueError("no batches: there are no sentences")
        self.mask, self.task = len(tokenizer), task
        ids = [row[:longest] for row in encode_clean(tokenizer, sentences)]
        per_batch = batch if task == "denoising" else 2 * batch
        order = BucketBatchSampler([(len(sentence),) for sentence in ids], per_batch, seed)
        super().__init__(ListDataset(ids), order, self.collate)

    def collate(self, ids: Sequence[list[int]]) -> IdsAndLabels:
        """The texts of these sentences, and a label for each token. Noise: PyTorch's global generator."""
        if self.task == "denoising":
            both = [(prompt(add_noise(sentence, self.mask)), [*sentence, EOS]) for sentence in ids]
            return pad_both([s + t for s, t in both], [next_labels(s + t, first=len(s)) for s, t in both])
        pairs = (ids[i : i + 2] for i in range(0, len(ids), 2))
        texts = [[BOS, *(i for sentence in pair for i in (*sentence, EOS))] for pair in pairs]
        if self.task == "next token":
            return pad_both(texts, [next_labels(text) for text in texts])
        padded, labels = pad_both(texts, texts)
        return mask_tokens(padded, self.mask) if self.task == "masked token" else (padded, labels)


def add_noise(ids: Sequence[int], mask: int, rng: torch.Generator | None = None) -> list[int]:
    """Noise for denoising: drop, mask and shuffle tokens.

    10 % of the tokens are dropped; of the others, 15 % are replaced by `mask`, and some are swapped with a
    neighbor. If nothing would be left, the sentence stays as it is.
    Source: Lample et al. 2018, section 2.3 (dropping and shuffling).

    >>> noisy = add_noise([5, 6, 7, 8], mask=100)
    >>> set(noisy) <= {5, 6, 7, 8, 100}
    True
    """
    dropped, masked, shift = torch.rand(3, len(ids), generator=rng)
    order = (torch.arange(len(ids)) + 2 * shift).argsort().tolist()
    kept = [mask if masked[n] < 0.15 else ids[n] for n in order if dropped[n] >= 0.1]
    return kept or list(ids)


def mask_tokens(
    ids: Int[Tensor, "batch tokens"],
    mask: int,
    fraction: float = 0.15,
    rng: torch.Generator | None = None,
) -> IdsAndLabels:
    """Masked language modeling (BERT): hide a random fraction of the tokens, to be predicted from the others.

    Of the chosen tokens, 80 % are replaced by `mask`, 10 % by a random token, and 10 % stay the same. Special
    tokens are never chosen; of the others at least one is, as in BERT.
    mask: the id of the mask, the first one outside the vocabulary. fraction: of the tokens to choose.
    Returns the changed ids and the labels: the original token where one was chosen, NOT_COUNTED elsewhere.
    Raises ValueError for a fraction outside (0, 1].
    Source: Devlin et al. 2019, section 3.1; new masks in every epoch as in Liu et al. 2019 (RoBERTa).

    >>> from course_lib.text import BOS, EOS
    >>> ids, labels = mask_tokens(torch.tensor([[BOS, 5, 6, EOS]]), mask=100, fraction=1.0)
    >>> labels  # special tokens are not to be predicted
    tensor([[-100,    5,    6, -100]])
    """
    if not 0 < fraction <= 1:
        raise ValueError(f"fraction={fraction} is outside (0, 1]")
    draw, dice = torch.rand(2, *ids.shape, generator=rng, device=ids.device)
    draw = draw.masked_fill(is_special(ids), 1.0)
    chosen = (draw < fraction) | (draw == draw.min()) & (draw < 1)  # the lowest in any case, as in BERT
    any_token = torch.randint(len(SPECIAL_TOKENS), mask, ids.shape, generator=rng, device=ids.device)
    changed = torch.where(dice < 0.8, mask, torch.where(dice < 0.9, any_token, ids))
    return torch.where(chosen, changed, ids), torch.where(chosen, ids, NOT_COUNTED)


def is_special(ids: Int[Tensor, "*batch tokens"]) -> Bool[Tensor, "*batch tokens"]:
    """Which ids are special tokens, padding included: they come first in every vocabulary."""
    return ids < len(SPECIAL_TOKENS)
