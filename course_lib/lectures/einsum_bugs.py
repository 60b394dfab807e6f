"""Bugs in the notes' einsum listing: eighteen lines, in the order of the listing.

Each entry is a line of `einsum_transformer` and what the notes have instead. `einsum_repair` substitutes a
line and runs the result.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Bug:
    """One incorrect line of the listing.

    where: its class (or function) in `einsum_transformer`. after: how the line before it starts.
    says: the line in the notes, formatted as here; empty if a line is missing. right: the corrected line.
    leaves: what code with this bug does. why: the consequence, and what is meant.
    """

    name: str
    where: str
    after: str
    says: str
    right: str
    leaves: str
    why: str


BUGS = (
    Bug(
        name="heads",
        where="SelfAttention",
        after="self.embed_size = embed_size",
        says="",
        right="self.heads = heads",
        leaves="does not keep the number of heads",
        why="`forward` reads self.heads, which `__init__` never sets: AttributeError at the first call.",
    ),
    Bug(
        name="projections",
        where="SelfAttention",
        after="queries = query.reshape(",
        says="",
        right="values, keys, queries = self.values(values), self.keys(keys), self.queries(queries)",
        leaves="does not use the three projections",
        why="The layers are created but never called: attention compares the embeddings themselves, "
        "learns no projections, and raises no error.",
    ),
    Bug(
        name="scores",
        where="SelfAttention",
        after="values, keys, queries = ",
        says='energy = torch.enisum("nqhd, nkhd->nhqk", [queries, keys])',
        right='energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])',
        leaves="has a misspelled name in the scores",
        why="torch has no enisum: AttributeError.",
    ),
    Bug(
        name="fill",
        where="SelfAttention",
        after="energy = torch.",
        says='energy = energy.masked_fill(mask == 0, float("-le20"))',
        right='energy = energy.masked_fill(mask == 0, float("-inf"))',
        leaves="fills the masked scores with something that is not a number",
        why='float("-le20") is a ValueError: it has the letter l instead of the digit 1. -1e20 would work '
        "in float32 but not in float16, whose largest number is 65,504; minus infinity works in both.",
    ),
    Bug(
        name="scale",
        where="SelfAttention",
        after="energy = energy.masked_fill(",
        says="attention = torch.softmax(energy / (self.embed_size ** (1/2)), dim=3)",
        right="attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)",
        leaves="divides by √embed_size instead of √head_dim",
        why="A score is a dot product of head_dim terms. Divided by the root of the full width, it is √heads "
        "times too small, and the weights are too uniform.",
    ),
    Bug(
        name="empty rows",
        where="SelfAttention",
        after="attention = torch.softmax(",
        says="",
        right="attention = attention.masked_fill((mask == 0).all(dim=-1, keepdim=True), 0.0)",
        leaves="gives a fully masked query a nonzero output",
        why="With minus infinity in the whole row, the softmax is 0/0 = NaN; with -1e20, all weights are "
        "equal and the output averages the padding. Such a query must get zeros.",
    ),
    Bug(
        name="average",
        where="SelfAttention",
        after="attention = attention.masked_fill(",
        says='out = torch.enisum("nhql, nlhd->nqhd", [attention, values])',
        right='out = torch.einsum("nhql,nlhd->nqhd", [attention, values])',
        leaves="has a misspelled name in the weighted average",
        why="torch has no enisum: AttributeError.",
    ),
    Bug(
        name="fc_out",
        where="SelfAttention",
        after="out = out.reshape(",
        says="out = self.fc_out()",
        right="out = self.fc_out(out)",
        leaves="calls the output layer without its input",
        why="A Linear layer needs an input: TypeError.",
    ),
    Bug(
        name="attention returns",
        where="SelfAttention",
        after="out = self.fc_out(",
        says="",
        right="return out",
        leaves="does not return the attention output",
        why="A function without return returns None, which cannot be added to the query: TypeError.",
    ),
    Bug(
        name="LayerNorm",
        where="layer_norm_mean",
        after='"""Mean that `nn.LayerNorm` subtracts',
        says="return x.mean(dim=0, keepdim=True)",
        right="return x.mean(dim=-1, keepdim=True)",
        leaves="averages across the examples, as the comment says",
        why='The comment "LayerNorm - Average across all examples" is wrong: LayerNorm averages over the '
        "features of one token, independently of all other tokens and sentences. BatchNorm averages over the "
        "batch.",
    ),
    Bug(
        name="one block",
        where="Encoder",
        after="arguments = ",
        says="blocks = [TransformerBlock(*arguments)]",
        right="blocks = [TransformerBlock(*arguments) for _ in range(num_layers)]",
        leaves="builds an encoder with one block, regardless of num_layers",
        why="The decoder repeats its block num_layers times, and so must the encoder. There is no error.",
    ),
    Bug(
        name="layers",
        where="Encoder",
        after="blocks = ",
        says="self.layers == nn.ModuleList(blocks)",
        right="self.layers = nn.ModuleList(blocks)",
        leaves="compares the layers instead of assigning them",
        why="== tests equality. self.layers does not exist yet: AttributeError.",
    ),
    Bug(
        name="dropout",
        where="Encoder",
        after="self.layers = ",
        says="self.dropout == nn.Dropout(dropout)",
        right="self.dropout = nn.Dropout(dropout)",
        leaves="compares the dropout instead of assigning it",
        why="== tests equality. self.dropout does not exist yet: AttributeError.",
    ),
    Bug(
        name="block name",
        where="DecoderBlock",
        after="self.norm = ",
        says="self.transformer_block = TrasformerBlock(embed_size, heads, dropout, forward_expansion)",
        right="self.transformer_block = TransformerBlock(embed_size, heads, dropout, forward_expansion)",
        leaves="misspells the class name",
        why="The class is called TransformerBlock: NameError.",
    ),
    Bug(
        name="argument order",
        where="Decoder",
        after="self.position_embedding = ",
        says="arguments = (embed_size, heads, forward_expansion, dropout, device)",
        right="arguments = (embed_size, heads, device, forward_expansion, dropout)",
        leaves="passes the block its arguments in the wrong order",
        why="DecoderBlock takes device third. Here dropout becomes the factor of the feed-forward width, and "
        "the device becomes the dropout probability: TypeError. Keyword arguments would prevent this.",
    ),
    Bug(
        name="src_mask",
        where="Decoder",
        after="for layer in self.layers:",
        says="x = layer(x, enc_out, enc_out, trg_mask)",
        right="x = layer(x, enc_out, enc_out, src_mask, trg_mask)",
        leaves="calls the block without the source mask",
        why="The block needs both masks, one for each attention: TypeError. Passing the target mask twice "
        "would work only for sentences of equal length, and would let the target attend to padding.",
    ),
    Bug(
        name="decoder returns",
        where="Decoder",
        after="out = self.fc_out(",
        says="",
        right="return out",
        leaves="does not return the logits",
        why="A function without return returns None: no error, but nothing to train on.",
    ),
    Bug(
        name="mask name",
        where="Transformer",
        after="def forward(",
        says="src_mask = self.make_src_masc(src)",
        right="src_mask = self.make_src_mask(src)",
        leaves="misspells the method name",
        why="The method is called make_src_mask: AttributeError.",
    ),
)
BY_NAME = {bug.name: bug for bug in BUGS}
