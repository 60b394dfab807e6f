"""Text classification: heads over padding, batches, a batch by heart, and what is refused."""

from dataclasses import replace

import jaxtyping
import pytest
import torch
import torch.nn.functional as F
from helpers.random_weights import randomized
from helpers.small_training import learn
from torch import nn

from course_lib.datasets.batching import pad
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.tasks.text_classification import (
    POOLINGS,
    LabelledBatches,
    TextClassificationLoss,
    TextClassifier,
    accuracy,
    predict,
)
from course_lib.text.tokenizers import CLS, PAD

CONFIG = EncoderConfig(vocab=23, d_model=12, heads=3, layers=2, max_tokens=9)
ROWS = [[7, 9, 11, 22, 5], [13, 8], [6, 20, 21, 10, 12, 14, 15]]


def classifier(pooling: str = "mean", classes: int = 4, **changes: object) -> TextClassifier:
    torch.manual_seed(0)
    return randomized(TextClassifier(TextEncoder(replace(CONFIG, **changes)), classes, pooling), scale=0.3)


# ---- heads


def test_poolings_by_hand() -> None:
    states = torch.tensor(
        [[[1.0, -2.0], [3.0, -6.0], [50.0, 60.0]], [[0.0, 5.0], [70.0, 80.0], [90.0, 99.0]]]
    )
    real = torch.tensor([[True, True, False], [True, False, False]])
    expected = {
        "class token": [[1.0, -2.0], [0.0, 5.0]],
        "mean": [[2.0, -4.0], [0.0, 5.0]],
        "max": [[3.0, -2.0], [0.0, 5.0]],
        "last token": [[3.0, -6.0], [0.0, 5.0]],
        "flatten": [[1.0, -2.0, 3.0, -6.0, 0.0, 0.0], [0.0, 5.0, 0.0, 0.0, 0.0, 0.0]],
    }
    assert set(expected) == set(POOLINGS)
    for name, features in expected.items():
        assert torch.equal(POOLINGS[name](states, real), torch.tensor(features)), name


@pytest.mark.parametrize("pooling", sorted(set(POOLINGS) - {"class token"}))
def test_a_mask_that_is_not_boolean_is_refused(pooling: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jaxtyping.config, "jaxtyping_disable", True)  # as in a notebook
    with pytest.raises(ValueError, match="dtype torch.float32, but must be Boolean"):
        POOLINGS[pooling](torch.randn(2, 5, 3), torch.ones(2, 5))


@pytest.mark.parametrize("pooling", POOLINGS)
def test_an_empty_text_has_finite_features(pooling: str) -> None:
    states, real = torch.randn(2, 5, 3), torch.zeros(2, 5, dtype=torch.bool)
    assert POOLINGS[pooling](states, real).isfinite().all()


@pytest.mark.parametrize("pooling", POOLINGS)
@pytest.mark.parametrize("causal", [False, True])
def test_a_padded_token_equals_an_absent_token(pooling: str, causal: bool, device: str) -> None:
    model = classifier(pooling, causal=causal).to(device)
    to = 9 if pooling == "flatten" else None
    together = model(pad(ROWS, to or 8).to(device))
    for row, logits in zip(ROWS, together, strict=True):
        assert torch.allclose(model(pad([row], to).to(device))[0], logits, atol=1e-5)
    blind = causal and pooling == "class token"
    assert blind or (together[0] - together[1]).abs().max() > 1e-3


def test_the_class_token_is_put_before_each_text() -> None:
    model = classifier("class token")
    ids = pad(ROWS)
    states = model.encoder.hidden_states(torch.cat([torch.full((3, 1), CLS), ids], dim=1))
    assert torch.allclose(model(ids), model.head(states[:, 0]), atol=1e-6)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_parameters_as_a_formula(pooling: str) -> None:
    c, d = CONFIG, CONFIG.d_model
    block = 4 * (d * d + d) + (4 * d * d + 4 * d) + (4 * d * d + d) + 2 * 2 * d
    places = c.max_tokens if pooling == "flatten" else 1
    expected = c.vocab * d + c.max_tokens * d + c.layers * block + 2 * d + (places * d + 1) * 4
    assert sum(p.numel() for p in classifier(pooling).parameters()) == expected


# ---- the encoder


def test_the_encoder_equals_pytorchs() -> None:
    """Post-norm and pre-norm, on copied weights."""
    for norm in ("pre", "post"):
        ours = randomized(TextEncoder(replace(CONFIG, norm=norm)))
        layer = nn.TransformerEncoderLayer(12, 3, 48, 0.0, F.gelu, batch_first=True, norm_first=norm == "pre")
        theirs = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        for mine, other in zip(ours.blocks, theirs.layers, strict=True):
            attention = mine.attention
            other.self_attn.in_proj_weight.data = torch.cat([attention.w_q.weight, attention.w_kv.weight])
            other.self_attn.in_proj_bias.data = torch.cat([attention.w_q.bias, attention.w_kv.bias])
            other.self_attn.out_proj.load_state_dict(attention.w_o.state_dict())
            other.linear1.load_state_dict(mine.feed_forward.w_in.state_dict())
            other.linear2.load_state_dict(mine.feed_forward.w_out.state_dict())
            other.norm1.load_state_dict(mine.norm_1.state_dict())
            other.norm2.load_state_dict(mine.norm_2.state_dict())
        ids = pad(ROWS)
        x = ours.embedding(ids) + ours.positions.table[: ids.shape[1]]
        x = ours.norm(x) if norm == "post" else x
        out = theirs(x, src_key_padding_mask=ids == PAD)
        out = ours.norm(out) if norm == "pre" else out
        assert torch.allclose(ours.hidden_states(ids)[ids != PAD], out[ids != PAD], atol=1e-4)


@pytest.mark.parametrize("training", [True, False])
def test_a_causal_encoder_hides_the_future_and_another_does_not(training: bool) -> None:
    ids = torch.tensor([[7, 9, 11, 22, 5, 6]])
    other = torch.tensor([[7, 9, 11, 8, 8, 8]])
    for causal in (True, False):
        encoder = randomized(TextEncoder(replace(CONFIG, causal=causal))).train(training)
        moved = (encoder.hidden_states(ids) - encoder.hidden_states(other)).abs().amax(dim=-1)[0] > 1e-6
        assert moved.tolist() == [not causal] * 3 + [True] * 3


def test_under_a_causal_mask_the_class_token_says_the_same_of_every_text() -> None:
    logits = classifier("class token", causal=True)(pad(ROWS))
    assert torch.allclose(logits, logits[:1].expand(3, -1), atol=1e-6)


def test_without_positions_the_order_of_the_words_does_not_matter() -> None:
    ids = torch.tensor([[7, 9, 11, 22], [22, 7, 11, 9]])
    for positions, same in (("none", True), ("learned", False), ("sinusoidal", False)):
        one, other = classifier("mean", positions=positions)(ids)
        assert torch.allclose(one, other, atol=1e-5) == same


def test_kinds_of_tokens_make_a_difference() -> None:
    encoder, ids = randomized(TextEncoder(replace(CONFIG, types=2))), pad(ROWS)
    assert torch.equal(encoder.hidden_states(ids), encoder.hidden_states(ids, types=torch.zeros_like(ids)))
    assert not torch.allclose(
        encoder.hidden_states(ids), encoder.hidden_states(ids, types=torch.ones_like(ids)), atol=1e-3
    )


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_training_drops_features_of_the_embeddings_and_of_each_sublayer(norm: str) -> None:
    encoder = randomized(TextEncoder(replace(CONFIG, norm=norm, d_model=48, dropout=0.25)))
    ids, seen = pad(ROWS), []
    encoder.blocks[0].register_forward_pre_hook(lambda module, args: seen.append(args[0]))
    for training in (False, True):
        encoder.train(training).hidden_states(ids)
    whole, dropped = seen
    kept = dropped != 0
    assert kept.float().mean().item() == pytest.approx(0.75, abs=0.05)
    assert torch.allclose(dropped[kept], whole[kept] / 0.75, atol=1e-5)
    assert [m.p for m in encoder.blocks.modules() if isinstance(m, nn.Dropout)] == [0.25] * 2  # one per block


def test_a_new_encoder_has_the_spread_and_the_epsilon_of_bert() -> None:
    torch.manual_seed(0)
    encoder = TextEncoder(replace(CONFIG, vocab=500, d_model=48, epsilon=1e-12))
    assert encoder.embedding.weight.std().item() == pytest.approx(0.02, rel=0.03)
    assert [m.eps for m in encoder.modules() if isinstance(m, nn.LayerNorm)] == [1e-12] * 5


# ---- training


def batches(to: int | None = None) -> LabelledBatches:
    return LabelledBatches(ROWS, [0, 1, 3], classes=4, batch=3, to=to)


@pytest.mark.parametrize("pooling", POOLINGS)
def test_learns_one_batch_by_heart(device: str, pooling: str) -> None:
    torch.manual_seed(1)
    model = TextClassifier(TextEncoder(CONFIG), 4, pooling)
    some = batches(9 if pooling == "flatten" else None)
    history = learn(TextClassificationLoss(model), some, device=device, steps=60, lr=1e-2, warmup=5)
    assert history.losses[0] == pytest.approx(1.3863, abs=1e-3)  # a head of zeros: all classes equally likely
    assert history.losses[-1] < 0.05 and accuracy(model, ROWS, [0, 1, 3]) == 1.0
    assert accuracy(model, ROWS, [0, 1, 2]) == pytest.approx(2 / 3)


def test_the_loss_is_a_sum_and_a_number() -> None:
    model, (ids, labels) = classifier(), batches(to=9).batch_of([0, 2])
    loss, count = TextClassificationLoss(model)(ids, labels)
    assert count == 2 and labels.tolist() == [0, 3] and ids.shape == (2, 9)
    assert torch.allclose(loss / count, F.cross_entropy(model(ids), labels))
    smoothed = TextClassificationLoss(model, label_smoothing=0.1)(ids, labels)[0] / 2
    assert torch.allclose(smoothed, F.cross_entropy(model(ids), labels, label_smoothing=0.1))


def test_predictions_keep_the_order_and_the_mode() -> None:
    model = classifier("flatten").train()
    logits = predict(model, ROWS * 3, batch=2)
    assert model.training and logits.shape == (9, 4)
    assert torch.allclose(logits[1], model(pad([ROWS[1]], 9))[0], atol=1e-5)


# ---- refusals


def test_refusals_name_both_numbers() -> None:
    with pytest.raises(ValueError, match="pooling='sum' is none of"):
        TextClassifier(TextEncoder(CONFIG), 2, "sum")
    with pytest.raises(ValueError, match="positions='absolute' is none of"):
        TextEncoder(replace(CONFIG, positions="absolute"))
    with pytest.raises(ValueError, match="10 tokens exceed max_tokens=9"):
        classifier()(torch.full((2, 10), 7))
    with pytest.raises(ValueError, match="8 tokens, but pooling='flatten' needs exactly 9"):
        classifier("flatten")(torch.full((2, 8), 7))
    with pytest.raises(ValueError, match="3 texts and 2 labels"):
        LabelledBatches(ROWS, [0, 1], classes=2)
    with pytest.raises(ValueError, match="0 texts and 0 labels"):
        LabelledBatches([], [], classes=2)
    for labels in ([0, 1, 2], [0, 1, -1]):
        with pytest.raises(ValueError, match=r"labels run from -?\d to \d, but classes=2 takes 0 to 1"):
            LabelledBatches(ROWS, labels, classes=2)
    with pytest.raises(ValueError, match="empty batch"):
        predict(classifier(), [])


def test_the_last_token_is_the_last_that_is_no_padding_wherever_the_padding_is() -> None:
    model = classifier("last token").eval()
    ids = pad([[5, 6, 7], [8, 0, 9]], to=5)
    left = ids.roll(2, dims=1)
    for padded, places in ((ids, [2, 2]), (left, [4, 4])):
        states = model.encoder.hidden_states(padded)
        assert torch.equal(model.features(padded), states[torch.arange(2), torch.tensor(places)])
