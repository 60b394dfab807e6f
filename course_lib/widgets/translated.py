"""A sentence translated with everything that is seen on the way."""

from dataclasses import dataclass

import torch
from jaxtyping import Float
from torch import Tensor

from course_lib.decoding import Hypothesis, beam
from course_lib.recorder import record_attention
from course_lib.seq2seq import Seq2Seq
from course_lib.tokens import BOS, EOS, Tokens, pad
from course_lib.translation import with_end


@dataclass(frozen=True)
class Written:
    """A sentence and its translations; row t of the rest belongs to the t-th token of the best one.

    found: the hypotheses, best first. texts: theirs. target: the tokens of the best one and the one that ends
    it. probabilities: of each token of the vocabulary. maps: the weights of the cross-attention.
    """

    source: list[str]
    found: list[Hypothesis]
    texts: list[str]
    target: list[str]
    target_ids: list[int]
    probabilities: Float[Tensor, "steps vocab"]
    maps: Float[Tensor, "layers heads steps source"]


@torch.inference_mode()
def write(model: Seq2Seq, tokens: Tokens, sentence: str, width: int) -> Written:
    """Translate with a beam, then read the best translation once to see all its steps at the same time.

    Raises ValueError for an empty sentence and for one that is too long for the model.
    """
    ids = with_end(sentence, tokens, model.config.max_tokens)
    device, training = model.embedding.weight.device, model.training
    model.eval()
    source, start = pad([ids]).to(device), torch.tensor([[BOS]], device=device)
    most = min(model.config.max_tokens - 1, 2 * len(ids) + 10)
    found = beam(model.generator(source), start, EOS, most, width)[0]
    best = found[0].ids
    with record_attention(model) as maps:
        logits = model(source, torch.tensor([[BOS, *best]], device=device))[0]
    model.train(training)
    cross = [maps[f"decoder.{i}.cross_attention"][0][0] for i in range(model.config.decoder_layers)]
    target = [*best, EOS if len(best) < most else int(logits[-1].argmax())]
    return Written(
        source=[tokens[i] for i in ids],
        found=found,
        texts=[tokens.decode(hypothesis.ids) for hypothesis in found],
        target=[tokens[i] for i in target],
        target_ids=target,
        probabilities=logits.float().softmax(-1).cpu(),
        maps=torch.stack(cross).float().cpu(),
    )
