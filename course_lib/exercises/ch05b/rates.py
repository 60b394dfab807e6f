"""Learning-rate warm-up, and the choice of a learning rate from several seeds."""

import math
from collections.abc import Callable, Mapping, Sequence
from statistics import fmean, median, median_high, median_low

from course_lib.exercises.exercise import Answer, Exercise, mistake

WARMUP = Exercise(
    id="05b.warmup",
    reference=lambda step, lr, warmup: lr * min(1, (step + 1) / warmup),
    inputs=((0, 0.008, 4), (1, 0.008, 4), (3, 0.008, 4), (4, 0.008, 4), (100, 0.008, 4), (7, 0.5, 10)),
    mistakes=(
        mistake(
            "your rate starts at 0",
            "Steps count from 0, and the first step should already change the weights. Use (step + "
            "1)/warmup.",
            lambda step, lr, warmup: lr * min(1, step / warmup),
            lambda step, lr, warmup: lr * min(1, step / (warmup - 1)),
        ),
        mistake(
            "your rate reaches lr one step too late",
            "The last of the `warmup` steps has number warmup − 1, and its rate is lr. Use (step + "
            "1)/warmup.",
            lambda step, lr, warmup: lr * min(1, (step + 1) / (warmup + 1)),
        ),
        mistake(
            "your rate keeps rising after the warm-up",
            "From step warmup − 1 on, the rate stays at lr. Take the minimum of 1 and (step + 1)/warmup.",
            lambda step, lr, warmup: lr * (step + 1) / warmup,
            lambda step, lr, warmup: lr * step / warmup,
        ),
        mistake(
            "your rate falls after the warm-up",
            "That is the first Transformer's schedule. Here the rate stays at lr from step warmup − 1 on: "
            "take the minimum of 1 and (step + 1)/warmup.",
            lambda step, lr, warmup: lr * min((step + 1) / warmup, (warmup / (step + 1)) ** 0.5),
            lambda step, lr, warmup: lr * min((step + 1) ** -0.5, (step + 1) * warmup**-1.5),
            lambda step, lr, warmup: lr * min((step + 1) / warmup, warmup / (step + 1)),
        ),
        mistake(
            "your rate falls instead of rising",
            "A high rate early on is exactly what a warm-up must prevent. Start low and rise to lr.",
            lambda step, lr, warmup: lr * max(0, 1 - step / warmup),
            lambda step, lr, warmup: lr * max(0, 1 - (step + 1) / warmup),
        ),
        mistake(
            "your rate stays at 0 and then jumps",
            "Integer division // gives 0 for the whole warm-up. The rate rises linearly: use /.",
            lambda step, lr, warmup: lr * min(1, (step + 1) // warmup),
            lambda step, lr, warmup: lr * min(1, step // warmup),
            lambda step, lr, warmup: lr if step >= warmup else 0.0,
        ),
        mistake(
            "your rate has no warm-up",
            "In the first steps, the rate must be lower than lr. Multiply lr by (step + 1)/warmup "
            "until that reaches 1.",
            lambda step, lr, warmup: lr,
        ),
        mistake(
            "your code takes the maximum",
            "The factor must never exceed 1: min(1, (step + 1)/warmup).",
            lambda step, lr, warmup: lr * max(1, (step + 1) / warmup),
        ),
        mistake(
            "your rate rises for one step too many",
            "Step warmup − 1 already reaches lr. From then on, the rate stays there: min(1, …).",
            lambda step, lr, warmup: lr * (step + 1) / warmup if step <= warmup else lr,
        ),
        mistake(
            "your rate does not rise",
            "Step 0 has lr / warmup, and each step adds as much again: (step + 1) · lr / warmup, at most lr.",
            lambda step, lr, warmup: lr / warmup,
        ),
        mistake(
            "your rate rises quadratically",
            "Warm-up is linear: each step adds the same amount.",
            lambda step, lr, warmup: lr * min(1, ((step + 1) / warmup) ** 2),
        ),
        mistake(
            "your rate follows a cosine",
            "Each step adds the same amount: the rate is proportional to step + 1.",
            lambda step, lr, warmup: lr * 0.5 * (1 - math.cos(math.pi * min(1, (step + 1) / warmup))),
        ),
    ),
    tolerance=1e-6,
)


def _best(by: Callable[[Sequence[float]], float], choose: Callable[..., float] = min) -> Answer:
    """The rate whose losses, summed up by `by`, are chosen."""

    def best_rate(losses: Mapping[float, Sequence[float]]) -> float:
        return choose(losses, key=lambda rate: by(losses[rate]))

    return best_rate


BEST_RATE = Exercise(
    id="05b.best_rate",
    reference=lambda losses: _best(fmean)(losses),
    inputs=(
        ({0.001: [2.0, 2.2, 2.1], 0.002: [1.7, 1.8, 2.2], 0.004: [2.5, 1.6, 2.0]},),
        ({0.001: [1.9, 1.9], 0.002: [1.4, 3.0], 0.004: [2.0, 1.7], 0.008: [5.3, 5.3]},),
        ({0.001: [1.5, 1.6, 1.7], 0.002: [1.4, 1.5, 2.9]},),
        ({0.004: [1.3, 1.6, 1.6], 0.001: [1.2, 1.7, 1.8]},),
        ({0.001: [2.0], 0.002: [1.5, 1.7, 1.6], 0.004: [1.8, 1.9]},),
        ({0.008: [1.2, 1.4], 0.001: [1.5, 1.5], 0.002: [1.9, 1.6]},),
    ),
    mistakes=(
        mistake(
            "your code picks the rate of the single best run",
            "One lucky run is enough to win that way, even if the other seeds fail. Compare the mean over "
            "the seeds.",
            _best(min),
        ),
        mistake(
            "your code compares the sums of the losses",
            "A rate with more seeds has a larger sum, however good it is. Divide by the number of its "
            "losses.",
            _best(sum),
        ),
        mistake(
            "your code compares the medians",
            "The median ignores how bad the worst seeds are. The exercise asks for the lowest mean.",
            _best(median),
            _best(median_high),
            _best(median_low),
        ),
        mistake(
            "your code looks at one seed only",
            "Each list holds the final losses of several seeds. Average them first.",
            _best(lambda losses: losses[0]),
            _best(lambda losses: losses[-1]),
        ),
        mistake(
            "your code picks the largest loss",
            "A lower loss is better. Use min.",
            _best(fmean, max),
        ),
        mistake(
            "your code returns a loss instead of a learning rate",
            "The question is which rate to train with. min(losses, key=…) compares by a function of each "
            "rate and returns the rate.",
            lambda losses: min(fmean(some) for some in losses.values()),
            lambda losses: min(min(some) for some in losses.values()),
        ),
        mistake(
            "your code picks the smallest learning rate",
            "min(losses) compares the keys. Tell it what to compare: min(losses, key=…).",
            lambda losses: min(losses),
        ),
        mistake(
            "your code picks the rate with the smallest worst loss",
            "That is a cautious choice, but the exercise asks for the lowest mean.",
            _best(max),
        ),
        mistake(
            "your code returns the number of the rate",
            "Return the learning rate itself, a key of the dictionary.",
            lambda losses: list(losses).index(_best(fmean)(losses)),
        ),
        mistake(
            "your code returns the rate with its losses",
            "Return the learning rate alone. min(losses, …) goes through the keys; min(losses.items(), …) "
            "through pairs.",
            lambda losses: min(losses.items(), key=lambda entry: fmean(entry[1])),
        ),
        mistake(
            "your code picks the largest learning rate",
            "max(losses) compares the keys. Compare the mean losses: min(losses, key=…).",
            lambda losses: max(losses),
        ),
    ),
    tolerance=1e-9,
)
