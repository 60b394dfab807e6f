"""BERT: its published sizes, weight conversion from and to `transformers`, and WordPiece tokenizers."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import BertWordPieceTokenizer
from torch import nn

from course_lib.models.text_encoder import EncoderConfig, TextEncoder
from course_lib.pretrained.conversion import Conversion, check_form, d_ff
from course_lib.pretrained.torchvision_ops import transformers
from course_lib.text.tokenizers import PAD


def bert(layers: int, heads: int, d_model: int) -> EncoderConfig:
    sizes: dict[str, Any] = {"d_model": d_model, "heads": heads, "layers": layers, "max_tokens": 512}
    return EncoderConfig(vocab=30522, types=2, norm="post", epsilon=1e-12, dropout=0.1, **sizes)


BERT_SIZES = {  # Devlin et al. 2019, section 3
    "bert-base-uncased": bert(12, 12, 768),
    "bert-large-uncased": bert(24, 16, 1024),
}
BOTH = Conversion("bert")
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
    theirs = model.config
    check_form("TextEncoder", theirs, **FORM)
    config = EncoderConfig(d_ff=theirs.intermediate_size, norm="post", **BOTH.our_settings(theirs))
    return BOTH.load_into_ours(TextEncoder, config, model)


def to_hugging_face(encoder: TextEncoder) -> nn.Module:
    """Convert a `TextEncoder` to a `BertModel` without pooler, with the same hidden states.

    Raises ValueError for options that BERT does not have.
    """
    model = transformers().BertModel(bert_config(encoder), add_pooling_layer=False)
    return BOTH.load_into_theirs(encoder, model)


def classifier_to_hugging_face(encoder: TextEncoder, head: nn.Linear) -> Any:
    """Convert an encoder and the linear layer on its first hidden state to a `BertForSequenceClassification`.

    BERT has one more layer between them, the pooler, with a tanh. It becomes the identity, up to 1 in a
    million: of numbers near 0, tanh is nearly linear.
    Raises ValueError for options that BERT does not have.
    """
    model = transformers().BertForSequenceClassification(bert_config(encoder, num_labels=head.out_features))
    width = encoder.config.d_model
    BOTH.load_into_theirs(encoder, model.bert)
    model.bert.pooler.dense.load_state_dict({"weight": NEAR_0 * torch.eye(width), "bias": torch.zeros(width)})
    model.classifier.to(head.weight)
    model.classifier.load_state_dict({"weight": head.weight / NEAR_0, "bias": head.bias})
    return model.train(encoder.training)


def bert_config(encoder: TextEncoder, **more: Any) -> Any:
    """The `BertConfig` of an encoder. Raises ValueError for options that BERT does not have."""
    config = encoder.config
    form = {"norm": "post", "positions": "learned", "causal": False, "activation": "exact gelu"}
    check_form("BERT", config, **form, qk_norm=False, kv_heads=None)
    if config.types < 1:
        raise ValueError(f"types={config.types}, but BERT has at least types=1")
    settings = BOTH.their_settings(config)
    return transformers().BertConfig(intermediate_size=d_ff(config), pad_token_id=PAD, **settings, **more)


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
