"""GPT-2: its parameter counts, and the models of Hugging Face's library, from random weights, both ways."""

import pytest
import torch
from helpers.random_weights import randomized

from course_lib.generation.decoding import greedy_decode
from course_lib.models.gpt import GPT, GPTConfig
from course_lib.pretrained.gpt2 import GPT2_SIZES, SINCE_GPT2, from_hugging_face, to_hugging_face
from course_lib.pretrained.torchvision_ops import transformers

COUNTS = {
    "gpt2": 124_439_808,
    "gpt2-medium": 354_823_168,
    "gpt2-large": 774_030_080,
    "gpt2-xl": 1_557_611_200,
}
SIZES = {"vocab_size": 31, "n_embd": 24, "n_head": 3, "n_layer": 2, "n_positions": 20}
NO_CONTROL = {"bos_token_id": None, "eos_token_id": None}


@pytest.mark.parametrize("name", COUNTS)
def test_parameters_of_the_four_sizes(name):
    with torch.device("meta"):
        model = GPT(GPT2_SIZES[name])
    assert sum(p.numel() for p in model.parameters()) == COUNTS[name]


def test_the_table_of_the_notes():
    assert GPT2_SIZES["gpt2"].vocab * GPT2_SIZES["gpt2"].d_model == 50_257 * 768 == 38_597_376


def theirs_of(device="cpu", **changes):
    """Their model, small, with random weights, none of them 0 or 1."""
    torch.manual_seed(0)
    library = transformers()
    model = library.GPT2LMHeadModel(library.GPT2Config(**SIZES, **NO_CONTROL, **changes))
    return randomized(model, device)


def written(model, ids, number):
    out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=number, do_sample=False)
    return out[:, ids.shape[1] :].tolist()


def random_ids(device="cpu"):
    return torch.randint(31, (2, 5), generator=torch.Generator().manual_seed(1)).to(device)


def test_their_model_as_ours(device):
    theirs, ids = theirs_of(device), random_ids(device)
    ours = from_hugging_face(theirs)
    assert ours.config == GPTConfig(vocab=31, d_model=24, heads=3, layers=2, max_tokens=20, dropout=0.1)
    assert not ours.training
    with torch.inference_mode():
        assert torch.allclose(ours(ids), theirs(ids).logits, atol=1e-4)
        assert greedy_decode(ours.generator(), ids, None, 12) == written(theirs, ids, 12)
    ours.blocks[0].attention.w_q.weight.data.zero_()  # a copy, not a view of their weights
    assert theirs.transformer.h[0].attn.c_attn.weight.abs().min() > 0


def test_id_0_is_no_padding_in_gpt_2():
    """It is the exclamation mark, and a prompt may end in it."""
    theirs, ids = theirs_of(), torch.tensor([[5, 6, 0], [7, 8, 9]])
    assert greedy_decode(from_hugging_face(theirs).generator(), ids, None, 5) == written(theirs, ids, 5)


def test_our_model_as_theirs(device):
    torch.manual_seed(2)
    ours, ids = GPT(GPTConfig(vocab=31, d_model=24, heads=3, layers=2, max_tokens=20)), random_ids(device)
    for p in ours.parameters():
        p.data += 0.2 * torch.randn_like(p)
    ours = ours.to(device).eval()
    theirs = to_hugging_face(ours)
    with torch.inference_mode():
        assert torch.allclose(ours(ids), theirs(ids).logits, atol=1e-4)
        assert greedy_decode(ours.generator(), ids, None, 12) == written(theirs, ids, 12)
    again = from_hugging_face(theirs)
    assert again.config == ours.config
    assert all(torch.equal(a, b) for a, b in zip(ours.parameters(), again.parameters(), strict=True))


def test_a_swapped_query_and_key_would_be_seen():
    theirs, ids = theirs_of(), random_ids("cpu")
    with torch.no_grad():
        fused = theirs.transformer.h[0].attn.c_attn
        before = from_hugging_face(theirs)(ids)
        fused.weight[:, :48] = fused.weight[:, :48].roll(24, dims=1)
        assert not torch.allclose(before, theirs(ids).logits, atol=1e-3)


@pytest.mark.parametrize("changes", [{"n_inner": 99}, {"layer_norm_epsilon": 1e-3}])
def test_another_width_and_epsilon_are_converted_both_ways(changes):
    theirs, ids = theirs_of(**changes).eval(), random_ids()
    ours = from_hugging_face(theirs)
    with torch.inference_mode():
        for model in (ours, to_hugging_face(ours).eval()):
            out = model(ids)
            assert torch.allclose(getattr(out, "logits", out), theirs(ids).logits, atol=1e-4)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"activation_function": "relu"}, "activation_function='relu'.*'gelu_new'"),
        ({"scale_attn_weights": False}, "scale_attn_weights=False.*True"),
        ({"scale_attn_by_inverse_layer_idx": True}, "scale_attn_by_inverse_layer_idx=True.*False"),
    ],
)
def test_other_forms_of_theirs_are_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        from_hugging_face(theirs_of(**changes))


@pytest.mark.parametrize("field", [key for key in SINCE_GPT2 if key != "zero_outputs"])
def test_other_forms_of_ours_are_refused(field):
    model = GPT(GPTConfig(vocab=31, **{field: SINCE_GPT2[field]}))
    with pytest.raises(ValueError, match=f"{field}=.* GPT-2 has {field}="):
        to_hugging_face(model)
