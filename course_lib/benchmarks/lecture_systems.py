"""The lectures' systems and ours, all of one size, each with its loss and its decoding.

As each lecture has it, but for the sizes, which are DLStudio's: embedding 256, 4 + 4 blocks, 4 heads,
d_ff 512, batches of 50 sentences of 10 tokens. The vocabulary is the lecture's Spanish one, 21,823 words, for
both sides, as ours and `nn.Transformer` share one embedding matrix.
"""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from course_lib.benchmarks import d2l_rival, rivals, workload
from course_lib.benchmarks.decoding import Write
from course_lib.benchmarks.rivals import PaddedLoss, TorchTransformer
from course_lib.benchmarks.training import LABEL_SMOOTHING, OURS, TORCH, config, measures
from course_lib.benchmarks.workload import Batch, Sizes
from course_lib.generation.decoding import greedy_decode
from course_lib.lectures import einsum_transformer as notes
from course_lib.lectures.dlstudio import EOS as THEIR_EOS
from course_lib.lectures.dlstudio import SOS as THEIR_SOS
from course_lib.lectures.dlstudio import Deviations, DLStudioConfig, TransformerFG, loss_of
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import BOS, EOS, PAD

SIZES = Sizes(vocab=21_823, d_model=256, heads=4, d_ff=512, layers=4, batch=50, max_tokens=10)
TINY = Sizes(vocab=50, d_model=16, heads=2, d_ff=32, layers=2, batch=4, max_tokens=7)
OLD, LATER, FIXED = "DLStudio 2.4.3", "DLStudio 2.5.2", "DLStudio fixed"
D2L, EINSUM = "d2l, C182-3", "einsum, the notes"
VERSIONS = {OLD: Deviations.lecture(), LATER: Deviations.later(), FIXED: Deviations()}
DROPOUT = 0.1


@dataclass(frozen=True)
class System:
    """A model, its loss (to measure training) and its decoding function (to measure decoding)."""

    model: nn.Module
    objective: nn.Module
    write: Write


def all_systems(sizes: Sizes, device: str) -> dict[str, System]:
    """Every system with the same sizes; d2l if it is installed."""
    found = {OURS: our_system(sizes), TORCH: torch_system(sizes), EINSUM: einsum_system(sizes, device)}
    if not d2l_rival.absent():
        found[D2L] = d2l_system(sizes)
    for name, deviations in VERSIONS.items():
        found[name] = dlstudio_system(sizes, deviations)
    for one in found.values():
        one.objective.to(device)
    return found


def our_system(sizes: Sizes) -> System:
    """Ours, with its KV cache."""
    torch.manual_seed(0)
    model = Seq2Seq(config(sizes, DROPOUT))

    def write(source: Tensor) -> list[list[int]]:
        return greedy_decode(model.generator(source), start_of(source, BOS), None, sizes.max_tokens - 1)

    return System(model, TranslationLoss(model, LABEL_SMOOTHING), write)


def torch_system(sizes: Sizes) -> System:
    """`nn.Transformer`; it recomputes the whole prefix for each token."""
    model = TorchTransformer(*measures(sizes), DROPOUT)
    objective = PaddedLoss(model, LABEL_SMOOTHING)
    return System(
        model, objective, lambda source: rivals.greedy_recomputing(model, source, sizes.max_tokens - 1)
    )


def einsum_system(sizes: Sizes, device: str) -> System:
    """The notes' Transformer, fixed; the notes have no decoding, so it recomputes the prefix, too."""
    vocab, expansion = (sizes.vocab, sizes.vocab, PAD), sizes.d_ff // sizes.d_model
    shape = (sizes.d_model, sizes.layers, expansion, sizes.heads, DROPOUT, device, sizes.max_tokens)
    model = notes.Transformer(*vocab, *shape)

    def write(source: Tensor) -> Tensor:
        hidden = model.make_src_mask(source)
        memory, ids = model.encoder(source, hidden), start_of(source, BOS)
        for _ in range(sizes.max_tokens - 1):
            logits = model.decoder(ids, memory, hidden, model.make_trg_mask(ids))
            ids = torch.cat([ids, logits[:, -1:].argmax(-1)], dim=1)
        return ids[:, 1:]

    return System(model, PaddedLoss(model, LABEL_SMOOTHING), write)


class WithLengths(nn.Module):
    """d2l's models, which need the length of each source sentence."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        return self.model(source, target, (source != PAD).sum(dim=1))


def d2l_system(sizes: Sizes) -> System:
    """The lecture's system on d2l's plumbing, with d2l's own decoding."""
    from course_lib.lectures.d2l_transformer import TransformerDecoder, TransformerEncoder, d2l

    shape = (sizes.vocab, sizes.d_model, sizes.d_ff, sizes.heads, sizes.layers, DROPOUT)
    model = d2l.Seq2Seq(TransformerEncoder(*shape), TransformerDecoder(*shape), tgt_pad=PAD, lr=0.001)
    wrapped = WithLengths(model)
    wrapped(*full_batch(2, sizes, 0, "cpu"))  # d2l's layers learn their sizes from their first input

    def write(source: Tensor) -> Tensor:
        start = start_of(source, BOS)
        batch = (source, start, (source != PAD).sum(dim=1), start)  # d2l ignores the last one
        return model.predict_step(batch, source.device, sizes.max_tokens - 1)[0]

    return System(model, PaddedLoss(wrapped, LABEL_SMOOTHING), write)


class DLStudioObjective(nn.Module):
    """DLStudio's loss as a sum and a count; its SOS and EOS are one below our BOS and EOS."""

    def __init__(self, model: TransformerFG):
        super().__init__()
        self.model = model

    def forward(self, source: Tensor, target: Tensor) -> tuple[Tensor, int]:
        return loss_of(self.model, source - 1, target - 1) * len(target), target[:, 1:].numel()


def dlstudio_system(sizes: Sizes, deviations: Deviations) -> System:
    """A version of DLStudio; the lecture's do not feed back their output, and keep random embeddings."""
    names = {"source_vocab": sizes.vocab, "target_vocab": sizes.vocab, "tokens": sizes.max_tokens}
    blocks = {"encoder_layers": sizes.layers, "decoder_layers": sizes.layers}
    widths = {"d_model": sizes.d_model, "heads": sizes.heads, "dropout": DROPOUT}
    model = TransformerFG(DLStudioConfig(**names, **blocks, **widths), deviations)
    if deviations.pass_per_position:
        for table in (model.embed_source, model.embed_target):
            table.requires_grad_(False)
    write = once(model) if deviations.pass_per_position else feeding_back(model)
    return System(model, DLStudioObjective(model), write)


def once(model: TransformerFG) -> Write:
    """The lecture's decoding: the decoder gets SOS EOS EOS …, and predicts all words at once."""
    return lambda source: model(source - 1, stub(source))[1][:, 1:]


def feeding_back(model: TransformerFG) -> Write:
    def write(source: Tensor) -> Tensor:
        target, memory = stub(source), model.encode(source - 1)
        for slot in range(1, source.shape[1]):
            target[:, slot] = model.decode(target, memory, source - 1, [slot])[:, 0].argmax(-1)
        return target[:, 1:]

    return write


def stub(source: Tensor) -> Tensor:
    ids = torch.full_like(source, THEIR_EOS)
    ids[:, 0] = THEIR_SOS
    return ids


def start_of(source: Tensor, first: int) -> Tensor:
    return torch.full((len(source), 1), first, device=source.device)


def full_batch(batch: int, sizes: Sizes, seed: int, device: str) -> Batch:
    """Sentences of `max_tokens` tokens on both sides: BOS, words, EOS."""
    words = torch.Generator().manual_seed(seed)
    shape = (2, batch, sizes.max_tokens)
    ids = torch.randint(workload.FIRST_ID, sizes.vocab, shape, generator=words)
    ids[..., 0], ids[..., -1] = BOS, EOS
    source, target = ids.to(device)
    return source, target
