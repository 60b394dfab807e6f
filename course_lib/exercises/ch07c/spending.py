"""What a training run costs, and the best model for a compute budget."""

from collections.abc import Sequence

from course_lib.exercises.exercise import Answer, Exercise, mistake
from course_lib.experiments.scaling_law import Law, Number


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
            _compute(9),
            _compute(5),
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
        mistake(
            "your code counts no operations for a parameter",
            "Each parameter takes part in 6 operations per token: 2 in the forward pass, 4 in the backward "
            "pass.",
            _compute(each=1),
        ),
        mistake(
            "your code does not square d_model",
            "The matrices are d_model × d_model, so each has d_model² parameters.",
            lambda layers, d_model, tokens: (12 * layers * d_model, 72 * layers * d_model * tokens),
        ),
        mistake(
            "your code returns C before N",
            "Return the number of parameters first, then the operations.",
            lambda layers, d_model, tokens: _compute()(layers, d_model, tokens)[::-1],
        ),
        mistake(
            "your code returns N times the tokens, but no N",
            "Return a pair: the parameters, 12 · layers · d_model², and the operations, 6 · N · D.",
            lambda layers, d_model, tokens: _compute()(layers, d_model, tokens)[1],
        ),
        mistake(
            "your code leaves the tokens out of C",
            "Every token goes through all parameters: 6 · N · D.",
            lambda layers, d_model, tokens: (12 * layers * d_model**2, 72 * layers * d_model**2),
        ),
        mistake(
            "your code counts twice as many operations",
            "2 operations in the forward pass and 4 in the backward pass: 6 · N · D in all.",
            _compute(each=12),
            _compute(each=8),
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


class _Shown(Law):
    """A law that messages show as a formula."""

    @property
    def __name__(self) -> str:
        return f"{self.floor:g} + {self.a:g}/n^{self.alpha:g} + {self.b:g}/d^{self.beta:g}"


_BY_HAND = _Shown(floor=0.0, a=16.0, alpha=1.0, b=100.0, beta=1.0)
_LAW = _Shown(floor=1.0, a=30.0, alpha=0.4, b=500.0, beta=0.5)
_FLAT = _Shown(floor=0.5, a=12.0, alpha=0.3, b=40.0, beta=0.3)


def _around(size: int) -> list[int]:
    """Sizes so close to one another that 5 · n · d instead of 6 · n · d makes a difference."""
    return [size * percent // 100 for percent in (20, 50, 60, 70, 80, 90, 100, 110, 120, 130, 150, 200, 400)]


BEST_SIZE = Exercise(
    id="07c.best_size",
    reference=lambda law, flops, sizes: _size_by(_left)(law, flops, sizes),
    inputs=(
        (_BY_HAND, 600, [1, 2, 4, 8, 16]),  # d = 100, 50, 25, …; loss = 17, 10, 8, 10, 17
        (_LAW, 1e11, _around(16_000)),
        (_LAW, 1e13, _around(210_000)),
        (_FLAT, 1e12, _around(53_000)),
        (_FLAT, 1e10, _around(5_300)),
        (_LAW, 1e12, _around(50_000)[::-1]),
        (_FLAT, 1e10, [32_000, 2_000, 500, 8_000, 128_000, 512_000, 2_048_000]),
    ),
    mistakes=(
        mistake(
            "your code forgets the factor 6",
            "A training run of n parameters on d tokens costs 6 · n · d, so d = flops / (6 · n).",
            _size_by(lambda flops, n: flops / n),
        ),
        mistake(
            "your code multiplies n · d by another number than 6",
            "Forward and backward pass together cost 6 · n · d (2 · n · d is the forward pass alone), so "
            "d = flops / (6 · n).",
            *(_size_by(lambda flops, n, k=k: flops / (k * n)) for k in (2, 3, 4, 5, 7, 8, 12)),
        ),
        mistake(
            "your code uses the rule of 20 tokens per parameter",
            "That rule was found for other models and other data. Here, ask the law: compare law.loss(n, d), "
            "with d = flops / (6 · n), for each size.",
            lambda law, flops, sizes: min(sizes, key=lambda n: abs(_left(flops, n) - 20 * n)),
            lambda law, flops, sizes: min(sizes, key=lambda n: abs(n - (flops / 120) ** 0.5)),
        ),
        mistake(
            "your code always takes the largest size",
            "A larger model gets fewer tokens for the same budget: d = flops / (6 · n), neither `flops` nor "
            "6 · n / flops. Compare the losses law.loss(n, d).",
            lambda law, flops, sizes: max(sizes),
        ),
        mistake(
            "your code swaps parameters and tokens",
            "The arguments are law.loss(n, d): parameters first.",
            lambda law, flops, sizes: min(sizes, key=lambda n: law.loss(_left(flops, n), n)),
        ),
        mistake(
            "your code returns the number of tokens",
            "Return the size, one of `sizes`.",
            lambda law, flops, sizes: _left(flops, _size_by(_left)(law, flops, sizes)),
        ),
        mistake(
            "your code returns the size and the loss",
            "Return the size alone.",
            lambda law, flops, sizes: (
                (best := _size_by(_left)(law, flops, sizes)),
                law.loss(best, _left(flops, best)),
            ),
            lambda law, flops, sizes: (
                law.loss(best := _size_by(_left)(law, flops, sizes), _left(flops, best)),
                best,
            ),
        ),
        mistake(
            "your code returns the worst size",
            "The best model has the lowest loss: take the minimum.",
            _size_by(_left, max),
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
        mistake(
            "your code always takes the smallest size",
            "A smaller model gets more tokens, but it can also learn less. Compare the losses law.loss(n, "
            "d).",
            lambda law, flops, sizes: min(sizes),
        ),
    ),
)
