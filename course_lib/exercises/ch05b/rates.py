"""Learning-rate warm-up, and the choice of a learning rate from several seeds."""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean

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
        ({0.004: [1.3, 1.6, 1.6], 0.001: [1.2, 1.7, 1.8]},),
    ),
    mistakes=(
        mistake(
            "your code picks the rate of the single best run",
            "One lucky run is enough to win that way, even if the other seeds fail. Compare the mean over "
            "the seeds.",
            _best(min),
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
    ),
    tolerance=1e-9,
)
