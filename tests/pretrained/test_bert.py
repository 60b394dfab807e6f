"""BERT: parameter counts, its weights both ways, its subword pieces; offline, on tiny models."""

from dataclasses import replace

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.layers.masks import padding_mask
from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.pretrained.bert import (
    BERT_SIZES,
    convert_from_hf,
    from_hugging_face,
    to_hugging_face,
    train_wordpieces,
)
from course_lib.pretrained.torchvision_ops import transformers
from course_lib.text.tokenizers import PAD

THEIRS = {
    "vocab_size": 37, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 3,
    "intermediate_size": 60, "max_position_embeddings": 11, "type_vocab_size": 5,
}  # fmt: skip
OURS = EncoderConfig(
    vocab=37,
    d_model=24,
    heads=3,
    layers=2,
    d_ff=60,
    max_tokens=11,
    types=5,
    dropout=0.1,
    norm="post",
    epsilon=1e-12,
)
IDS = torch.tensor([[2, 9, 36, 7, 4, 1, 3], [2, 30, 3, 11, 3, PAD, PAD]])
TYPES = torch.tensor([[0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 4, 4, 0, 0]])
TEXTS = ["the soup was cold", "the soup was warm and the bread was cold", "a warm welcome"]


def theirs_of(**changes: object) -> torch.nn.Module:
    library = transformers()
    return randomized(library.BertModel(library.BertConfig(**{**THEIRS, **changes})), seed=2)


def states_of_theirs(theirs: torch.nn.Module) -> torch.Tensor:
    given = {"input_ids": IDS, "token_type_ids": TYPES, "attention_mask": (IDS != PAD).long()}
    return theirs(**given).last_hidden_state[IDS != PAD]  # what is computed for padding is nobody's business


@pytest.mark.parametrize(
    ("name", "count"), [("bert-base-uncased", 108_891_648), ("bert-large-uncased", 334_092_288)]
)
def test_parameters_of_the_published_sizes(name: str, count: int) -> None:
    """109,482,240 and 335,141,888 with their poolers."""
    with torch.device("meta"):
        model = TextEncoder(BERT_SIZES[name])
    assert sum(p.numel() for p in model.parameters()) == count


def test_their_model_as_ours(device: str) -> None:
    theirs = theirs_of()
    ours = from_hugging_face(theirs).to(device)
    assert ours.config == OURS and not ours.training
    with torch.inference_mode():
        states = ours.hidden_states(IDS.to(device), types=TYPES.to(device)).cpu()
        before = states_of_theirs(theirs)
        assert torch.allclose(states[IDS != PAD], before, atol=1e-4)
        other = ours.hidden_states(IDS.to(device)).cpu()  # other types
        assert not torch.allclose(other[IDS != PAD], before, atol=1e-2)
    for p in ours.parameters():
        p.data.zero_()  # a copy, not a view of their weights
    with torch.inference_mode():
        assert torch.equal(states_of_theirs(theirs), before)


def test_our_model_as_theirs_and_back() -> None:
    ours = randomized(TextEncoder(OURS), seed=2)
    theirs = to_hugging_face(ours)
    with torch.inference_mode():
        states = ours.hidden_states(IDS, types=TYPES)[IDS != PAD]
        assert torch.allclose(states, states_of_theirs(theirs), atol=1e-4)
    again = from_hugging_face(theirs)
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


@pytest.mark.parametrize(
    "pair", [("self.query", "self.key"), ("attention.output.LayerNorm", "output.LayerNorm")], ids=str
)
def test_swapped_weights_would_be_seen(pair: tuple[str, str]) -> None:
    theirs = theirs_of()
    right, weights = states_of_theirs(theirs), theirs.state_dict()
    first, second = (
        f"encoder.layer.1.{'attention.' if 'self' in part else ''}{part}.weight" for part in pair
    )
    weights[first], weights[second] = weights[second].clone(), weights[first].clone()
    ours = from_hugging_face(theirs)
    ours.load_state_dict(convert_from_hf(weights))
    assert not torch.allclose(ours.hidden_states(IDS, types=TYPES)[IDS != PAD], right, atol=1e-2)


@pytest.mark.parametrize(
    ("changes", "message"),
    [({"hidden_act": "relu"}, "hidden_act='relu'.*'gelu'"), ({"pad_token_id": 3}, "pad_token_id=3.*=0")],
)
def test_other_forms_of_theirs_are_refused(changes: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        from_hugging_face(theirs_of(**changes))


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("norm", "pre", "norm='pre', but BERT has norm='post'"),
        ("positions", "none", "positions='none', but BERT"),
        ("causal", True, "causal=True, but BERT"),
        ("types", 0, "types=0, but BERT has at least types=1"),
    ],
)
def test_other_forms_of_ours_are_refused(field: str, value: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        to_hugging_face(TextEncoder(replace(OURS, **{field: value})))


def test_a_vocabulary_of_pieces_is_read_by_bert_tokenizer(tmp_path) -> None:
    tokenizer = transformers().BertTokenizer.from_pretrained(train_wordpieces(TEXTS, 80, tmp_path / "pieces"))
    assert tokenizer.convert_ids_to_tokens(range(5)) == ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    read = tokenizer(TEXTS, padding=True, return_tensors="pt")
    pieces = tokenizer.convert_ids_to_tokens(read.input_ids[0])
    assert pieces[0] == "[CLS]" and "[SEP]" in pieces and pieces[-1] == "[PAD]"
    assert tokenizer.tokenize("the soups") == ["the", "soup", "##s"]
    same = padding_mask(read.input_ids, PAD)[:, 0, 0] == read.attention_mask.bool()
    assert same.all()  # what our encoder takes for padding, and what BERT's tokenizer does


def test_a_vocabulary_of_nothing_is_refused(tmp_path) -> None:
    with pytest.raises(ValueError, match="no piece to learn"):
        train_wordpieces([], 40, tmp_path)
