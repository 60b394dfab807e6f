"""From a file of your own to a model that is used: report, training, and the commands for trained models."""

import gzip
import io
import json
import re
import shutil

import pytest
import torch
from helpers.small_training import PAIRS
from PIL import Image

from course_lib import __main__ as command_line
from course_lib.datasets import load_image_folder
from course_lib.pretrained.torchvision_ops import library
from course_lib.tasks import classify, continue_text, load_run, translate
from course_lib.tasks.image_classification import accuracy
from course_lib.tasks.runs import logits_of

QUICK = "--steps 20 --d-model 16 --layers 1 --warmup 5 --device cpu --precision fp32".split()
TEXT = "the cat sat on the mat.\n\tthe dog sat on the log 🐕.\n"


def run(capsys, *words, code=0):
    """What a command prints."""
    found = command_line.main([str(word) for word in words])
    said = capsys.readouterr()
    assert found == code, said.err
    return said.out if code == 0 else said.err


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A trained run of each task, with the data beside it, and what each training printed."""
    home, said = tmp_path_factory.mktemp("own"), {}
    (home / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS), encoding="utf-8")
    (home / "poem.txt").write_text(TEXT * 60, encoding="utf-8")
    rows = [f"film {n} is {word},{word}\n" for n in range(20) for word in ("good", "bad")]
    (home / "reviews.csv").write_text("".join(rows), encoding="utf-8")
    for n in range(20):
        for name, shade in (("dark", 2 * n), ("light", 200 + 2 * n)):
            (home / "photos" / name).mkdir(parents=True, exist_ok=True)
            Image.new("RGB", (20, 16), (shade, shade, n)).save(home / "photos" / name / f"{n}.png")
    special = {
        "translation": ("pairs.tsv", "--vocab", 80, "--batch", 8),
        "gpt": ("poem.txt", "--vocab", 280, "--batch", 4, "--context", 16, "--form", "gpt-2", "--heads", 2),
        "vision": ("photos", "--image-size", 8, "--heads", 2),  # few: the batch size is that for own data
        "classification": (
            "reviews.csv",
            *"--batch 8 --vocab 60 --context 12 --heads 2 --form bert --lr 0.003".split(),
        ),
    }
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(home)
        for task, (data, *more) in special.items():
            words = ["train", task, "--data", data, *map(str, more), *QUICK, "--out", f"runs/{task}"]
            with pytest.MonkeyPatch.context() as inner:
                inner.setattr("sys.stdout", out := io.StringIO())
                assert command_line.main(words) == 0
            said[task] = out.getvalue()
    return home, said


@pytest.fixture
def home(runs, monkeypatch):
    monkeypatch.chdir(runs[0])
    return runs[0]


REPORTED = {
    "translation": (
        "42 pairs, 0 of them repeated",
        "words (median), from 1 to 3",
        "0.00% of the held-out",
        " pairs share a sentence",
        "split by sentence: ",
        " train, ",
        " different characters",
    ),
    "gpt": ("1 document, 0 of them repeated; 3,060 characters, 17 different", "in one piece each", "0.00%"),
    "vision": (
        "40 images, 0 of them repeated",
        "dark         16, 2, 2",
        "of 20×16 to 20×16 pixels, scaled to 8×8 pixels, in color",
    ),
    "classification": (
        "40 texts, 0 of them repeated",
        "bad          16, 2, 2",
        "length: 4 tokens",
        " different characters",
    ),
}


@pytest.mark.parametrize("task", REPORTED)
def test_what_is_found_is_reported_before_training(runs, task):
    said = runs[1][task]
    before = said[: said.index("parameters, ")]
    assert all(words in before for words in REPORTED[task]), before
    assert re.search(r"\n[\d.e-]+ training .* per parameter\n", before)
    assert re.search(
        r"\nexpected time: about [\d.e-]+ minutes for 20 steps, .* s per step in a trial\)\n", before
    )
    assert "20 steps in" in said and "The model is in" in said


def test_runs_are_listed_with_data_size_and_score(home, capsys):
    said = run(capsys, "runs")
    assert re.search(r"runs/gpt\n    gpt; poem.txt; 0\.\d MB; test, windows .* bits per character", said)
    assert re.search(r"runs/vision\n    vision; photos; 0\.0 MB; test accuracy: [\d.]+% of 4 images", said)
    assert re.search(r"translation; pairs.tsv; .*BLEU", said) and "reviews.csv" in said


def test_a_language_model_generates_and_loses_nothing(home, capsys):
    long = "the cat 🐕\t\n" * 30  # beyond its context of 16 tokens
    for prompt in ("The cat", long):
        said = run(capsys, "generate", "runs/gpt", prompt, "--length", 12, "--temperature", 0)
        model = load_run("runs/gpt")
        assert (
            said
            == continue_text(model.model, model.tokenizer, prompt, 12, temperature=0.0, top_p=0.95) + "\n"
        )
        assert said.startswith(prompt)


def test_a_text_appears_token_by_token_until_ctrl_c(home, capsys, monkeypatch):
    def two_tokens(*inputs, **settings):
        for text in " sat", " on":
            yield text, 0.5
            seen.append(capsys.readouterr().out)
        raise KeyboardInterrupt

    seen = []
    monkeypatch.setattr("course_lib.tasks.language_modeling.stream_text", two_tokens)
    assert run(capsys, "generate", "runs/gpt", "The cat", code=1).startswith("Interrupted.")
    assert seen == ["The cat sat", " on"]


def test_the_device_of_the_environment_is_used(home, capsys, monkeypatch):
    monkeypatch.setenv("COURSE_DEVICE", "cuda:99")
    words = [word for word in QUICK if word not in ("--device", "cpu")]
    assert "COURSE_DEVICE='cuda:99'" in run(capsys, "train", "gpt", "--data", "poem.txt", *words, code=1)


def test_a_translator_translates_lines(home, capsys, monkeypatch):
    lines = ["one and two.", "", "six."]
    (home / "in.txt").write_text("\r\n".join(lines), encoding="utf-8")
    model = load_run("runs/translation")
    wanted = translate(model.model, model.tokenizer, [lines[0], lines[2]], width=4)
    assert run(capsys, "translate", "runs/translation", "in.txt") == f"{wanted[0]}\n\n{wanted[1]}\n"
    monkeypatch.setattr("sys.stdin", io.StringIO("one and two.\n"))
    assert run(capsys, "translate", "runs/translation") == f"{wanted[0]}\n"


def test_classifiers_name_classes(home, capsys, monkeypatch):
    files = ["photos/dark/1.png", "photos/light/2.png"]
    said = [line.split("\t") for line in run(capsys, "classify", "runs/vision", *files).splitlines()]
    found = classify(load_run("runs/vision"), files)
    assert said == [[name, f"{p:.4f}", file] for (name, p), file in zip(found, files, strict=True)]
    monkeypatch.setattr("sys.stdin", io.StringIO("film 3 is good\n\n"))
    name, probability, text = run(capsys, "classify", "runs/classification").split("\t")
    assert [(name, pytest.approx(float(probability), abs=1e-4))] == classify(
        load_run("runs/classification"), [text[:-1]]
    )


def test_evaluating_repeats_the_scores_of_the_training(runs, home, capsys):
    for task in ("gpt", "vision", "classification", "translation"):
        said = run(capsys, "evaluate", f"runs/{task}").splitlines()
        assert set(said) <= set(runs[1][task].splitlines())
        assert any(re.search("BLEU|bits|test accuracy", line) for line in said)


def test_other_data_of_ones_own_counts_as_a_whole(home, capsys):
    photos = load_image_folder("photos", size=8)
    model = load_run("runs/vision")
    shutil.copytree("photos", "more", dirs_exist_ok=True)
    shutil.rmtree("more/light")
    (home / "more" / "light").mkdir()
    shutil.copy("photos/light/0.png", "more/light")
    said = run(capsys, "evaluate", "runs/vision", "--data", "more")
    assert re.search(r"test accuracy: [\d.]+% of 21 images", said) and "were trained on" in said
    assert f"{100 * accuracy(model.model, photos.test):.2f}%" in run(capsys, "evaluate", "runs/vision")
    (home / "few.tsv").write_text("one.\tuno.\nseven.\tsiete.\n", encoding="utf-8")
    said = run(capsys, "evaluate", "runs/translation", "--data", "few.tsv")
    assert "on 2 sentences" in said and "1 of the 2" in said
    (home / "few.csv").write_text("film 77 is good,good\nit is bad,bad\n", encoding="utf-8")
    assert "of 2 texts" in run(capsys, "evaluate", "runs/classification", "--data", "few.csv")
    (home / "short.txt").write_text(TEXT, encoding="utf-8")
    assert "all, windows" in run(capsys, "evaluate", "runs/gpt", "--data", "short.txt")


@pytest.mark.parametrize("task", ["gpt", "vision", "classification"])
def test_transformers_loads_an_exported_model_with_equal_logits(home, capsys, task):
    transformers = pytest.importorskip("transformers")
    run(capsys, "export", f"runs/{task}", "--to", "huggingface", "--out", f"exported/{task}")
    model, folder = load_run(f"runs/{task}"), f"exported/{task}"
    with torch.no_grad():
        if task == "gpt":
            theirs = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            ids = tokenizer(f"{TEXT}[EOS]")["input_ids"]
            assert ids == model.tokenizer.encode(f"{TEXT}[EOS]") and tokenizer.decode(ids) == f"{TEXT}[EOS]"
            ours = model.model(inputs := torch.tensor([ids[:16]]))
        elif task == "vision":
            theirs = transformers.AutoModelForImageClassification.from_pretrained(folder).eval()
            ours = model.model(inputs := torch.rand(2, 3, 8, 8) * 2 - 1)
        else:
            theirs = transformers.AutoModelForSequenceClassification.from_pretrained(folder).eval()
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            ours = logits_of(model, texts := ["film 3  is\u200b good", "film 31 is good " * 9])
            read = tokenizer(texts, padding=True, truncation=True, return_tensors="pt")
            assert model.model.head.weight.abs().sum() > 0.1
            torch.testing.assert_close(theirs(**read).logits, ours, atol=1e-5, rtol=1e-4)
            return
        torch.testing.assert_close(theirs(inputs).logits, ours, atol=1e-5, rtol=1e-4)
    if task == "vision":
        assert theirs.config.id2label == {0: "dark", 1: "light"}


def test_timm_loads_an_exported_model_with_equal_logits(home, capsys):
    timm = library("timm")
    run(capsys, "export", "runs/vision", "--to", "timm")
    theirs = timm.create_model("local-dir:runs/vision/timm", pretrained=True).eval()
    images = torch.rand(2, 3, 8, 8) * 2 - 1
    with torch.no_grad():
        torch.testing.assert_close(
            theirs(images), load_run("runs/vision").model(images), atol=1e-5, rtol=1e-4
        )
    assert theirs.pretrained_cfg["label_names"] == ["dark", "light"]


def broken(home, name: str, change) -> str:
    """A copy of the language model's run, changed."""
    folder = home / name
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(home / "runs" / "gpt", folder)
    change(folder)
    return name


def unfinished(folder):
    shutil.rmtree(folder / "model")
    record = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps({k: v for k, v in record.items() if k != "result"}))


DAMAGES = {
    "unfinished": (unfinished, "has not finished"),
    "no-json": (lambda f: (f / "model" / "config.json").write_text("{"), "names no kind of model"),
    "no-weights": (lambda f: (f / "model" / "model.safetensors").unlink(), "model.safetensors"),
    "record": (lambda f: (f / "run.json").write_text("{"), "run.json is damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_run_is_refused_in_one_line(home, capsys, name):
    change, message = DAMAGES[name]
    folder = broken(home, name, change)
    said = run(capsys, "generate", folder, "The", code=1)
    assert message in said and said.count("\n") == 1
    assert len(run(capsys, "runs", folder).splitlines()) == 2  # listed, not a traceback
    shutil.rmtree(folder)


BAD = [
    (("generate", "nowhere", "x"), "'nowhere' is no folder"),
    (("generate", "poem.txt", "x"), "is a file, not the folder of a run"),
    (("generate", "photos", "x"), "photos holds no trained model"),
    (("generate", "runs/vision", "x"), "is a run of `train vision`"),
    (("generate", "runs/gpt", ""), "prompt='' is empty"),
    (("generate", "runs/gpt", "a\udcff"), "lone surrogate"),
    (("generate", "runs/gpt", "x", "--device", "cuda:99"), "cuda:99"),
    (("translate", "runs/gpt"), "this needs one of `train translation`"),
    (("translate", "runs/translation", "long.txt"), "long.txt, line 2: 400 tokens and EOS exceed"),
    (("classify", "runs/vision", "poem.txt"), "poem.txt cannot be read as an image"),
    (("classify", "runs/vision", "no.png"), "'no.png' is no file"),
    (("classify", "runs/classification", " "), "text 1 is empty"),
    (("classify", "runs/translation", "x"), "this needs one of `train vision` or `train classification`"),
    (("evaluate", "runs/vision", "--data", "digits"), "gray, channels=1"),
    (("evaluate", "runs/gpt", "--data", "nope"), "unknown data set 'nope'"),
    (("evaluate", "runs/classification", "--data", "other.csv"), "'ugly' is none of the classes bad, good"),
    (("export", "runs/translation"), "no counterpart in transformers"),
    (("export", "runs/gpt", "--to", "timm"), "models of `train gpt` have no counterpart in timm"),
    (("train", "gpt", "--data", "short.md", *QUICK), "tokens are too few for 32 windows of 64"),
    (("train", "gpt", "--data", "tiny.md", *QUICK), "tiny.md: 1 characters are too few"),
    (("train", "gpt", "--data", "photos", *QUICK), "photos holds no file that ends in"),
    (("train", "vision", "--data", "poem.txt", *QUICK), "poem.txt is a file, not a folder"),
    (("train", "vision", "--data", "digits", "--image-size", 9, *QUICK), "image_size=9"),
    (("train", "translation", "--data", "poem.txt", *QUICK), "poem.txt"),
    (("train", "translation", "--data", "a", "b", "c", *QUICK), "'a' is no file"),
    (("train", "classification", "--data", "pairs.tsv", *QUICK), "are no classes"),
    (("train", "gpt", "--data", "spa-eng", *QUICK), "'spa-eng' is a set of sentence pairs"),
    (("train", "gpt", "--data", "poem.txt", "--heads", 3, *QUICK), "heads=3 does not divide d_model=16"),
    (("train", "vision", "--data", "spa-eng", *QUICK), "'spa-eng' is not a set of images"),
    (("train", "vision", "--data", "digits", "--patch-size", 3, *QUICK), "patch_size=3 does not divide"),
    (("train", "vision", "--data", "photos", "--augment", "turn", *QUICK), "'turn' is none of crop, flip"),
    (("train", "vision", "--data", "photos", "--heads", 3, *QUICK), "heads=3 does not divide d_model=16"),
    (("train", "vision", "--data", "photos", "--batch", 500, "--heads", 2, *QUICK), "from 1 to 32"),
]  # fmt: skip


@pytest.mark.parametrize(
    "number", range(len(BAD)), ids=[ascii(" ".join(map(str, bad[0][:4]))) for bad in BAD]
)
def test_a_mistake_is_one_line(home, capsys, number):
    words, message = BAD[number]
    (home / "long.txt").write_text("one.\n" + "one " * 400, encoding="utf-8")
    (home / "short.md").write_text(TEXT * 9, encoding="utf-8")
    (home / "tiny.md").write_text("x", encoding="utf-8")
    (home / "other.csv").write_text("it is ugly,ugly\nit is bad,bad\n", encoding="utf-8")
    before = sorted(home.rglob("*"))
    said = run(capsys, *words, code=1)
    assert message in said and said.count("\n") == 1, said
    assert sorted(home.rglob("*")) == before


PNG = io.BytesIO()
Image.new("RGB", (12, 9)).save(PNG, "PNG")
BROKEN = {  # what is written, the task that gets the first name, and its answer, where {} is the first path
    "cut character": (
        {"a.txt": ("line\n" * 99 + "é").encode()[:-1]},
        "gpt",
        "{}, line 100: byte 0xc3 is not",
    ),
    "latin-1": ({"a.txt": b"a\n" * 9 + b"\xe9\n"}, "gpt", "{}, line 10: byte 0xe9 is not UTF-8"),
    "cut object": ({"a.jsonl": b'{"text": "a"}\n' * 40 + b'{"text'}, "gpt", "{}, line 41 is not JSON"),
    "nothing": ({"a.txt": b""}, "gpt", "{} is empty (0 bytes)"),
    "spaces": ({"a.txt": b" \n   \n"}, "gpt", "{} is empty (nothing but white space)"),
    "a folder": ({"a.txt/.keep": b""}, "gpt", "a.txt holds no file that ends in .txt"),
    "gzip": ({"a.txt": gzip.compress(b"line\n" * 99)}, "gpt", "{} is compressed by gzip"),
    "columns": ({"a.csv": b"text,label\na,x\nb,y,z\n"}, "classification", "{}, line 3 has 3 columns"),
    "commas": ({"a.csv": b" , \n,\n"}, "classification", "{} is empty (nothing but blank cells)"),
    "lines": ({"a.en": b"1\n2\n", "a.de": b"1\n"}, "translation", "{} has 2 lines and "),
    "image": (
        {"c/a/0.png": PNG.getvalue()[:40], "c/b/0.png": PNG.getvalue()},
        "vision",
        "{} cannot be read as",
    ),
}


@pytest.mark.parametrize("name", BROKEN)
def test_training_names_what_is_broken(tmp_path, monkeypatch, capsys, name):
    monkeypatch.chdir(tmp_path)
    files, task, message = BROKEN[name]
    for file, content in files.items():
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_bytes(content)
    first = next(iter(files))
    data = list(files) if task == "translation" else [re.sub("/.*", "", first)]
    said = run(capsys, "train", task, "--data", *data, *QUICK, code=1)
    assert message.replace("{}", first) in said and said.count("\n") == 1, said
    assert not (tmp_path / "runs").exists()


def test_changed_data_is_noticed(home, capsys, monkeypatch):
    folder = broken(home, "changed", lambda folder: None)
    kept = (home / "poem.txt").read_text(encoding="utf-8")
    (home / "poem.txt").write_text("One more line.\n" + kept, encoding="utf-8")
    assert "poem.txt has changed since the run was trained" in run(capsys, "evaluate", folder, code=1)
    (home / "poem.txt").write_text(kept, encoding="utf-8")
