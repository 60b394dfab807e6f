"""Drafts for speculative decoding: a smaller model, and a table of bigrams."""

from collections.abc import Iterable, Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F

from course_lib.generation.decoding import check_read
from course_lib.generation.sampling import next_token_probabilities
from course_lib.generation.speculative import Proposal, Rewindable, draw


class ModelDraft:
    """A smaller model as draft. temperature, rng: as in `speculative_decode`; device: that of the model.

    >>> from course_lib.models import GPT, GPTConfig
    >>> draft = ModelDraft(GPT(GPTConfig(vocab=65, layers=1)).eval().generator())
    >>> tokens, distributions = draft.propose([1, 2, 3], count=4)
    >>> len(tokens), distributions[0].shape
    (4, torch.Size([65]))
    """

    def __init__(
        self,
        generator: Rewindable,
        temperature: float = 0.0,
        rng: torch.Generator | None = None,
        device: torch.device | str = "cpu",
    ) -> None:
        self.generator, self.temperature, self.rng, self.device = generator, temperature, rng, device
        self.known: list[int] = []  # the tokens in the generator's caches

    def propose(self, ids: Sequence[int], count: int) -> Proposal:
        """Raises ValueError if the tokens do not fit into the caches, or if others have read with them."""
        check_read(self.generator, len(self.known))
        same = 0
        while same < min(len(self.known), len(ids) - 1) and self.known[same] == ids[same]:
            same += 1
        self.generator.forget(len(self.known) - same)
        unread, tokens, rows = list(ids[same:]), [], []
        self.known = list(ids[:same])
        for _ in range(count):
            logits = self.generator.read(torch.tensor([unread], device=self.device))[0]
            self.known += unread
            rows.append(next_token_probabilities(logits, self.temperature))
            unread = [draw(rows[-1], self.rng)]
            tokens += unread
        return tokens, rows


class BigramDraft:
    """A table as draft: after each token, the one that followed it most often in the given sequences.

    >>> tokens, distributions = BigramDraft([[1, 2, 3], [2, 3, 1]], vocab=4).propose([1], count=3)
    >>> tokens
    [2, 3, 1]
    """

    def __init__(self, sequences: Iterable[Sequence[int]], vocab: int) -> None:
        counts = torch.zeros(vocab, vocab)
        found = [pair for sequence in sequences for pair in pairwise(sequence)]
        pairs = torch.tensor(found, dtype=torch.long).view(-1, 2)
        counts.index_put_((pairs[:, 0], pairs[:, 1]), torch.ones(len(pairs)), accumulate=True)
        self.vocab, self.following = vocab, counts.argmax(dim=-1).tolist()

    def propose(self, ids: Sequence[int], count: int) -> Proposal:
        """The most frequent continuation, so each distribution is one-hot."""
        tokens = [ids[-1]]
        for _ in range(count):
            tokens.append(self.following[tokens[-1]])
        drafted = tokens[1:]
        return drafted, list(F.one_hot(torch.tensor(drafted, dtype=torch.long), self.vocab).float())
