"""Beam search on a sentence, with the probabilities and attention of each step."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.datasets.batching import pad
from course_lib.generation.beam import Hypothesis, beam_search
from course_lib.layers.hooks import record_attention
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import with_end
from course_lib.text.tokenizers import BOS, EOS, Tokenizer
from course_lib.training.evaluation import evaluating


@dataclass(frozen=True)
class Written:
    """A sentence and its translations; step t of the tensors belongs to the t-th token of the best one.

    found: hypotheses, best first, with their texts. target: tokens of the best one, including the final one.
    probabilities: over the vocabulary, at each step.
    source: whole words. maps: cross-attention weights on each of them, the sum over its subword tokens.
    """

    source: list[str]
    found: list[Hypothesis]
    texts: list[str]
    target: list[str]
    target_ids: list[int]
    probabilities: Float[Tensor, "steps vocab"]
    maps: Float[Tensor, "layers heads steps words"]


@torch.inference_mode()
def write(model: Seq2Seq, tokens: Tokenizer, sentence: str, width: int) -> Written:
    """Translate with beam search, then get all steps of the best translation in one forward pass.

    Raises ValueError for an empty sentence, and for one that is too long for the model.
    """
    [ids] = with_end([sentence], tokens, model.config.max_tokens)
    device = model.embedding.weight.device
    source, start = pad([ids]).to(device), torch.tensor([[BOS]], device=device)
    most = min(model.config.max_tokens - 1, 2 * len(ids) + 10)
    with evaluating(model):
        found = beam_search(model.generator(source), start, EOS, most, width)[0]
        best = found[0].ids
        with record_attention(model) as maps:
            logits = model(source, torch.tensor([[BOS, *best]], device=device))[0]
    layers = [maps[f"decoder.{i}.cross_attention"][0][0] for i in range(model.config.decoder_layers)]
    cross = torch.stack(layers).float().cpu()
    words, word_of = whole_words([tokens[i] for i in ids])
    target = [*best, EOS if len(best) < most else int(logits[-1].argmax())]
    return Written(
        source=words,
        found=found,
        texts=[tokens.decode(hypothesis.ids) for hypothesis in found],
        target=[tokens[i] for i in target],
        target_ids=target,
        probabilities=logits.float().softmax(-1).cpu(),
        maps=cross.new_zeros(*cross.shape[:-1], len(words)).index_add(-1, torch.tensor(word_of), cross),
    )


def whole_words(tokens: Sequence[str]) -> tuple[list[str], list[int]]:
    """Whole words of subword tokens, without ▁, and for each token the index of its word.

    Source: Clark et al. 2019, section 4.1: the attention to a split word is the sum over its tokens.
    """
    words: list[str] = []
    word_of = []
    for token in tokens:
        letters = bool(words) and words[-1][-1:].isalnum() and token[:1].isalnum()
        if letters or words[-1:] == [""]:  # a lone ▁ begins the word of the next token
            words[-1] += token
        else:
            words.append(token.removeprefix("▁"))
        word_of.append(len(words) - 1)
    return words, word_of
