"""What a training run costs, and the best model for a compute budget."""

from collections.abc import Sequence

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.experiments.scaling_law import Law, Number, best_size


def _compute(matrices: int = 12, each: int = 6, stacked: bool = True) -> Answer:
    """Parameters and FLOPs of a training run.

    matrices: of size d_model² per block. each: operations per parameter and token.
    """

    def answer(layers: int, d_model: int, tokens: int) -> tuple[int, int]:
        parameters = matrices * (layers if stacked else 1) * d_model**2
        return parameters, each * parameters * tokens

    return answer


COMPUTE = Exercise(
    id="07c.compute",
    reference=lambda layers, d_model, tokens: _compute()(layers, d_model, tokens),
    inputs=((1, 2, 10), (2, 16, 1000), (3, 64, 500)),
    mistakes=(
        mistake(
            "your code counts three matrices in the attention, not four",
            "Queries, keys and values, and the output projection: 4 · d_model² parameters.",
            _compute(11),
        ),
        mistake(
            "your code counts the feed-forward network too small",
            "It has two matrices, d_model × 4·d_model and 4·d_model × d_model: 8 · d_model² parameters.",
            _compute(8),
            _compute(6),
        ),
        mistake(
            "your code counts the attention alone",
            "Two thirds of a block's parameters are in the feed-forward network: 8 · d_model².",
            _compute(4),
        ),
        mistake(
            "your code counts one block only",
            "Multiply by the number of layers.",
            _compute(stacked=False),
        ),
        mistake(
            "your code counts the forward pass alone",
            "2 · N · D is the forward pass. The backward pass costs twice as much again: 6 · N · D in all.",
            _compute(each=2),
        ),
        mistake(
            "your code counts the backward pass like the forward pass",
            "The backward pass computes two gradients, of the inputs and of the weights. It costs 4 · N · D.",
            _compute(each=4),
        ),
        mistake(
            "your code counts multiplications only",
            "Each multiplication comes with an addition, and both count: 2 operations instead of 1.",
            _compute(each=3),
        ),
    ),
)


def _size_by(tokens: Answer, choose: Answer = min, of: Answer = lambda size, sizes, law: size) -> Answer:
    """The size that `choose` picks by the predicted loss. tokens: for a budget and a size."""

    def answer(law: Law, flops: Number, sizes: Sequence[Number]) -> Number:
        best = choose(sizes, key=lambda n: law.loss(n, tokens(flops, n)))
        return of(best, sizes, law)

    return answer


def _left(flops: Number, n: Number) -> float:
    return flops / (6 * n)


_LAW = Law(floor=1.0, a=30.0, alpha=0.4, b=500.0, beta=0.5)
_FLAT = Law(floor=0.5, a=12.0, alpha=0.3, b=40.0, beta=0.3)
_SIZES = [1e3, 1e4, 1e5, 1e6]
_MANY = [3e3, 1e4, 3e4, 1e5, 3e5, 1e6]

BEST_SIZE = Exercise(
    id="07c.best_size",
    reference=lambda law, flops, sizes: best_size(law, flops, sizes),
    inputs=((_LAW, 1e11, _SIZES), (_LAW, 1e14, _MANY), (_FLAT, 1e13, _MANY), (_FLAT, 3e10, _MANY)),
    mistakes=(
        mistake(
            "your code forgets the factor 6",
            "A training run of n parameters on d tokens costs 6 · n · d, so d = flops / (6 · n).",
            _size_by(lambda flops, n: flops / n),
        ),
        mistake(
            "your code returns the worst size",
            "The best model has the lowest loss: take the minimum.",
            _size_by(_left, max),
        ),
        mistake(
            "your code always takes the largest size",
            "With a fixed budget, a larger model sees fewer tokens: d = flops / (6 · n), not flops. Compare "
            "the losses law.loss(n, d).",
            lambda law, flops, sizes: max(sizes),
            _size_by(lambda flops, n: flops),
        ),
        mistake(
            "your code returns the loss",
            "Return the size that has this loss, one of `sizes`.",
            lambda law, flops, sizes: min(law.loss(n, _left(flops, n)) for n in sizes),
        ),
        mistake(
            "your code returns the index of the size",
            "Return the size itself, sizes[index].",
            _size_by(_left, of=lambda size, sizes, law: list(sizes).index(size)),
        ),
    ),
)
