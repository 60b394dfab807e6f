"""What PyTorch expects of a module: copies, files, the meta device, compile, export, func, anomaly mode.

The modules are collected from the packages, so that none can be forgotten: each needs a line in MODULES.
What a module does not support is in `WITHOUT`, with the reason; it is tested that this is still so.
"""

import copy
import pickle
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

import pytest
import torch
from helpers.public_classes import public_classes
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.utils._pytree import tree_leaves, tree_map

from course_lib.generation.quantization import Int8Linear
from course_lib.layers import blocks, lora, multi_head_attention, patches, pixel_attention, positions, tables
from course_lib.lectures import dlstudio
from course_lib.models import gpt, seq2seq, text_encoder, unet, vit
from course_lib.tasks import (
    diffusion,
    image_classification,
    language_modeling,
    preferences,
    prefix_lm,
    text_classification,
    translation,
)
from course_lib.text.tokenizers import PAD

VOCAB, WIDTH, HEADS, MOST = 13, 8, 2, 9
SIZES = {"d_model": WIDTH, "heads": HEADS}
MODERN = {"norm": "pre", "qk_norm": True, "kv_heads": 1, "activation": "squared relu", "positions": "rotary"}

pytestmark = pytest.mark.usefixtures("unchecked", "one_thread")


def ids(batch: int, tokens: int) -> Tensor:
    """Texts of different length; the last one is nothing but padding."""
    lengths = torch.arange(batch - 1, -1, -1).clamp(max=1) * torch.arange(tokens, tokens - batch, -1)
    found = torch.randint(5, VOCAB, (batch, tokens), generator=torch.Generator().manual_seed(batch))
    return found.masked_fill(torch.arange(tokens) >= lengths[:, None], PAD)


def labels(batch: int, tokens: int) -> Tensor:
    """The next token of each token; none for a padding."""
    text = ids(batch, tokens + 1)[:, 1:]
    return text.masked_fill(text == PAD, prefix_lm.NOT_COUNTED)


def numbers(*shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(sum(shape)))


def tokens(batch: int, length: int) -> tuple[Tensor, ...]:
    return (numbers(batch, length, WIDTH),)


def pictures(batch: int, length: int, channels: int = 3) -> tuple[Tensor, ...]:
    return (numbers(batch, channels, 8, 8),)


def noisy(batch: int, length: int) -> tuple[Tensor, ...]:
    return *pictures(batch, length, WIDTH), numbers(batch, 4 * WIDTH)


def encoder(**options) -> text_encoder.TextEncoder:
    config = text_encoder.EncoderConfig(vocab=VOCAB, layers=1, max_tokens=MOST, **SIZES, **options)
    return text_encoder.TextEncoder(config)


def language_model(**options) -> gpt.GPT:
    return gpt.GPT(gpt.GPTConfig(vocab=VOCAB, layers=1, max_tokens=MOST, **SIZES, **options))


def translator(**options) -> seq2seq.Seq2Seq:
    sizes = {
        "vocab": VOCAB,
        "encoder_layers": 1,
        "decoder_layers": 1,
        "max_tokens": MOST,
        "d_ff": 16,
        **SIZES,
    }
    return seq2seq.Seq2Seq(seq2seq.Seq2SeqConfig(**sizes, **options))


def classifier(pooling: str) -> text_classification.TextClassifier:
    return text_classification.TextClassifier(encoder(), 3, pooling)


def vision(**options) -> vit.ViT:
    return vit.ViT(vit.ViTConfig(classes=4, image_size=8, layers=1, **SIZES, **options))


UNET = unet.UNetConfig(widths=(8, 16), heads=2, groups=4)
Case = tuple[Callable[[], nn.Module], Callable[[int, int], tuple[Tensor, ...]]]
MODULES: dict[str, Case] = {  # what makes the module, and its inputs, for a batch size and a number of tokens
    "FeedForward": (partial(blocks.FeedForward, WIDTH, 12), tokens),
    "EncoderBlock": (partial(blocks.EncoderBlock, WIDTH, HEADS, 12), tokens),
    "EncoderBlock, rotary": (
        lambda: blocks.EncoderBlock(WIDTH, HEADS, 12, rotary=positions.RotaryPositions(MOST, 4)),
        tokens,
    ),
    "DecoderBlock": (
        partial(blocks.DecoderBlock, WIDTH, HEADS, 12),
        lambda b, t: tokens(b, t) + tokens(b, t + 2),
    ),
    "MultiHeadAttention": (
        partial(multi_head_attention.MultiHeadAttention, WIDTH, HEADS, kv_heads=1),
        tokens,
    ),
    "AdditiveAttention": (
        partial(multi_head_attention.AdditiveAttention, WIDTH, WIDTH, 6),
        lambda b, t: (*tokens(b, t), *tokens(b, t + 1), *tokens(b, t + 1)),
    ),
    "LoRALinear": (lambda: lora.LoRALinear(nn.Linear(WIDTH, 6), rank=2), tokens),
    "Int8Linear": (lambda: Int8Linear(nn.Linear(WIDTH, 6)), tokens),
    "Patches": (partial(patches.Patches, 4, 3, WIDTH), pictures),
    "ConvolutionalPatches": (partial(patches.ConvolutionalPatches, 4, 3, WIDTH), pictures),
    "ConvolutionalStem": (partial(patches.ConvolutionalStem, 4, 3, WIDTH), pictures),
    "SinusoidalPositions2d": (
        partial(patches.SinusoidalPositions2d, 2, 1, WIDTH),
        lambda b, t: tokens(b, 5),
    ),
    "PixelAttention": (
        partial(pixel_attention.PixelAttention, WIDTH, 2, 4),
        partial(pictures, channels=WIDTH),
    ),
    "ComputedTable": (lambda: Added("table", partial(torch.arange, WIDTH)), tokens),
    "SinusoidalPositions": (partial(positions.SinusoidalPositions, MOST, WIDTH), tokens),
    "LearnedPositions": (partial(positions.LearnedPositions, MOST, WIDTH), tokens),
    "RotaryPositions": (partial(positions.RotaryPositions, MOST, WIDTH), tokens),
    "NoPositions": (positions.NoPositions, tokens),
    "GPT": (language_model, lambda b, t: (ids(b, t),)),
    "GPT, modern": (partial(language_model, **MODERN), lambda b, t: (ids(b, t),)),
    "GPT, sinusoidal": (partial(language_model, positions="sinusoidal"), lambda b, t: (ids(b, t),)),
    "Seq2Seq": (translator, lambda b, t: (ids(b, t), ids(b, t + 1))),
    "Seq2Seq, modern": (partial(translator, **MODERN), lambda b, t: (ids(b, t), ids(b, t + 1))),
    "TextEncoder": (lambda: Hidden(encoder(types=2, causal=True)), lambda b, t: (ids(b, t),)),
    "ViT": (vision, pictures),
    "ViT, 2d": (partial(vision, positions="sinusoidal 2d", pooling="mean"), pictures),
    "ResidualBlock": (partial(unet.ResidualBlock, WIDTH, 12, 4 * WIDTH, 4), noisy),
    "Bottleneck": (partial(unet.Bottleneck, WIDTH, 4 * WIDTH, UNET), noisy),
    "DownUpLevel": (
        lambda: unet.DownUpLevel(WIDTH, WIDTH, unet.Bottleneck(WIDTH, 4 * WIDTH, UNET), 4 * WIDTH, 4),
        noisy,
    ),
    "UNet": (partial(unet.UNet, UNET), lambda b, t: (*pictures(b, t, 1), 10 * torch.arange(b))),
    "Diffusion": (
        lambda: Noising(diffusion.Diffusion(40)),
        lambda b, t: (*pictures(b, t), 10 * torch.arange(b)),
    ),
    "DiffusionLoss": (
        lambda: diffusion.DiffusionLoss(unet.UNet(UNET), diffusion.Diffusion(100)),
        partial(pictures, channels=1),
    ),
    **{
        f"TextClassifier, {pooling}": (
            partial(classifier, pooling),
            lambda b, t, to=MOST if pooling == "flatten" else None: (ids(b, to or t),),
        )
        for pooling in text_classification.POOLINGS
    },
    "TextClassificationLoss": (
        lambda: text_classification.TextClassificationLoss(classifier("mean"), 0.1),
        lambda b, t: (ids(b, t), torch.arange(b) % 3),
    ),
    "ImageClassificationLoss": (
        lambda: image_classification.ImageClassificationLoss(vision(), 0.1),
        lambda b, t: (*pictures(b, t), torch.arange(b) % 4),
    ),
    "LanguageModelLoss": (
        lambda: language_modeling.LanguageModelLoss(language_model()),
        lambda b, t: (ids(b, t),),
    ),
    "TranslationLoss": (
        lambda: translation.TranslationLoss(translator(), 0.1),
        lambda b, t: (ids(b, t), ids(b, t + 1)),
    ),
    "PrefixLMLoss": (
        lambda: prefix_lm.PrefixLMLoss(language_model()),
        lambda b, t: (ids(b, t), labels(b, t)),
    ),
    "DPOLoss": (
        lambda: preferences.DPOLoss(language_model()),
        lambda b, t: (ids(b, t), labels(b, t), ids(b, t + 1), labels(b, t + 1)),
    ),
}
DLSTUDIO = dlstudio.DLStudioConfig(source_vocab=VOCAB, target_vocab=VOCAB, tokens=5, dropout=0.0, **SIZES)
DEVIATIONS = {"flat": dlstudio.Deviations.lecture(), "correct": dlstudio.Deviations()}
LECTURES: dict[str, Case] = {  # of these, it is only tested what they make of another number of axes
    "AttentionBlock": (partial(dlstudio.AttentionBlock, 32, 4), lambda b, t: (numbers(b, 32, 32, 32),)),
    **{
        f"DLStudioAttention, {form}": (
            partial(dlstudio.DLStudioAttention, WIDTH, HEADS, 5, form == "flat", DEVIATIONS[form]),
            lambda b, t: tokens(b, t) + tokens(b, t),
        )
        for form in DEVIATIONS
    },
    **{
        f"BasicEncoder, {form}": (partial(dlstudio.BasicEncoder, DLSTUDIO, DEVIATIONS[form], "pre"), tokens)
        for form in DEVIATIONS
    },
    "TransformerFG": (partial(dlstudio.TransformerFG, DLSTUDIO), lambda b, t: (ids(b, t), ids(b, t))),
}
READS = "a check on the CPU reads the values of its input"
WITHOUT: dict[str, dict[str, str]] = {
    "meta_device": {"Int8Linear": "it is made from the numbers of a layer, and there are none"},
    "compile": {"DPOLoss": "turning dropout off keeps the states of the random generators"},
    "gradients_of_each_example": {
        "ConvolutionalStem": "vmap knows no memory with the channels last, which the CPU needs to be fast",
        "Diffusion": READS,
        "DiffusionLoss": "it draws a noise for each image, and vmap wants to know whether all get the same",
        "ImageClassificationLoss": READS,
        "PrefixLMLoss": "it computes logits where there are labels, and vmap wants a shape without them",
    },
}


class Hidden(nn.Module):
    """An encoder as a function of ids; it has no `forward` of its own."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model.output_logits(self.model.hidden_states(ids))


class Noising(nn.Module):
    """A diffusion as a function of images and steps."""

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, images: Tensor, t: Tensor) -> Tensor:
        return self.model.add_noise(images, t, images.flip(-1))


class Added(tables.ComputedTable):
    """A computed table in use."""

    def forward(self, x: Tensor) -> Tensor:
        return x + self.table


def made(name: str, seed: int = 0) -> nn.Module:
    """The module in evaluation mode, no weight of which is zero."""
    torch.manual_seed(seed)
    module = (MODULES | LECTURES)[name][0]().eval()
    with torch.no_grad():
        for p in module.parameters():
            p.add_(0.3 * torch.randn_like(p))
    return module


def run(module: Callable, inputs: tuple[Tensor, ...]):
    torch.manual_seed(0)  # some losses draw noise
    return module(*inputs)


def same(found, wanted, exact: bool = True) -> None:
    torch.testing.assert_close(found, wanted, **({"rtol": 0, "atol": 0} if exact else {}))


def contract(test):
    """A test of each module; for those in WITHOUT, it must fail: the list is not longer than it must be."""
    unsupported = WITHOUT.get(test.__name__.removeprefix("test_"), {})
    names = [
        pytest.param(name, marks=pytest.mark.xfail(strict=True, reason=unsupported[name]))
        if name in unsupported
        else name
        for name in MODULES
    ]
    return pytest.mark.parametrize("name", names)(test)


def test_every_public_module_has_a_case():
    classes = {c.__name__ for c in public_classes() if issubclass(c, nn.Module)}
    assert classes == {name.split(",")[0] for name in MODULES}


@contract
def test_deepcopy(name):
    module, inputs = made(name), MODULES[name][1](3, 5)
    wanted, twin = run(module, inputs), copy.deepcopy(module)
    with torch.no_grad():
        for p in module.parameters():
            p.zero_()
    same(run(twin, inputs), wanted)


@contract
def test_pickle(name):
    module, inputs = made(name), MODULES[name][1](3, 5)
    try:
        again = pickle.loads(pickle.dumps(module))
    except AttributeError as error:
        raise AssertionError(error) from error
    same(run(again, inputs), run(module, inputs))


@contract
def test_state_dict(name):
    module, other, inputs = made(name), made(name, seed=1), MODULES[name][1](3, 5)
    stored = module.state_dict()
    other.load_state_dict(stored)
    same(run(other, inputs), run(module, inputs))
    assert all(
        tensor.data_ptr() != table.data_ptr() for tensor in stored.values() for table in tables_of(module)
    )


def tables_of(module: nn.Module) -> list[Tensor]:
    return [getattr(m, m.table_name) for m in module.modules() if isinstance(m, tables.ComputedTable)]


@contextmanager
def empty_is_nan() -> Iterator[None]:
    """Within the block, uninitialized memory holds NaN, and the largest number of integers."""
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


@pytest.mark.parametrize("assign", [False, True])
@contract
def test_meta_device(name, assign):
    module, inputs = made(name), MODULES[name][1](3, 5)
    with torch.device("meta"):
        empty = MODULES[name][0]().eval()
    assert all(tensor.is_meta for tensor in (*empty.parameters(), *empty.buffers()))
    if not assign:
        with empty_is_nan():
            empty.to_empty(device="cpu")
        same(tables_of(empty), tables_of(module))
    empty.load_state_dict(module.state_dict(), assign=assign)
    same(run(empty, inputs), run(module, inputs))


@pytest.mark.slow
@contract
def test_compile(name, monkeypatch):
    """As one graph, without a break; none by the checks of a dataclass, which only tests have."""
    monkeypatch.setattr(seq2seq.Encoded, "__init__", seq2seq.Encoded.__init__.__wrapped__)
    module, inputs = made(name), MODULES[name][1](3, 5)
    torch._dynamo.reset()
    same(
        run(torch.compile(module, backend="eager", fullgraph=True), inputs), run(module, inputs), exact=False
    )


@pytest.mark.slow
@contract
def test_export(name):
    """One program for every size of the batch and every number of tokens."""
    module, (inputs, larger) = made(name), (MODULES[name][1](*size) for size in ((3, 5), (4, 7)))
    dynamic = [
        {i: torch.export.Dim.DYNAMIC for i, n in enumerate(a.shape) if n != b.shape[i]}
        for a, b in zip(inputs, larger, strict=True)
    ]
    program = torch.export.export(module, inputs, dynamic_shapes=(*dynamic,)).module()
    for one in (inputs, larger):
        same(run(program, one), run(module, one), exact=False)


@contract
def test_half_precision(name):
    """All weights in bf16: no layer mixes types, and what is computed once stays exact."""
    module, (first, *others) = made(name), MODULES[name][1](3, 5)
    exact = tables_of(module)
    inputs = [x.bfloat16() if x.is_floating_point() else x for x in (first, *others)]
    found = tree_leaves(run(module.bfloat16(), tuple(inputs)))[0]
    assert found.isfinite().all()
    assert found.dtype == torch.bfloat16 or name.endswith("Loss")
    same(tables_of(module), exact)


@contract
def test_functional_call(name):
    module, other, inputs = made(name), made(name, seed=1), MODULES[name][1](3, 5)
    state = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    same(run(partial(functional_call, other, state), (inputs,)), run(module, inputs))


@contract
def test_gradients_of_each_example(name):
    """vmap of grad: those of a loop over the examples."""
    module = made(name).double()
    inputs = tuple(x.double() if x.is_floating_point() else x for x in MODULES[name][1](3, 5))
    weights = {key: p.detach() for key, p in module.named_parameters() if p.requires_grad}

    def loss(weights: dict[str, Tensor], *example: Tensor) -> Tensor:
        found = functional_call(module, weights, tuple(part[None] for part in example))
        return tree_leaves(found)[0].square().sum()

    together = vmap(grad(loss), (None, *(0 for _ in inputs)))(weights, *inputs)
    for i in range(3):
        alone = grad(loss)(weights, *(part[i] for part in inputs))
        same(tree_map(lambda g, i=i: g[i], together), alone, exact=False)


@contract
def test_anomaly_mode(name):
    """No gradient on the way is NaN, even for a text that is nothing but padding."""
    module, inputs = made(name).train(), MODULES[name][1](3, 5)
    weights = [p for p in module.parameters() if p.requires_grad]
    with torch.autograd.set_detect_anomaly(True):
        loss = tree_leaves(run(module, inputs))[0].square().sum()
        found = torch.autograd.grad(loss, weights, allow_unused=True) if weights else ()
    assert all(g is None or g.isfinite().all() for g in found)


@pytest.mark.parametrize("name", [*MODULES, *LECTURES])
def test_another_number_of_axes(name):
    """An input without its batch, or with an axis before it: refused, or the result is that of a batch."""
    module, inputs = made(name), (MODULES | LECTURES)[name][1](3, 5)
    for changed in (range(len(inputs)), *([i] for i in range(len(inputs)))):
        for other, in_batch in ((lambda x: x[0], lambda x: x[:1]), (lambda x: x[None], lambda x: x)):
            try:
                found = run(module, tuple(other(x) if i in changed else x for i, x in enumerate(inputs)))
            except (ValueError, RuntimeError, IndexError):
                continue
            wanted = run(module, tuple(in_batch(x) if i in changed else x for i, x in enumerate(inputs)))
            for one, right in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
                same(one.reshape(right.shape), right, exact=False)


@pytest.mark.parametrize(
    "name", ["GPT", "Seq2Seq", "TextEncoder", "UNet", "Patches", "ConvolutionalStem", "PixelAttention"]
    + ["MultiHeadAttention", *LECTURES]
)  # fmt: skip
def test_a_missing_batch_is_refused_by_its_shape(name):
    module, (first, *others) = made(name), (MODULES | LECTURES)[name][1](3, 5)
    with pytest.raises(ValueError, match=rf"^shape {re.escape(str(tuple(first[0].shape)))} is not \(batch, "):
        module(first[0], *others)
