"""The C182-3 system on d2l's plumbing: the slides' cells, the bugs and their fixes, our blocks in place."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F

from course_lib.cli.environment import ROOT
from course_lib.datasets.location import cache_folder
from course_lib.pretrained.torchvision_ops import import_torchvision
from course_lib.text.bleu import sentence_bleu_d2l

import_torchvision()
pytest.importorskip("d2l.torch", exc_type=ImportError)

from course_lib.chapters.chA3_d2l import d2l_system as d2l_runs  # noqa: E402
from course_lib.chapters.chA3_d2l import d2l_system_run as making  # noqa: E402
from course_lib.lectures import d2l_course, d2l_training  # noqa: E402
from course_lib.lectures.d2l_course import CourseDecoder, CourseEncoder  # noqa: E402
from course_lib.lectures.d2l_training import (  # noqa: E402
    attention_maps,
    fix,
    make_model,
    mean_bleu,
    plotted_loss,
    projected_tokens,
    sentence_losses,
    sentences,
    translate,
    validation_loss,
    with_references,
)
from course_lib.lectures.d2l_transformer import (  # noqa: E402
    FIXED,
    LECTURE,
    Bugs,
    Seq2Seq,
    TransformerDecoder,
    TransformerEncoder,
    d2l,
)

SRC, TRG, D, D_FF, HEADS, BLOCKS, S, T = 17, 19, 12, 20, 3, 2, 6, 7
SIZES = (D, D_FF, HEADS, BLOCKS, 0.0)


def random_ids(vocab, *shape, device="cpu"):
    return torch.randint(1, vocab, shape, generator=torch.Generator().manual_seed(1)).to(device)


def model_of(bugs=LECTURE, device="cpu", ours=False):
    torch.manual_seed(0)
    if ours:
        encoder, decoder = CourseEncoder(SRC, *SIZES), CourseDecoder(TRG, *SIZES)
    else:
        encoder = TransformerEncoder(SRC, *SIZES, bugs=bugs)
        decoder = TransformerDecoder(TRG, *SIZES, bugs=bugs)
    model = Seq2Seq(encoder, decoder, tgt_pad=0, lr=0.001).to(device)
    lens = torch.tensor([S], device=device)
    model(random_ids(SRC, 1, S, device=device), random_ids(TRG, 1, T, device=device), lens)  # lazy layers
    with torch.no_grad():  # d2l's embeddings have √d_model times the size of its positions; here both matter
        for embedding in (part for part in model.modules() if isinstance(part, torch.nn.Embedding)):
            embedding.weight *= D**-0.5
    return model.eval()


def inputs(device="cpu"):
    lens = torch.tensor([S, 4], device=device)
    return random_ids(SRC, 2, S, device=device), random_ids(TRG, 2, T, device=device), lens


def token_by_token(model, source, target, lens):
    state = model.decoder.init_state(model.encoder(source, lens), lens)
    steps = [model.decoder(target[:, t : t + 1], state)[0] for t in range(target.shape[1])]
    return torch.cat(steps, dim=1)


SYSTEMS = {"fixed": {"bugs": FIXED}, "ours": {"ours": True}}


# ---- what every model of the course must do: the fixed system and ours do it, the lecture's does not


def moves(model, source, target, lens):
    """Which positions' logits change when the tokens from 4 on are others."""
    changed = target.clone()
    changed[:, 4:] = target[:, 4:] % (TRG - 1) + 1
    difference = model(source, target, lens) - model(source, changed, lens)
    return (difference.abs().amax(-1) > 1e-3).all(0), (difference.abs().amax(-1) < 1e-5).all(0)


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_the_future_is_hidden(device, system, training):
    model = model_of(device=device, **system).train(training)
    moved, stayed = moves(model, *inputs(device))
    assert stayed[:4].all() and moved[4:].all()


def test_the_lecture_shows_the_future_in_evaluation_only():
    model = model_of()
    assert moves(model, *inputs())[0].all()
    assert moves(model.train(), *inputs())[1][:4].all()


@pytest.mark.parametrize("system", [*SYSTEMS.values(), {}], ids=[*SYSTEMS, "lecture"])
def test_a_padded_token_equals_an_absent_one(device, system):
    model, (source, target, _) = model_of(device=device, **system), inputs(device)
    lens = torch.tensor([4, 4], device=device)
    model.train()  # without dropout: only the lecture's mask differs from evaluation
    cut = model(source[:, :4], target[:, :5], lens)
    assert torch.allclose(model(source, target, lens)[:, :5], cut, atol=1e-5)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_cached_decoding_equals_full_decoding(device, system):
    model = model_of(device=device, **system)
    assert torch.allclose(token_by_token(model, *inputs(device)), model(*inputs(device)), atol=1e-5)


def test_position_zero_breaks_cached_decoding():
    whole = model_of(FIXED)(*inputs())
    found = token_by_token(model_of(Bugs(future_in_evaluation=False)), *inputs())
    assert torch.allclose(found[:, 0], whole[:, 0], atol=1e-5)
    assert ((found - whole)[:, 1:].abs().amax(-1) > 1e-3).all()


def test_pieces_of_several_tokens_are_masked_too():
    model, (source, target, lens) = model_of(FIXED), inputs()
    state = model.decoder.init_state(model.encoder(source, lens), lens)
    pieces = [model.decoder(piece, state)[0] for piece in target.split([3, 1, 3], dim=1)]
    assert torch.allclose(torch.cat(pieces, dim=1), model(source, target, lens), atol=1e-5)


def test_a_row_that_may_look_nowhere():
    source, target, _ = inputs()
    lens = torch.tensor([S, 0])
    for bugs, share in [(LECTURE, 1 / S), (FIXED, 0.0)]:
        model = model_of(bugs)
        assert model(source, target, lens).isfinite().all()
        weights = model.decoder.attention_weights[1][0].unflatten(0, (2, HEADS))
        assert torch.allclose(weights[1], torch.full((HEADS, T, S), share))
        assert torch.allclose(weights[0].sum(-1), torch.ones(HEADS, T))


# ---- our blocks in d2l's place


def test_ours_equals_the_fixed_lecture_on_copied_weights(device):
    theirs, ours = model_of(FIXED, device), model_of(device=device, ours=True)
    rng = torch.Generator().manual_seed(6)  # the same weights on every device
    for parameter in theirs.parameters():
        parameter.data.copy_(0.4 * torch.randn(parameter.shape, generator=rng))
    d2l_course.copy_encoder(ours.encoder, theirs.encoder)
    d2l_course.copy_decoder(ours.decoder, theirs.decoder)
    assert torch.allclose(ours(*inputs(device)), theirs(*inputs(device)), atol=1e-4)
    lecture = model_of(LECTURE, device)
    lecture.load_state_dict(theirs.state_dict())
    assert not torch.allclose(ours(*inputs(device)), lecture(*inputs(device)), atol=1e-2)


def test_parameter_counts():
    attention, ffn, norm = 4 * D * D, 2 * D * D_FF + D + D_FF, 2 * D
    expected = (SRC + TRG) * D + D * TRG + TRG
    expected += BLOCKS * (attention + ffn + 2 * norm) + BLOCKS * (2 * attention + ffn + 3 * norm)
    count = lambda model: sum(p.numel() for p in model.parameters())  # noqa: E731
    assert count(model_of()) == count(model_of(FIXED)) == expected
    assert count(model_of(ours=True)) == expected + BLOCKS * 3 * 4 * D


def test_the_encoder_is_the_packages():
    torch.manual_seed(0)
    theirs = d2l.TransformerEncoder(SRC, *SIZES).eval()
    source, _, lens = inputs()
    expected = theirs(source, lens)
    ours = model_of().encoder
    ours.load_state_dict(theirs.state_dict())
    assert torch.equal(ours(source, lens), expected)


def test_the_lectures_cache_projects_everything_again():
    model, (source, target, lens) = model_of(), inputs()
    for name, expected in [("attention1", T * (T + 1) // 2), ("attention2", T * S)]:
        with projected_tokens(getattr(model.decoder.blks[0], name).W_k) as count:
            token_by_token(model, source, target, lens)
        assert count["tokens"] == expected
    ours = model_of(ours=True)
    for name, expected in [("attention", T), ("cross_attention", S)]:
        with projected_tokens(getattr(ours.decoder.blocks[0], name).w_kv) as count:
            token_by_token(ours, source, target, lens)
        assert count["tokens"] == expected


@pytest.mark.parametrize("system", [*SYSTEMS.values(), {}], ids=[*SYSTEMS, "lecture"])
def test_memorizes_one_batch(system):
    model, (source, target, lens) = model_of(**system).train(), inputs()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(100):
        loss = model.loss(model(source, target[:, :-1], lens), target[:, 1:])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert loss.item() < 0.05
    written, _ = model.eval().predict_step([source, target, lens, target], torch.device("cpu"), T - 1)
    assert torch.equal(written, target[:, 1:]) or system == {}  # with position 0 throughout, not surely


def test_the_loss_without_padding():
    model, target = model_of(), torch.tensor([[3, 5, 0, 0]])
    logits = torch.randn(1, 4, TRG)
    expected = F.cross_entropy(logits[0, :2], target[0, :2])
    assert torch.isclose(model.loss(logits, target), expected)
    theirs = d2l.Seq2Seq(model.encoder, model.decoder, tgt_pad=0, lr=0.1)
    assert torch.isclose(theirs.loss(logits, target), F.cross_entropy(logits[0], target[0]))


def test_too_long_a_sentence_is_refused():
    model = model_of(ours=True)
    with pytest.raises(ValueError, match="10 .*max_tokens=9"):
        model(random_ids(SRC, 1, 10), random_ids(TRG, 1, T), torch.tensor([10]))


def test_every_french_sentence_beside_an_english_one_is_a_reference():
    pairs = [("go .", "va !"), ("run !", "cours !"), ("go .", "bouge !")]
    assert with_references(pairs, 0, 2) == {"go .": ["va !", "bouge !"], "run !": ["cours !"]}
    assert with_references(pairs, 1, 3) == {"run !": ["cours !"], "go .": ["va !", "bouge !"]}


# ---- what is changed in d2l


def test_the_board_is_silent_and_figures_stay_png(monkeypatch):
    def refuse(*formats):
        raise AssertionError(f"the figure format was set to {formats}")

    monkeypatch.setattr(d2l.backend_inline, "set_matplotlib_formats", refuse)
    monkeypatch.setitem(d2l.plt.rcParams, "figure.figsize", (3, 2))  # afterwards it is what it was
    d2l.set_figsize()
    board = d2l.ProgressBoard(xlabel="epoch")
    board.draw(1.0, 2.0, "loss")
    assert not board.display and board.fig is None and board.data["loss"][0] == (1.0, 2.0)


def test_other_sets_of_d2l_stay_out_of_the_course_s_data_folder():
    assert Path(d2l.DataModule().root) == cache_folder() / "d2l"
    assert ROOT / "data" not in Path(d2l.DataModule().root).parents


def test_without_d2l_the_message_says_what_to_do():
    code = "import sys; sys.modules['d2l'] = None\nimport course_lib.lectures.d2l_transformer"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert "ImportError" in done.stderr and "pip install --no-deps d2l==1.0.3" in done.stderr


# ---- the slides' cells, on the real sentences

TRAINING = """
data = d2l.MTFraEng(batch_size=128)
num_hiddens, num_blk, dropout = 256, 2, 0.2
ffn_num_hiddens, num_heads = 64, 4
encoder = TransformerEncoder(
    len(data.src_vocab), num_hiddens, ffn_num_hiddens, num_heads,
    num_blk, dropout)
decoder = TransformerDecoder(
    len(data.tgt_vocab), num_hiddens, ffn_num_hiddens, num_heads,
    num_blk, dropout)
model = d2l.Seq2Seq(encoder, decoder, tgt_pad=data.tgt_vocab['<pad>'],
                     lr=0.001)
trainer = d2l.Trainer(max_epochs=30, gradient_clip_val=1, num_gpus=1)
trainer.fit(model, data)
"""
TRANSLATION = """
engs = ['go .', 'i lost .', 'he\\'s calm .', 'i\\'m home .']
fras = ['va !', 'j\\'ai perdu .', 'il est calme .', 'je suis chez moi .']
preds, _ = model.predict_step(
    data.build(engs, fras), d2l.try_gpu(), data.num_steps)
for en, fr, p in zip(engs, fras, preds):
    translation = []
    for token in data.tgt_vocab.to_tokens(p):
        if token == '<eos>':
            break
        translation.append(token)
    print(f'{en} => {translation}, bleu,'
          f'{d2l.bleu(" ".join(translation), fr, k=2):.3f}')
"""


def run_training_cell(encoder, decoder, epochs):
    """The room in which the slide's training cell has run with these classes, for fewer epochs than in A3."""
    room = {"d2l": d2l, "TransformerEncoder": encoder, "TransformerDecoder": decoder}
    torch.manual_seed(0)
    exec(TRAINING.replace("max_epochs=30", f"max_epochs={epochs}"), room)
    return room


@pytest.fixture(scope="module")
def lecture():
    return run_training_cell(TransformerEncoder, TransformerDecoder, epochs=8)


@pytest.fixture(scope="module")
def ours():
    return run_training_cell(CourseEncoder, CourseDecoder, epochs=1)


@pytest.mark.real_data
@pytest.mark.parametrize("name", ["lecture", "ours"])
def test_the_slides_cells_run_as_they_stand(name, request, capsys):
    trained = request.getfixturevalue(name)
    exec(TRANSLATION, trained)
    lines = capsys.readouterr().out.splitlines()
    done = translate(trained["model"], trained["data"])
    assert [line.split(" => ")[0] for line in lines] == list(d2l_training.ENGLISH)
    assert [line.split("bleu,")[1] for line in lines] == [f"{one.bleu:.3f}" for one in done]
    for one, right in zip(done, d2l_training.FRENCH, strict=True):
        assert one.bleu == pytest.approx(sentence_bleu_d2l(one.french, right, k=2))
    assert not list((ROOT / "data").glob("fra-eng*"))


@pytest.mark.real_data
def test_what_the_plotted_validation_loss_is_worth(lecture):
    model, data = lecture["model"], lecture["data"]
    assert len(data.arrays[0]) == 641 and len(data.val_dataloader()) == 2  # the second holds one sentence
    masked = fix(model, data, Bugs(future_in_evaluation=False))
    assert validation_loss(masked, data) < validation_loss(model, data) - 0.1
    assert validation_loss(masked, data, padding=False) < validation_loss(model, data, padding=False) - 0.1
    batches = []
    for *arrays, target in data.val_dataloader():
        with torch.no_grad():
            batches.append(model.loss(model(*arrays), target).item())
    assert plotted_loss(model) == pytest.approx(sum(batches) / 2, abs=1e-4)
    sizes = [128, 1]
    weighted = sum(size * loss for size, loss in zip(sizes, batches, strict=True)) / 129
    assert validation_loss(model, data) == pytest.approx(weighted, abs=1e-4)


@pytest.mark.real_data
def test_what_is_asked_of_a_trained_model(lecture):
    model, data = lecture["model"], lecture["data"]
    four = {
        english: [french] for english, french in zip(d2l_training.ENGLISH, d2l_training.FRENCH, strict=True)
    }
    scores = [one.bleu for one in translate(model, data)]
    assert mean_bleu(model, data, four) == pytest.approx(sum(scores) / 4)
    losses = sentence_losses(model, data)
    assert sum(losses) / len(losses) == pytest.approx(validation_loss(model, data), abs=1e-4)
    maps = attention_maps(model, data, "i'm home .")
    words, written = len(maps.source), len(maps.target)
    assert maps.source == ("i'm", "home", ".", "<eos>") and maps.target[-1] == "<eos>"
    for name, shape in {
        "encoder": (words, words),
        "decoder": (written,) * 2,
        "cross": (written, words),
    }.items():
        table = torch.tensor(getattr(maps, name))
        assert table.shape == (2, 4, *shape)
        assert torch.allclose(table.sum(-1), torch.ones(2, 4, shape[0]), atol=1e-4)
    assert not torch.tensor(maps.decoder).triu(1).any()


@pytest.mark.real_data
def test_the_stored_facts_are_those_of_the_data():
    data = d2l.MTFraEng(batch_size=128)
    assert making.counted(data) == d2l_runs.facts()
    assert sentences(data)[0] == ("go .", "va !") and len(sentences(data)) == 641


@pytest.mark.real_data
def test_make_model_makes_the_slides_model():
    data = d2l.MTFraEng(batch_size=128)
    for bugs, kind in [(LECTURE, d2l.Seq2Seq), (FIXED, Seq2Seq)]:
        torch.manual_seed(0)
        model = make_model(data, bugs)
        assert type(model) is kind and model.board.display is False
        assert len(model.encoder.blks) == len(model.decoder.blks) == 2
        assert model.encoder.embedding.weight.shape == (len(data.src_vocab), 256)
