"""Nothing is made on the CPU where a model and its inputs lie elsewhere.

No GPU is needed: the device "meta" has shapes and no numbers, and each tensor that is made says where it is.
"""

import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from course_lib.generation.sampling import next_token_probabilities
from course_lib.generation.state import new_caches
from course_lib.layers.kv_cache import MemoryCache, StaticCache
from course_lib.layers.multi_head_attention import AdditiveAttention
from course_lib.layers.pixel_attention import PixelAttention
from course_lib.lectures.dlstudio import (
    Deviations,
    DLStudioConfig,
    TransformerFG,
    TransformerPreLN,
    VisionConfig,
    VisionDeviations,
    VisTransformer,
)
from course_lib.models import seq2seq, vit
from course_lib.models.gpt import GPT, POSITIONS, GPTConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.unet import UNet, UNetConfig
from course_lib.tasks.augmentation import RandomCrop, RandomFlip
from course_lib.tasks.image_classification import ImageClassificationLoss, to_floats
from course_lib.tasks.language_modeling import LanguageModelLoss
from course_lib.tasks.pretraining import mask_tokens
from course_lib.tasks.text_classification import POOLINGS, TextClassificationLoss, TextClassifier
from course_lib.training.optim import orthogonal

VOCAB, BATCH, TOKENS = 13, 2, 5
SIZES = {"vocab": VOCAB, "d_model": 12, "heads": 3, "max_tokens": 8}


class Staying(TorchDispatchMode):
    """Within the block, a tensor made on another device than "meta" is an error that names what made it."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        made = function(*args, **(kwargs or {}))
        elsewhere = [one for one in tree_leaves(made) if isinstance(one, Tensor) and not one.is_meta]
        assert not elsewhere, f"{function} made a tensor on {elsewhere[0].device}"
        return made


def ids(*shape: int) -> Tensor:
    return torch.zeros(shape or (BATCH, TOKENS), dtype=torch.long, device="meta")


def numbers(*shape: int) -> Tensor:
    return torch.zeros(shape, device="meta")


def pixels() -> Tensor:
    return torch.zeros(BATCH, 3, 8, 8, dtype=torch.uint8, device="meta")


def stays(function, *inputs) -> None:
    """Call a function, or a module in training and in evaluation; each with everything on one device."""
    module = isinstance(function, torch.nn.Module)
    for mode in (True, False) if module else (None,):
        ready = function.to("meta").train(mode) if module else function
        with Staying():
            ready(*inputs)


def test_a_stranger_is_seen():
    with pytest.raises(AssertionError, match="aten.arange.* made a tensor on cpu"):
        stays(lambda x: x + torch.arange(5), numbers(5))


@pytest.mark.parametrize("positions", ["sinusoidal", "learned", "rotary"])
@pytest.mark.parametrize("static", [None, False, True], ids=["whole", "cached", "static"])
def test_translating(positions, static):
    config = seq2seq.Seq2SeqConfig(**SIZES, d_ff=24, dropout=0.1, positions=positions)
    model = seq2seq.Seq2Seq(config)
    if static is None:
        return stays(model, ids(), ids(BATCH, 4))

    model.to("meta")  # the tables of positions are computed on the CPU, and then lie there

    def read(source, target):
        memory = model.encode(source)
        caches = [(own, MemoryCache()) for own in new_caches(2, 8, static)]
        for tokens in (target[:, :2], target[:, 2:3]):
            model.decode(tokens, memory, caches)
            for own, cross in caches:
                own.select(ids(BATCH))
                cross.select(ids(BATCH))

    stays(read, ids(), ids(BATCH, 4))


@pytest.mark.parametrize("positions", POSITIONS)
def test_language_models(positions):
    model = GPT(GPTConfig(**SIZES, dropout=0.1, positions=positions, qk_norm=True))
    stays(LanguageModelLoss(model), ids())
    caches = [StaticCache(8) for _ in model.blocks]
    stays(lambda text: model.hidden_states(text, caches=caches), ids())
    stays(lambda text: model.hidden_states(text, caches=caches), ids(BATCH, 1))


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("causal", [False, True])
def test_reading_texts(pooling, causal):
    encoder = TextEncoder(EncoderConfig(**SIZES, types=2, causal=causal))
    tokens = 8 if pooling == "flatten" else TOKENS
    stays(TextClassificationLoss(TextClassifier(encoder, 3, pooling)), ids(BATCH, tokens), ids(BATCH))


@pytest.mark.parametrize("pooling", vit.POOLINGS)
@pytest.mark.parametrize("positions", vit.GRIDS)
@pytest.mark.parametrize("tokenizer", vit.TOKENIZERS)
def test_reading_images(pooling, positions, tokenizer):
    form = {"pooling": pooling, "positions": positions, "tokenizer": tokenizer}
    model = vit.ViT(vit.ViTConfig(classes=4, image_size=8, d_model=12, heads=3, layers=2, **form))
    stays(ImageClassificationLoss(model, 0.1), to_floats(pixels()), ids(BATCH))


@pytest.mark.parametrize("kind", [TransformerFG, TransformerPreLN])
@pytest.mark.parametrize("deviations", [Deviations(), Deviations.lecture(), Deviations.lecture(masking=True)])
def test_the_lectures_translators(kind, deviations):
    sizes = {"source_vocab": VOCAB, "target_vocab": VOCAB, "d_model": 12, "heads": 3, "tokens": TOKENS}
    stays(kind(DLStudioConfig(**sizes), deviations), ids(), ids())


@pytest.mark.parametrize(
    "deviations", [VisionDeviations(), VisionDeviations.lecture()], ids=["fixed", "as it is"]
)
def test_the_lectures_vision_transformer(deviations):
    config = VisionConfig(image_size=8, patch_size=4, d_model=12, heads=3, layers=2)
    stays(VisTransformer(config, deviations), to_floats(pixels()))


@pytest.mark.parametrize("attention", [False, True])
def test_pictures_and_noise(attention):
    stays(UNet(UNetConfig(widths=(8, 16), attention=attention)), numbers(BATCH, 1, 8, 8), ids(BATCH))
    stays(PixelAttention(16, heads=2), numbers(BATCH, 16, 3, 5))


def test_additive_attention():
    stays(AdditiveAttention(3, 5, 7), numbers(2, 3), numbers(4, 5), numbers(4, 6))


SMALL = {
    "next token": lambda: next_token_probabilities(numbers(BATCH, VOCAB), 0.7, 5, 0.9, 0.1),
    "the best token": lambda: next_token_probabilities(numbers(BATCH, VOCAB), 0.0),
    "masked tokens": lambda: mask_tokens(ids(), VOCAB),
    "crop": lambda: RandomCrop()(pixels(), ids(BATCH)),
    "flip": lambda: RandomFlip()(pixels(), ids(BATCH)),
    "orthogonal": lambda: orthogonal(numbers(3, 4, 5)),
}


@pytest.mark.parametrize("name", SMALL)
def test_functions(name):
    stays(SMALL[name])
