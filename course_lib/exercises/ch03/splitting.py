"""Split vectors into heads, and merge them again."""

from course_lib.exercises.exercise import Exercise, mistake, numbered

SPLIT = Exercise(
    id="03.split",
    reference=lambda x, heads: x.unflatten(-1, (heads, -1)).transpose(1, 2),
    inputs=((numbered(1, 3, 4), 2), (numbered(2, 3, 8), 4), (numbered(2, 5, 12), 3)),
    mistakes=(
        mistake(
            "mixes tokens and heads: the shape is right, the contents are not",
            "view and reshape only count on along the memory, so head 0 gets the first tokens whole. Give "
            "the last axis the shape (heads, d_head) first, and swap the axes after that.",
            lambda x, heads: x.reshape(x.shape[0], heads, x.shape[1], -1),
        ),
        mistake(
            "deals the numbers out like cards",
            "Head h is the h-th slice of d_head numbers that lie side by side. With (d_head, heads) in the "
            "place of (heads, d_head), head 0 gets every heads-th number.",
            lambda x, heads: x.unflatten(-1, (-1, heads)).permute(0, 3, 1, 2),
        ),
        mistake(
            "leaves the heads behind the tokens",
            "(batch, tokens, heads, d_head) is half the way. The heads must stand before the tokens, so that "
            "the matrix products run over tokens and d_head: transpose(1, 2).",
            lambda x, heads: x.unflatten(-1, (heads, -1)),
        ),
        mistake(
            "puts the heads before the batch",
            "Asked is (batch, heads, tokens, d_head). A list of slices, stacked along axis 0, has the heads "
            "in front: stack them along axis 1.",
            lambda x, heads: x.unflatten(-1, (heads, -1)).permute(2, 0, 1, 3),
        ),
        mistake(
            "swaps tokens and d_head as well",
            "Only axes 1 and 2 change places. The numbers of a head stay last.",
            lambda x, heads: x.unflatten(-1, (heads, -1)).permute(0, 2, 3, 1),
        ),
        mistake(
            "makes slices of the tokens instead of the vectors",
            "Each head sees every token, and of each token a part of its numbers: cut the last axis.",
            lambda x, heads: x.unflatten(1, (heads, -1)),
        ),
    ),
)

MERGE = Exercise(
    id="03.merge",
    reference=lambda x: x.transpose(1, 2).flatten(-2),
    inputs=((numbered(1, 2, 3, 2),), (numbered(2, 3, 3, 4),), (numbered(2, 3, 5, 4),)),
    mistakes=(
        mistake(
            "does not swap the axes back",
            "Read as (batch, tokens, …), the memory still holds head after head: token 0 gets numbers of "
            "several tokens. Put the tokens before the heads first: transpose(1, 2).",
            lambda x: x.reshape(x.shape[0], x.shape[2], -1),
        ),
        mistake(
            "deals the heads out like cards",
            "The numbers of head 0 come first, all of them, then those of head 1. With d_head before heads, "
            "the first numbers of all heads come first.",
            lambda x: x.permute(0, 2, 3, 1).flatten(-2),
        ),
        mistake(
            "adds the heads up",
            "Merging is putting side by side: nothing is added, and no number is lost.",
            lambda x: x.sum(dim=1),
            lambda x: x.mean(dim=1),
        ),
        mistake(
            "puts the tokens of all heads one below the other",
            "There are as many tokens after merging as in each head; the vectors become wider, not the "
            "sentence longer.",
            lambda x: x.flatten(1, 2),
        ),
        mistake(
            "leaves heads and d_head apart",
            "After the swap, the last two axes still have to become one: flatten(-2), or reshape with -1.",
            lambda x: x.transpose(1, 2),
        ),
        mistake(
            "uses view on a swapped tensor",
            "After transpose the numbers no longer lie in memory in the order of the axes, and view refuses. "
            "Use reshape or flatten, which copy where they must, or .contiguous() before view.",
            lambda x: x.transpose(1, 2).view(x.shape[0], x.shape[2], -1),
        ),
    ),
)
