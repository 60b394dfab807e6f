"""BERT: its published sizes, weight conversion from and to `transformers`, and WordPiece tokenizers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import BertWordPieceTokenizer
from torch import Tensor, nn

from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.pretrained.torchvision_ops import transformers
from course_lib.text.tokenizers import PAD


def bert(layers: int, heads: int, d_model: int) -> EncoderConfig:
    sizes: dict[str, Any] = {"d_model": d_model, "heads": heads, "layers": layers, "max_tokens": 512}
    return EncoderConfig(vocab=30522, types=2, norm="post", epsilon=1e-12, dropout=0.1, **sizes)


BERT_SIZES = {  # Devlin et al. 2019, section 3
    "bert-base-uncased": bert(12, 12, 768),
    "bert-large-uncased": bert(24, 16, 1024),
}
RENAMED = (  # theirs, ours
    ("embeddings.word_embeddings.", "embedding."),
    ("embeddings.position_embeddings.weight", "positions.table"),
    ("embeddings.token_type_embeddings.", "types."),
    ("embeddings.LayerNorm.", "norm."),
    ("encoder.layer.", "blocks."),
    (".attention.self.query.", ".attention.w_q."),
    (".attention.self.key.", ".attention.w_k."),
    (".attention.self.value.", ".attention.w_v."),
    (".attention.output.dense.", ".attention.w_o."),
    (".attention.output.LayerNorm.", ".norm_1."),
    (".intermediate.dense.", ".feed_forward.w_in."),
    (".output.dense.", ".feed_forward.w_out."),
    (".output.LayerNorm.", ".norm_2."),
)
NEAR_0 = 1e-4  # the scale on which tanh(x) = x, up to a third of x³
FORM = {"hidden_act": "gelu", "is_decoder": False, "pad_token_id": PAD}  # not options of `TextEncoder`


def load_bert(name: str = "bert-base-uncased") -> TextEncoder:
    """Load the published model with this name, or one in a folder by `save_pretrained`, in evaluation mode.

    `transformers` downloads it if it is not in the cache. Raises OSError if the model cannot be found or
    downloaded; other errors: as in `from_hugging_face`.

    >>> from tempfile import TemporaryDirectory
    >>> from course_lib.models import EncoderConfig, TextEncoder
    >>> from course_lib.pretrained.bert import to_hugging_face
    >>> with TemporaryDirectory() as folder:  # without a download; usually: load_bert("bert-base-uncased")
    ...     encoder = TextEncoder(EncoderConfig(vocab=100, norm="post", types=2))
    ...     to_hugging_face(encoder).save_pretrained(folder)
    ...     load_bert(folder).config.layers
    2
    """
    return from_hugging_face(transformers().BertModel.from_pretrained(name))


def from_hugging_face(model: Any) -> TextEncoder:
    """Convert a `BertModel` to a `TextEncoder` with the same hidden states.

    Without its pooler (a linear layer and tanh on the first hidden state), and without attention dropout.
    Raises ValueError for options that `TextEncoder` does not have.
    """
    c = model.config
    for field, value in FORM.items():
        if getattr(c, field) != value:
            raise ValueError(f"{field}={getattr(c, field)!r}, but TextEncoder has {field}={value!r}")
    sizes = {"d_model": c.hidden_size, "heads": c.num_attention_heads, "layers": c.num_hidden_layers}
    sizes |= {"vocab": c.vocab_size, "types": c.type_vocab_size, "d_ff": c.intermediate_size}
    form = {"dropout": c.hidden_dropout_prob, "epsilon": c.layer_norm_eps, "norm": "post"}
    with torch.device("meta"):  # initial weights are not needed
        ours = TextEncoder(EncoderConfig(max_tokens=c.max_position_embeddings, **sizes, **form))
    ours.load_state_dict(convert_from_hf(model.state_dict()), assign=True)
    return ours.train(model.training)


def to_hugging_face(encoder: TextEncoder) -> nn.Module:
    """Convert a `TextEncoder` to a `BertModel` without pooler, with the same hidden states.

    Raises ValueError for options that BERT does not have.
    """
    model = transformers().BertModel(bert_config(encoder), add_pooling_layer=False)
    model.to(encoder.embedding.weight)  # before loading, to keep the precision of fp64
    model.load_state_dict(convert_to_hf(encoder.state_dict()))
    return model.train(encoder.training)


def classifier_to_hugging_face(encoder: TextEncoder, head: nn.Linear) -> Any:
    """Convert an encoder and the linear layer on its first hidden state to a `BertForSequenceClassification`.

    BERT has one more layer between them, the pooler, with a tanh. It becomes the identity, up to 1 in a
    million: of numbers near 0, tanh is nearly linear.
    Raises ValueError for options that BERT does not have.
    """
    model = transformers().BertForSequenceClassification(bert_config(encoder, num_labels=head.out_features))
    model.to(head.weight)
    width = encoder.config.d_model
    pooler = {"weight": NEAR_0 * torch.eye(width), "bias": torch.zeros(width)}
    states = {f"bert.{name}": t for name, t in convert_to_hf(encoder.state_dict()).items()}
    states |= {f"bert.pooler.dense.{name}": t for name, t in pooler.items()}
    states |= {"classifier.weight": head.weight / NEAR_0, "classifier.bias": head.bias}
    model.load_state_dict(states)
    return model.train(encoder.training)


def bert_config(encoder: TextEncoder, **more: Any) -> Any:
    """The `BertConfig` of an encoder. Raises ValueError for options that BERT does not have."""
    c = encoder.config
    form = {"norm": "post", "positions": "learned", "causal": False, "activation": "exact gelu"}
    for field, value in {**form, "qk_norm": False, "kv_heads": None}.items():
        if getattr(c, field) != value:
            raise ValueError(f"{field}={getattr(c, field)!r}, but BERT has {field}={value!r}")
    if c.types < 1:
        raise ValueError(f"types={c.types}, but BERT has at least types=1")
    sizes = {"hidden_size": c.d_model, "num_attention_heads": c.heads, "num_hidden_layers": c.layers}
    sizes |= {"vocab_size": c.vocab, "type_vocab_size": c.types, "intermediate_size": c.d_ff or 4 * c.d_model}
    form = {"hidden_dropout_prob": c.dropout, "layer_norm_eps": c.epsilon, "pad_token_id": PAD}
    return transformers().BertConfig(max_position_embeddings=c.max_tokens, **sizes, **form, **more)


def convert_from_hf(theirs: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert a state dict from `transformers`: rename, and join keys and values in w_kv."""
    ours = {}
    for name, t in theirs.items():
        for their_part, our_part in RENAMED:
            name = name.replace(their_part, our_part)
        ours[name] = t.clone()
    for name in [name for name in ours if ".w_k." in name]:
        keys, values = ours.pop(name), ours.pop(name.replace("w_k", "w_v"))
        ours[name.replace("w_k", "w_kv")] = torch.cat([keys, values])
    return {name: t for name, t in ours.items() if not name.startswith(("pooler.", "embeddings."))}


def convert_to_hf(ours: dict[str, Tensor]) -> dict[str, Tensor]:
    """Convert a state dict to `transformers`: the inverse of `convert_from_hf`."""
    cut = dict(ours)
    for name in [name for name in ours if ".w_kv." in name]:
        keys, values = cut.pop(name).chunk(2)
        cut |= {name.replace("w_kv", "w_k"): keys, name.replace("w_kv", "w_v"): values}
    theirs = {}
    for name, t in cut.items():
        for their_part, our_part in reversed(RENAMED):
            name = f".{name}".replace(f".{our_part.lstrip('.')}", f".{their_part.lstrip('.')}").lstrip(".")
        theirs[name] = t.clone()
    return theirs


def train_wordpieces(texts: Iterable[str], vocab: int, folder: str | Path) -> Path:
    """Train a WordPiece vocabulary, as BERT has, and write it to a folder for `BertTokenizer`.

    vocab: size of the vocabulary, with the special tokens [PAD] [UNK] [CLS] [SEP] [MASK]. Returns the folder.
    Raises ValueError if the texts are empty.
    Source: Schuster and Nakajima 2012; Wu et al. 2016, section 4.1.
    """
    tokenizer = BertWordPieceTokenizer(lowercase=True)
    tokenizer.train_from_iterator(texts, vocab_size=vocab, show_progress=False)
    if tokenizer.get_vocab_size() <= 5:
        raise ValueError("the texts are empty: there is no piece to learn")
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_model(str(folder))
    return folder
