"""What is wrong in the notes' einsum listing: eighteen lines, in the order in which they stand there.

Each is a line of `einsum_transformer`, with what the notes have in its place. `einsum_repair` puts a line
into its place, and runs the result.
"""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Fault:
    """One wrong line of the listing.

    where: its class (or function) in `einsum_transformer`. after: how the line before it begins there.
    says: what the notes have, laid out as here; empty where a line is missing. right: the repaired line.
    leaves: what code does that still has the fault. why: what comes of it, and what is meant.
    """

    name: str
    where: str
    after: str
    says: str
    right: str
    leaves: str
    why: str


FAULTS = (
    Fault(
        name="heads",
        where="SelfAttention",
        after="self.embed_size = embed_size",
        says="",
        right="self.heads = heads",
        leaves="does not keep the number of heads",
        why="`forward` reads self.heads, which `__init__` never sets: AttributeError at the first call.",
    ),
    Fault(
        name="projections",
        where="SelfAttention",
        after="queries = query.reshape(",
        says="",
        right="values, keys, queries = self.values(values), self.keys(keys), self.queries(queries)",
        leaves="does not use the three projections",
        why="The layers are made and never called: the words' own vectors are compared, nothing about how to "
        "compare them is learnt, and no error says so.",
    ),
    Fault(
        name="scores",
        where="SelfAttention",
        after="values, keys, queries = ",
        says='energy = torch.enisum("nqhd, nkhd->nhqk", [queries, keys])',
        right='energy = torch.einsum("nqhd,nkhd->nhqk", [queries, keys])',
        leaves="has a misspelt name in the scores",
        why="torch has no enisum: AttributeError.",
    ),
    Fault(
        name="fill",
        where="SelfAttention",
        after="energy = torch.",
        says='energy = energy.masked_fill(mask == 0, float("-le20"))',
        right='energy = energy.masked_fill(mask == 0, float("-inf"))',
        leaves="fills the masked scores with something that is no number",
        why='float("-le20") is a ValueError: the letter l stands where the digit 1 is meant. -1e20 would do '
        "in float32, and not in float16, whose numbers end at 65,504; minus infinity does in both.",
    ),
    Fault(
        name="scale",
        where="SelfAttention",
        after="energy = energy.masked_fill(",
        says="attention = torch.softmax(energy / (self.embed_size ** (1/2)), dim=3)",
        right="attention = torch.softmax(energy / (self.head_dim ** (1 / 2)), dim=3)",
        leaves="divides by √embed_size instead of √head_dim",
        why="A score is a dot product of head_dim terms. Divided by the root of the whole width it is √heads "
        "times too small, and the weights come out too even.",
    ),
    Fault(
        name="empty rows",
        where="SelfAttention",
        after="attention = torch.softmax(",
        says="",
        right="attention = attention.masked_fill((mask == 0).all(dim=-1, keepdim=True), 0.0)",
        leaves="gives a query that may look nowhere something all the same",
        why="With minus infinity in the whole row the softmax is 0/0 = NaN; with -1e20 all weights are equal "
        "and the padding is averaged. Such a query must receive zeros.",
    ),
    Fault(
        name="average",
        where="SelfAttention",
        after="attention = attention.masked_fill(",
        says='out = torch.enisum("nhql, nlhd->nqhd", [attention, values])',
        right='out = torch.einsum("nhql,nlhd->nqhd", [attention, values])',
        leaves="has a misspelt name in the average",
        why="torch has no enisum: AttributeError.",
    ),
    Fault(
        name="fc_out",
        where="SelfAttention",
        after="out = out.reshape(",
        says="out = self.fc_out()",
        right="out = self.fc_out(out)",
        leaves="calls the output layer without its input",
        why="A Linear layer needs the vectors that it is to project: TypeError.",
    ),
    Fault(
        name="attention returns",
        where="SelfAttention",
        after="out = self.fc_out(",
        says="",
        right="return out",
        leaves="does not return what attention has gathered",
        why="A function without return gives None, and None cannot be added to the query: TypeError.",
    ),
    Fault(
        name="LayerNorm",
        where="layer_norm_mean",
        after='"""What `nn.LayerNorm` takes off',
        says="return x.mean(dim=0, keepdim=True)",
        right="return x.mean(dim=-1, keepdim=True)",
        leaves="averages across the examples, as the comment says",
        why='The comment "LayerNorm - Average across all examples" is wrong: LayerNorm averages over the '
        "features of one token, and no other token or sentence has a part in it. BatchNorm averages over the "
        "batch.",
    ),
    Fault(
        name="one block",
        where="Encoder",
        after="arguments = ",
        says="blocks = [TransformerBlock(*arguments)]",
        right="blocks = [TransformerBlock(*arguments) for _ in range(num_layers)]",
        leaves="builds an encoder of one block, whatever num_layers says",
        why="The decoder repeats its block num_layers times, and so must the encoder. No error shows it.",
    ),
    Fault(
        name="layers",
        where="Encoder",
        after="blocks = ",
        says="self.layers == nn.ModuleList(blocks)",
        right="self.layers = nn.ModuleList(blocks)",
        leaves="compares the layers instead of keeping them",
        why="== asks whether two things are equal. self.layers does not exist yet: AttributeError.",
    ),
    Fault(
        name="dropout",
        where="Encoder",
        after="self.layers = ",
        says="self.dropout == nn.Dropout(dropout)",
        right="self.dropout = nn.Dropout(dropout)",
        leaves="compares the dropout instead of keeping it",
        why="== asks whether two things are equal. self.dropout does not exist yet: AttributeError.",
    ),
    Fault(
        name="block name",
        where="DecoderBlock",
        after="self.norm = ",
        says="self.transformer_block = TrasformerBlock(embed_size, heads, dropout, forward_expansion)",
        right="self.transformer_block = TransformerBlock(embed_size, heads, dropout, forward_expansion)",
        leaves="has a misspelt name of the class",
        why="The class is called TransformerBlock: NameError.",
    ),
    Fault(
        name="argument order",
        where="Decoder",
        after="self.position_embedding = ",
        says="arguments = (embed_size, heads, forward_expansion, dropout, device)",
        right="arguments = (embed_size, heads, device, forward_expansion, dropout)",
        leaves="hands the block its arguments in another order than it takes them",
        why="DecoderBlock takes device third. Here dropout becomes the factor of the feed-forward width, and "
        "the device the probability of dropout: TypeError. Arguments by name could not be confused.",
    ),
    Fault(
        name="src_mask",
        where="Decoder",
        after="for layer in self.layers:",
        says="x = layer(x, enc_out, enc_out, trg_mask)",
        right="x = layer(x, enc_out, enc_out, src_mask, trg_mask)",
        leaves="calls the block without the mask of the source",
        why="The block needs both masks, one for each attention: TypeError. The target's mask twice would "
        "fit only sentences of the same length, and would let the target look at padding.",
    ),
    Fault(
        name="decoder returns",
        where="Decoder",
        after="out = self.fc_out(",
        says="",
        right="return out",
        leaves="does not return the logits",
        why="A function without return gives None: no error, and nothing to train on.",
    ),
    Fault(
        name="mask name",
        where="Transformer",
        after="def forward(",
        says="src_mask = self.make_src_masc(src)",
        right="src_mask = self.make_src_mask(src)",
        leaves="has a misspelt name of the method",
        why="The method is called make_src_mask: AttributeError.",
    ),
)
BY_NAME = {fault.name: fault for fault in FAULTS}
