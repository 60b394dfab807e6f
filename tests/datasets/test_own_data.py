"""Your own data: what each loader reads, splits that do not leak, and faults that name file and line."""

import io
import json
import tracemalloc

import pytest
import torch
from PIL import Image

from course_lib.datasets import (
    TextFiles,
    load_image_folder,
    load_images,
    load_labeled_texts,
    load_labelled,
    load_pairs,
    load_text,
    load_translation,
    text_files,
)
from course_lib.datasets.splits import normalize
from course_lib.experiments import recipes


def picture(shade: int, kind: str = "RGB", size: tuple[int, int] = (12, 9)) -> bytes:
    file = io.BytesIO()
    Image.new(kind, size, shade if kind == "L" else (shade, 0, 255 - shade)).save(file, "PNG")
    return file.getvalue()


def up(load, levels: int = 1):
    """The loader for the folder that holds a file, so many levels up."""
    return lambda path: load(path.parents[levels - 1])


def write(folder, files: dict[str, bytes | str]):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


PHOTOS = {f"{name}/{n}.png": picture(10 * n + add) for name, add in (("a", 0), ("b", 5)) for n in range(12)}
ROWS = [f"film {n} was {kind}" for n in range(20) for kind in ("good", "bad")]
LABELED = "".join(f"{row},{row.split()[-1]}\n" for row in ROWS)
GOOD = [
    ("Go on.", "Sigue."),
    ('He said "hi".', "Dijo «hola»."),
    ("I am here, you too.", "Estoy; tú también."),
]
TABLES = {
    "tabs.tsv": "".join(f"{a}\t{b}\n" for a, b in GOOD),
    "bom.tsv": b"\xef\xbb\xbf" + "".join(f"{a}\t{b}\r\n" for a, b in GOOD).encode(),
    "header.tsv": "English\tSpanish\n" + "".join(f"{a}\t{b}\n" for a, b in GOOD),
    "anki.txt": "".join(
        f"{a}\t{b}\tCC-BY 2.0 (France) Attribution: tatoeba.org #{len(a)}\n" for a, b in GOOD
    ),
    "tatoeba.tsv": "".join(f"{len(a)}\t{a}\t{len(b)}\t{b}\n" for a, b in GOOD),
    "blank.tsv": "\n" + "\n\t\n".join(f"{a}\t{b}" for a, b in GOOD),
    "excel.tsv": 'Go on.\tSigue.\n"He said ""hi""."\tDijo «hola».\n' + "\t".join(GOOD[2]),
    "swapped.csv": 'target,id,source\nSigue.,1,Go on.\nDijo «hola».,2,"He said ""hi""."\n'
    'Estoy; tú también.,3,"I am here, you too."\n',
    "german.csv": 'Go on.;Sigue.\n"He said ""hi""";Dijo «hola».\n'.replace('hi"""', 'hi""."')
    + 'I am here, you too.;"Estoy; tú también."\n',
    "objects.jsonl": '{"source": "Go on.", "target": "Sigue."}\n\n{"target": "Dijo «hola».", '
    '"source": "He said \\"hi\\"."}\n{"source": "I am here, you too.", "target": "Estoy; tú también."}',
}


@pytest.mark.parametrize("name", TABLES)
def test_tables_of_pairs(tmp_path, name):
    assert load_pairs(write(tmp_path, {name: TABLES[name]}) / name) == GOOD


def test_two_files_and_a_folder_of_two(tmp_path):
    sides = ["".join(f"{pair[side]}\n" for pair in GOOD) for side in (0, 1)]
    files = {"x.es-en.es": sides[1], "x.es-en.en": sides[0], "README": "x", "x.es-en.ids": "1"}
    write(tmp_path, files)
    assert load_pairs([tmp_path / "x.es-en.en", tmp_path / "x.es-en.es"]) == GOOD
    assert load_pairs(tmp_path) == [(b, a) for a, b in GOOD]  # its name says from Spanish to English


def test_own_pairs_are_split_by_group(tmp_path):
    rows = [(f"word{n} here", f"palabra{n}") for n in range(60)] + [
        ("Word1 here!", "otra"),
        ("x", "palabra2"),
    ]
    path = write(tmp_path, {"p.tsv": "".join(f"{a}\t{b}\n" for a, b in rows)}) / "p.tsv"
    data = load_translation(path)
    assert (len(data.test), len(data.validation), data.name) == (6, 6, "p.tsv")
    assert len({*data.train, *data.validation, *data.test, *data.left_out}) == 62
    for side in (0, 1):
        train = {normalize(pair[side]) for pair in data.train}
        assert not train & {normalize(pair[side]) for pair in data.validation + data.test}


@pytest.mark.parametrize("name", ["r.csv", "r.tsv", "r.jsonl", "header.csv", "first.csv"])
def test_labeled_texts(tmp_path, name):
    forms = {
        "r.csv": LABELED,
        "r.tsv": LABELED.replace(",", "\t"),
        "r.jsonl": "".join(f'{{"text": "{row}", "label": "{row.split()[-1]}"}}\n' for row in ROWS),
        "header.csv": "id,review,sentiment\n"
        + "".join(f"{n},{r},{r.split()[-1]}\n" for n, r in enumerate(ROWS)),
        "first.csv": "".join(f"{row.split()[-1]},{row}\n" for row in ROWS),
    }
    path = write(tmp_path, {name: forms[name]}) / name
    data = load_labelled(str(path))
    assert data.classes == ("bad", "good") and data == load_labeled_texts(path)
    sizes = [len(part) for part in (data.train, data.validation, data.test)]
    assert sizes == [32, 4, 4] and sum(data.test.labels) == sum(data.validation.labels) == 2
    for part in (data.train, data.validation, data.test):
        assert all(text.endswith(data.classes[label]) for text, label in part)


def test_texts_with_the_same_words_are_in_the_same_set(tmp_path):
    rows = "".join(
        f"a good film {n},good\nFilm {n}: a good!,good\n{n} bad,bad\nbad {n},bad\n" for n in range(30)
    )
    data = load_labeled_texts(write(tmp_path, {"r.csv": rows}) / "r.csv")
    parts = [
        {" ".join(sorted(normalize(text).split())) for text in part.sentences}
        for part in (data.train, data.validation, data.test)
    ]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 60 and len(parts[2]) == 6


def test_a_folder_of_images(tmp_path):
    write(tmp_path, {**PHOTOS, "a/.DS_Store": "x", "a/notes.txt": "x", "a/copy.png": PHOTOS["a/3.png"]})
    data = load_image_folder(tmp_path, size=6)
    assert data.classes == ("a", "b") and data.train.pixels.shape[1:] == (3, 6, 6)
    assert [len(part) for part in (data.validation, data.test)] == [2, 2] or len(data.train) == 21
    parts = [{p.numpy().tobytes() for p in part.pixels} for part in (data.train, data.validation, data.test)]
    assert sum(map(len, parts)) == len(set.union(*parts)) == 24
    assert sum(map(len, (data.train, data.validation, data.test))) == 25
    reds = {
        (int(p[0, 0, 0]), int(label)) for p, label in zip(data.train.pixels, data.train.labels, strict=True)
    }
    assert all(red % 10 == 5 * label for red, label in reds)
    assert load_images(str(tmp_path)).train.pixels.shape[-1] == 32


def test_gray_images_have_one_channel(tmp_path):
    data = load_image_folder(write(tmp_path, {f"{c}/{n}.png": picture(9 * n + len(c), "L")
                                              for c in ("a", "bb") for n in range(4)}), size=5)  # fmt: skip
    assert data.train.pixels.shape == (4, 1, 5, 5) and data.train.pixels.dtype == torch.uint8


def test_a_text_is_split_in_one_piece_each_at_the_ends_of_lines(tmp_path):
    text = "".join(f"line {n}\r\n" for n in range(1000))
    path = write(tmp_path, {"t.txt": b"\xef\xbb\xbf" + text.encode()}) / "t.txt"
    data = load_text(str(path))
    assert data.train + data.validation + data.test == text.replace("\r\n", "\n")
    assert all(part.endswith("\n") for part in (data.train, data.validation, data.test))
    assert len(data.validation) == pytest.approx(len(data.test), abs=20) and len(data.test) > 400


@pytest.mark.parametrize("piece", [1, 7, 100, 10**6])
def test_the_size_of_the_pieces_does_not_matter(tmp_path, piece, monkeypatch):
    folder = write(tmp_path, {"a.txt": "ab\ncd" * 40, "b.md": "é\n" * 99, "sub/c.txt": "no line end" * 9})
    expected = load_text(folder)
    monkeypatch.setattr(text_files, "PIECE", piece)
    assert load_text(folder) == expected
    assert "".join(TextFiles(folder).all) == "\n\n".join(["ab\ncd" * 40, "é\n" * 99, "no line end" * 9])


def test_many_documents_are_split_by_document(tmp_path):
    rows = [f"document {n % 90}\nwith two lines" for n in range(100)]  # ten are there twice
    lines = "".join(json.dumps({"text": row}) + "\n" for row in rows)
    text = TextFiles(write(tmp_path, {"d.jsonl": lines}) / "d.jsonl")
    assert (text.documents, text.duplicates, text.by_document) == (100, 10, True)
    parts = [
        "".join(part).removesuffix("\n\n").split("\n\n") for part in (text.train, text.validation, text.test)
    ]
    assert sorted(sum(parts, [])) == sorted(rows)
    assert [len(set(part)) for part in parts] == [82, 4, 4]


def test_of_a_long_text_spread_blocks_are_used(tmp_path, monkeypatch):
    """The blocks are parts of the whole sets, so that none leaks, and nothing changes in a short text."""
    monkeypatch.setattr(text_files, "PIECE", 50)
    monkeypatch.setattr(text_files, "BLOCK", 200)
    lines = [f"line {n:05}\n" for n in range(2000)]
    path = write(tmp_path, {"t.txt": "".join(lines)}) / "t.txt"
    whole, some = TextFiles(path), TextFiles(path, {"train": 2000, "validation": 10**6})
    assert (some.train.every, some.validation.every, some.test.every) == (10, 1, 1)
    kept = "".join(some.train).splitlines(keepends=True)
    assert set(kept) < set("".join(whole.train).splitlines(keepends=True)) and len(kept) == len(set(kept))
    assert kept[0] == lines[0] and lines.index(kept[-1]) > 1600 and len(some.train) == 11 * len(kept)
    assert len(some.train) == pytest.approx(2000, abs=250)
    assert "".join(some.validation) == "".join(whole.validation) and "".join(some.test) == "".join(whole.test)
    assert some.checksum == whole.checksum and str(some.train) == "train (1 of 10 million characters)"


def test_a_tokenizer_learns_from_many_short_documents(tmp_path):
    rows = [json.dumps({"text": f"{'abcdefghij'[n % 10] * 3}{n}"}) for n in range(100)]
    text = TextFiles(write(tmp_path, {"d.jsonl": "\n".join(rows)}) / "d.jsonl")
    tokenizer = recipes.text_tokenizer(recipes.recipe("gpt", tokens="bytes", vocab=400), text.train)
    assert {tokenizer[i] for i in range(len(tokenizer))} >= {letter * 3 for letter in "abcdefghij"}


def test_a_long_text_is_not_held_in_memory(tmp_path):
    line = "a line of words that is repeated\n"
    path = tmp_path / "long.txt"
    with path.open("w") as file:
        for _ in range(24):
            file.write(line * (2**20 // len(line)))
    tracemalloc.start()
    text = TextFiles(path)
    length = sum(len(piece) for piece in text.train)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (
        length == pytest.approx(0.9 * path.stat().st_size, abs=100) and most < 2**23 < path.stat().st_size / 2
    )


NOISE = io.BytesIO()
Image.effect_noise((40, 40), 50).save(NOISE, "PNG")
NOISE = NOISE.getvalue()
OTHERS = {f"p/{name}": content for name, content in PHOTOS.items() if name != "a/0.png"}
BAD = {  # what is written, what loads it, and what the message names; {} is the path of the first file
    "no file": ({}, load_pairs, "unknown data set '{}'"),
    "empty pairs": ({"p.tsv": ""}, load_pairs, "{} is empty (0 bytes)"),
    "white space": ({"p.tsv": "\n \n"}, load_pairs, "{} is empty (nothing but white space)"),
    "latin-1": ({"p.tsv": b"a\tb\nc\tma\xf1ana\n"}, load_pairs, "{}, line 2: byte 0xf1 is not UTF-8"),
    "utf-16": ({"p.tsv": "a\tb\n".encode("utf-16")}, load_pairs, "{} is in UTF-16 or UTF-32; save"),
    "binary": ({"p.tsv": b"a\tb\nc\td\0\n"}, load_pairs, "{}, line 2 is no text: it contains a NUL"),
    "one column": ({"p.tsv": "a\nb\n"}, load_pairs, "{} has 1 column, not two"),
    "five columns": ({"p.tsv": "a\tb\tc\td\te\n"}, load_pairs, "{} has 5 columns, not two"),
    "ragged": (
        {"p.tsv": "a\tb\nc\td\ne\n"},
        load_pairs,
        "{}, line 3 has 1 column, and the lines before it 2",
    ),
    "empty side": ({"p.tsv": "a\tb\nc\t\n"}, load_pairs, "{}, line 2: the target is empty"),
    "two empty": ({"p.tsv": "a\tb\n \tb\nc\t\n"}, load_pairs, "the source is empty (so is a cell in 1 more"),
    "open quote": ({"p.csv": 'a,b\nc,"d\n'}, load_pairs, "{}, line 2 is not CSV"),
    "not JSON": ({"p.jsonl": '{"source": "a", "target": "b"}\nx\n'}, load_pairs, "{}, line 2 is not JSON"),
    "no object": ({"p.jsonl": "[1]\n"}, load_pairs, "{}, line 1 is not a JSON object"),
    "no key": ({"p.jsonl": '{"source": "a"}\n'}, load_pairs, '{}, line 1 has no "target"'),
    "ending": ({"p.docx": "a\tb\n"}, load_pairs, "{} does not end in .tsv, .csv"),
    "header only": ({"p.csv": "source,target\n"}, load_pairs, "{} has no rows below its header"),
    "too few": ({"p.tsv": "a\tb\na\tc\n"}, load_translation, "{}: 2 pairs, of which 1 share no sentence"),
    "all too long": (
        {"p.tsv": "a b\tc\n" * 9},
        lambda path: load_translation(path, max_words=1),
        "of at most 1 w",
    ),
    "folder of one": ({"c/a.en": "x\n"}, up(load_pairs), "does not hold two files"),
    "one class": ({"r.csv": "a,x\nb,x\nc,x\n"}, load_labelled, "{} has one class only, 'x'"),
    "small class": ({"r.csv": "a,x\nb,x\nc,x\nd,y\n"}, load_labelled, "{}: class 'y' has 1 different"),
    "no classes": ({"r.csv": "a,1\nb,2\nc,3\nd,4\n"}, load_labelled, "4 different labels for 4 texts"),
    "empty label": ({"r.csv": "a,x\nb,\n"}, load_labelled, "{}, line 2: the label is empty"),
    "a folder": ({"r/r.csv": "a,x\n"}, up(load_labelled), "is a folder; give a table"),
    "0-byte image": ({"p/a/0.png": b"", **OTHERS}, up(load_images, 2), "{} is empty (0 bytes)"),
    "cut image": ({"p/a/0.png": NOISE[: len(NOISE) // 2], **OTHERS}, up(load_images, 2), "{} cannot be read"),
    "no image": ({"p/a/0.png": "text", **OTHERS}, up(load_images, 2), "{} cannot be read as an image"),
    "no folders": ({"p/0.png": PHOTOS["a/1.png"]}, up(load_images), "holds no folders"),
    "splits": (
        {"p/train/a/0.png": "x", "p/test/a/0.png": "x"},
        up(load_images, 3),
        "test, train are not class",
    ),
    "empty class": (
        {"p/a/x.txt": "", "p/b/0.png": ""},
        up(load_images, 2),
        "holds no file that ends in .png",
    ),
    "an image": ({"p.png": PHOTOS["a/1.png"]}, load_images, "{} is a file, not a folder"),
    "empty text": ({"t.txt": ""}, load_text, "{} is empty (0 bytes)"),
    "text in latin-1": ({"t.txt": b"a\n" * 9 + b"\xe9\n"}, load_text, "{}, line 10: byte 0xe9 is not UTF-8"),
    "no text": ({"t.jsonl": '{"text": "a"}\n{"body": 1}\n'}, load_text, '{}, line 2 has no "text"'),
    "half": ({"t.jsonl": '{"text": "\\ud83d"}\n'}, load_text, "{}, line 1 contains half of a character"),
    "no texts": ({"t/a.pdf": "x"}, up(load_text), "holds no file that ends in .txt"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_fault_is_one_line_that_names_the_place(tmp_path, name):
    files, load, expected = BAD[name]
    path = write(tmp_path, files) / next(iter(files), "nowhere.tsv")
    with pytest.raises(ValueError) as problem:
        load(path)
    message = str(problem.value)
    assert expected.replace("{}", str(path)) in message
    assert "\n" not in message


def test_files_with_different_numbers_of_lines(tmp_path):
    write(tmp_path, {"a.en": "one\ntwo\n", "a.de": "eins\n"})
    with pytest.raises(ValueError, match=r"a\.en has 2 lines and .*a\.de 1: line n"):
        load_pairs([tmp_path / "a.en", tmp_path / "a.de"])
    write(tmp_path, {"a.de": "eins\n \n"})
    with pytest.raises(ValueError, match="line 2: the target is empty"):
        load_pairs([tmp_path / "a.en", tmp_path / "a.de"])


def test_a_name_of_the_catalog_goes_before_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(write(tmp_path, {"digits/a/0.png": "no image"}))
    assert len(load_images("digits").classes) == 10
    with pytest.raises(ValueError, match="one class only"):
        load_images("./digits")
