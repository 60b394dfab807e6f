"""Folders of saved models: of the right kind, with the right fields, or refused in one line."""

import json
import re

import pytest
import torch
from safetensors.torch import load_file, save_file

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.models.seq2seq import Seq2Seq, Seq2SeqConfig
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.models.vit import ViT, ViTConfig
from course_lib.tasks.image_classification import load_classifier, save_classifier
from course_lib.tasks.language_modeling import load_language_model, save_language_model
from course_lib.tasks.text_classification import (
    TextClassifier,
    load_text_classifier,
    predict,
    save_text_classifier,
)
from course_lib.tasks.translation import load_translator, save_translator
from course_lib.text.tokenizers import Tokenizer

TOKENS = Tokenizer.train(["one and two, three and four."], vocab=40)
SIZES = {"vocab": len(TOKENS), "d_model": 16, "heads": 2, "max_tokens": 8}
CLASSES = ["a", "b", "c"]


def translator():
    return Seq2Seq(Seq2SeqConfig(encoder_layers=1, decoder_layers=1, d_ff=16, **SIZES))


def image_classifier():
    return ViT(ViTConfig(classes=3, image_size=8, patch_size=4, channels=1, d_model=16, heads=2, layers=1))


def text_classifier():
    return TextClassifier(TextEncoder(EncoderConfig(layers=1, **SIZES)), len(CLASSES), "mean")


KINDS = {  # how a model of each kind is saved, and loaded
    "translator": (lambda folder: save_translator(folder, translator(), TOKENS), load_translator),
    "language model": (
        lambda folder: save_language_model(folder, GPT(GPTConfig(layers=1, **SIZES)), TOKENS),
        load_language_model,
    ),
    "image classifier": (
        lambda folder: save_classifier(folder, image_classifier(), CLASSES),
        load_classifier,
    ),
    "text classifier": (
        lambda folder: save_text_classifier(folder, text_classifier(), TOKENS, CLASSES),
        load_text_classifier,
    ),
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder of each kind."""
    folder = tmp_path_factory.mktemp("models")
    for kind, (save, _) in KINDS.items():
        save(folder / kind)
    return folder


@pytest.mark.parametrize("wanted", KINDS)
@pytest.mark.parametrize("found", KINDS)
def test_a_model_of_another_kind_is_refused_with_both_kinds(saved, found, wanted):
    load = KINDS[wanted][1]
    if found == wanted:
        model, *_ = load(saved / found)
        stored = load_file(saved / found / "model.safetensors")
        assert not model.training and all(model.state_dict()[name].equal(stored[name]) for name in stored)
        names = {path.name for path in (saved / found).iterdir()}
        assert names - {"tokens.json"} == {"config.json", "model.safetensors"}
    else:
        with pytest.raises(ValueError, match=f"kind '{found}', and the kind wanted is '{wanted}'$"):
            load(saved / found)


def sizes(**new):
    """A change of the model's sizes; None takes one out."""

    def change(about):
        changed = {**about["model"], **new}
        return {**about, "model": {name: size for name, size in changed.items() if size is not None}}

    return change


CHANGES = {  # of config.json, and what the error names
    "no kind": (lambda about: about["model"], "names no kind of model"),
    "a list": (lambda about: [], "names no kind of model"),
    "unknown field": (sizes(depth=3), "unknown fields: depth"),
    "unknown part": (lambda about: {**about, "note": ""}, "unknown fields: note"),
    "missing field": (sizes(vocab=None), "lacks fields: vocab"),
    "missing part": (lambda about: {"kind": about["kind"]}, "lacks fields: model, tokenizer"),
    "no sizes": (lambda about: {**about, "model": 7}, "model=7 is not a set of fields"),
    "a word": (sizes(heads="two"), "heads='two' is not of type int"),
    "impossible": (sizes(heads=5), "heads=5 .* d_model=16"),
    "zero": (sizes(heads=0), "heads=0 .* at least 1"),
    "too many layers": (sizes(layers=10**9), "layers=1000000000, but .* has only [0-9]+ tensors"),
    "too wide": (sizes(d_model=10**12), "d_model=1000000000000, but .* has only [0-9,]+ bytes"),
    "other sizes": (sizes(max_tokens=9), r"another model: \S+ is \(8, 16\) float there and \(9, 16\)"),
    "another vocabulary": (sizes(vocab=9), f"has {len(TOKENS)} tokens, the model has vocab=9"),
    "another order": (lambda about: {**about, "tokenizer": "abc"}, "vocabulary of another model"),
}


@pytest.mark.parametrize("change", CHANGES)
def test_wrong_or_unknown_fields_are_refused_in_one_line(tmp_path, change):
    KINDS["language model"][0](tmp_path / "model")
    path, (make, message) = tmp_path / "model" / "config.json", CHANGES[change]
    path.write_text(json.dumps(make(json.loads(path.read_text()))))
    with pytest.raises(ValueError, match=message) as caught:
        load_language_model(tmp_path / "model")
    assert len(str(caught.value).splitlines()) == 1 and str(tmp_path / "model") in str(caught.value)


WRITTEN = [  # into one of the files, and what the error names
    ("config.json", b"{", "is not JSON"),
    *(
        ("model.safetensors", header, "is not a whole safetensors file")
        for header in (b"", b"\xff" * 8, (2**40).to_bytes(8, "little") + b"{}", b"\2" + b"\0" * 7 + b"{]")
    ),
    *(
        ("tokens.json", content, "is not a vocabulary")
        for content in (b"[" * 200_000, b"\xff\xfe", b"", b"[]", b'{"kind": "characters", "pieces": 3}')
    ),
]


@pytest.mark.parametrize(("name", "content", "message"), WRITTEN, ids=range(len(WRITTEN)))
def test_a_damaged_or_hostile_file_is_refused_by_name(tmp_path, name, content, message):
    KINDS["translator"][0](tmp_path / "model")
    (tmp_path / "model" / name).write_bytes(content)
    with pytest.raises(ValueError, match=f"{name} {message}"):
        load_translator(tmp_path / "model")


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_file_is_named(tmp_path, kind):
    save, load = KINDS[kind]
    save(tmp_path / "model")
    for path in (tmp_path / "model").iterdir():
        content = path.read_bytes()
        path.unlink()
        with pytest.raises(FileNotFoundError, match=path.name):
            load(tmp_path / "model")
        path.write_bytes(content)


def test_a_text_classifier_comes_back(tmp_path):
    model = text_classifier().eval()
    model.head.weight.data.normal_()
    save_text_classifier(tmp_path / "model", model, TOKENS, CLASSES)
    again, tokenizer, classes = load_text_classifier(tmp_path / "model")
    ids = TOKENS.encode_batch(["one two", "four"])
    assert tokenizer.fingerprint == TOKENS.fingerprint and classes == CLASSES
    assert predict(again, ids).equal(predict(model, ids))
    with pytest.raises(ValueError, match="2 class names, but the model has classes=3"):
        save_text_classifier(tmp_path / "model", model, TOKENS, ["a", "b"])


def test_a_folder_with_the_former_names_of_the_norms_is_read(tmp_path):
    """They were residuals.0.norm and so on, one list for each block."""
    save, load, *_ = KINDS["language model"]
    save(tmp_path / "model")
    path = tmp_path / "model" / "model.safetensors"
    weights = load_file(path)
    former = {
        re.sub(r"norm_(\d)", lambda m: f"residuals.{int(m[1]) - 1}.norm", n): t for n, t in weights.items()
    }
    assert former.keys() != weights.keys()
    save_file(former, path)
    model = load(tmp_path / "model")[0]
    assert all(torch.equal(t, weights[name]) for name, t in model.state_dict().items())


def test_saving_a_model_deletes_nothing_else(tmp_path):
    save, load = KINDS["language model"]
    (tmp_path / "README.md").write_text("mine")
    for _ in range(2):
        save(tmp_path)
    assert (tmp_path / "README.md").read_text() == "mine" and load(tmp_path)
    (tmp_path / "photos").mkdir()
    with pytest.raises(ValueError, match=r"holds the folder photos; choose a new folder"):
        save(tmp_path)
    assert (tmp_path / "photos").is_dir()
