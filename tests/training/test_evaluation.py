"""Evaluation mode: whatever happens inside, modes and random generators are afterwards as before."""

import pytest
import torch
from torch import nn

from course_lib.chapters.ch06_translation import translation_trace
from course_lib.chapters.ch07_language_models import sampler_widget as sampler
from course_lib.chapters.ch08_images.vit_interpret import attention_maps
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.unet import UNet, UNetConfig
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.diffusion import Diffusion
from course_lib.tasks.diffusion import sample as sample_pictures
from course_lib.tasks.image_classification import predict as predict_images
from course_lib.tasks.language_modeling import continue_text, mean_loss
from course_lib.tasks.prefix_lm import translate_with_lm
from course_lib.tasks.text_classification import TextClassifier
from course_lib.tasks.text_classification import predict as predict_texts
from course_lib.tasks.translation import translate
from course_lib.text.tokenizers import CharTokenizer, Tokenizer
from course_lib.training.evaluation import evaluating
from course_lib.widgets import reading

TEXT = "one and two, three and four."
TOKENS, CHARACTERS = Tokenizer.train([TEXT], vocab=40), CharTokenizer.train([TEXT])
SIZES = {"d_model": 16, "heads": 2, "max_tokens": 32}
PICTURES = torch.zeros(2, 1, 8, 8)


@pytest.mark.parametrize("error", [None, ValueError, KeyboardInterrupt])
def test_each_module_is_afterwards_in_its_own_mode(error):
    model = nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5)).train()
    model[0].eval()
    before = torch.get_rng_state()
    try:
        with evaluating(model) as inside:
            assert inside is model and not any(module.training for module in model.modules())
            torch.rand(5)
            if error:
                raise error
    except (ValueError, KeyboardInterrupt) as caught:
        assert isinstance(caught, error)
    assert [module.training for module in model.modules()] == [True, False, True]
    assert torch.equal(torch.get_rng_state(), before)


def test_a_model_without_weights_can_be_evaluated():
    with evaluating(nn.Dropout()) as model:
        assert not model.training
    assert model.training


def gpt(vocabulary):
    return GPT(GPTConfig(vocab=len(vocabulary), layers=1, **SIZES))


def seq2seq():
    blocks = {"encoder_layers": 1, "decoder_layers": 1, "d_ff": 16}
    return Seq2Seq(Seq2SeqConfig(vocab=len(TOKENS), **blocks, **SIZES))


def vit():
    return ViT(ViTConfig(classes=3, image_size=8, patch_size=4, channels=1, d_model=16, heads=2, layers=1))


def text_classifier():
    return TextClassifier(TextEncoder(EncoderConfig(vocab=len(TOKENS), layers=1, **SIZES)), 3)


EVALUATIONS = {
    "translate": (seq2seq, lambda model: translate(model, TOKENS, ["one"])),
    "mean_loss": (lambda: gpt(TOKENS), lambda model: mean_loss(model, TOKENS.encode(TEXT))),
    "continue_text": (lambda: gpt(TOKENS), lambda model: continue_text(model, TOKENS, "one", 3)),
    "predict images": (vit, lambda model: predict_images(model, PICTURES)),
    "predict texts": (text_classifier, lambda model: predict_texts(model, [TOKENS.encode("one")])),
    "translate after a prompt": (lambda: gpt(TOKENS), lambda m: translate_with_lm(m, TOKENS, ["one"])),
    "sample pictures": (
        lambda: UNet(UNetConfig(widths=(8, 8))),
        lambda model: sample_pictures(model, Diffusion(25), (1, 1, 8, 8)),
    ),
    "attention_maps": (vit, lambda model: attention_maps(model, PICTURES)),
    "sampler widget": (lambda: gpt(CHARACTERS), lambda m: sampler.write(m, CHARACTERS, "one", 0, {})),
    "reading widget": (lambda: gpt(CHARACTERS), lambda model: reading.read(model, CHARACTERS, "one")),
    "translation widget": (seq2seq, lambda model: translation_trace.write(model, TOKENS, "one", 1)),
}


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt])
@pytest.mark.parametrize("name", EVALUATIONS)
def test_what_fails_or_is_interrupted_leaves_the_model_in_training_mode(name, error):
    make, evaluate = EVALUATIONS[name]
    model = make().train()
    evaluate(model)
    assert all(module.training for module in model.modules())
    seen = []

    def fail(module, inputs):
        seen.append(module.training)
        raise error

    for module in model.modules():
        if isinstance(module, nn.Linear | nn.LayerNorm | nn.Conv2d | nn.Embedding):
            module.register_forward_pre_hook(fail)
    with pytest.raises(error):
        evaluate(model)
    assert seen == [False] and all(module.training for module in model.modules())
