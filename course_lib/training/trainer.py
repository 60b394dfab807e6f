"""The training loop for all models of the course, with resuming from checkpoints."""

import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor, nn

from course_lib.datasets.batching import Batches
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import CALIBRATION, TrainConfig, learning_rate
from course_lib.training.diagnostics import SMALLEST_SCALE, Diverged, blown_up, collapsed, not_finite
from course_lib.training.evaluation import evaluating
from course_lib.training.memory import keep_freed_memory
from course_lib.training.model_files import form
from course_lib.training.optim import WeightEMA, make_optimizer
from course_lib.training.precision import autocast, precision_of_training, with_cpu_bf16_attention
from course_lib.training.run_record import check_same, settings_of
from course_lib.utils.progress_bar import ProgressBar

_log = get_logger(__name__)  # of the main process only

FLUSH_EVERY = 20  # steps between two reads of the losses; each read waits for the device


@dataclass
class History:
    """History of a training run: the mean loss of each step, and the scores of each evaluation.

    tokens: number of tokens (or images, …) in the losses. seconds: training time without evaluations.
    steps: total number of steps in the run.
    """

    losses: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float | int]] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0
    steps: int = 0


def train(
    objective: nn.Module,
    batches: Batches,
    config: TrainConfig,
    *,
    folder: str | Path | None = None,
    keep: int = 2,
    evaluate: Callable[[], dict[str, float]] | None = None,
    device: torch.device | str | None = None,
    progress: bool = True,
    unigram: float | None = None,
) -> History:
    """Train `objective.model`; `objective` turns a batch into the sum of its losses and their number.

    batches: a `DataLoader` of the course, such as `TranslationBatches`; the run begins with its first epoch.
    folder: for checkpoints. A run that finds its own checkpoint there resumes from it, to identical losses.
    keep: how many checkpoints stay in the folder, the newest ones.
    evaluate: returns scores; called with the model in evaluation mode. The history keeps them.
    device: by default the one that Accelerate chooses, a GPU if there is one.
    unigram: `unigram_loss` of the target tokens. If the loss is stuck there after the warm-up (a collapse),
    the log warns.
    With `config.average`, the model is evaluated with the average of its weights, and keeps it at the end.
    Under `accelerate launch`, each process computes a part of every batch.
    Raises Diverged if the loss blows up, or a loss or gradient is not finite; OtherRun if the folder has
    checkpoints of a run with other settings.
    """
    run = Trainer(objective, batches, config, folder, device, unigram, keep)
    show = progress and run.accelerator.is_main_process
    if show and run.step:
        print(f"resumed at step {run.step} of {run.steps or 'an unknown number'}", flush=True)
    with ProgressBar(
        total=run.steps, initial=run.step, disable=not show, desc="training", unit="step"
    ) as bar:
        for batch in run.remaining():
            run.training_step(batch)
            bar.total = run.steps
            bar.update()
            if run.due(FLUSH_EVERY):
                run.flush()
                bar.set_postfix(loss=f"{run.history.losses[-1]:.3f}", refresh=False)
            if evaluate is not None and run.due(config.evaluate_every):
                run.evaluate(evaluate)
            if run.due(config.checkpoint_every):
                run.save()
    run.average.exchange()
    return run.history


class Trainer:
    """A training run: everything that changes from step to step, and that a checkpoint must hold."""

    def __init__(
        self,
        objective: nn.Module,
        batches: Batches,
        config: TrainConfig,
        folder: str | Path | None = None,
        device: torch.device | str | None = None,
        unigram: float | None = None,
        keep: int = 2,
    ):
        self.accelerator = Accelerator(device_placement=False)
        self.device = torch.device(device) if device else self.accelerator.device
        self.config, self.batches, self.model = config, batches, objective.get_submodule("model")
        self.settings, self.unigram = settings_of(objective, config), unigram
        self.step, self.steps = 0, config.steps
        self.history = History(steps=config.steps or 0)
        self.pending: list[tuple[Tensor, Tensor, Tensor]] = []  # loss, count and gradient norm of each step
        batches.batch_sampler.load_state_dict({"epoch": 0, "position": 0})
        if self.device.type == "cpu":
            keep_freed_memory()  # for the whole process
        # each process needs its own dropout masks; the first one uses the seed itself
        torch.manual_seed(config.seed + 1_000_003 * self.accelerator.process_index)
        objective.to(self.device).train()
        self.optimizer = make_optimizer(objective, config)
        self.average = WeightEMA(self.model, config.average)
        self.folder = Path(folder or ".")
        self.checkpoints = Checkpoints(folder, keep) if folder else None
        resumed = None
        if self.checkpoints:
            copies = 4 if config.average else 3  # of the weights: themselves, two moments, the average
            size = copies * sum(p.nbytes for p in self.model.parameters())
            self.checkpoints.check_disk(size, config.steps, config.checkpoint_every)
            resumed = self.checkpoints.load_newest(self.model, self.load_state_dict)
        if resumed is None:
            chosen = precision_of_training(config.precision, objective, batches, self.device)
            self.use_precision(broadcast_object_list([chosen])[0])  # the same for all processes
        prepared = self.accelerator.prepare(objective)
        self.objective = torch.compile(prepared, dynamic=True) if config.compile else prepared
        self.clock = time.perf_counter()

    def use_precision(self, precision: str) -> None:
        """Compute in this precision from now on; in fp16, with scaled losses."""
        self.precision = precision
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=precision == "fp16")
        if precision == "bf16" and self.device.type == "cpu":
            with_cpu_bf16_attention(self.model)

    def remaining(self) -> Iterator[tuple[Tensor, ...]]:
        """The remaining batches."""
        while self.step != self.steps:
            for batch in self.batches:
                yield batch
                if self.step == self.steps:
                    break

    def due(self, every: int) -> bool:
        return self.step == self.steps or (every > 0 and self.step % every == 0)

    def training_step(self, batch: tuple[Tensor, ...]) -> None:
        """One optimizer step on a batch, of which each process takes some rows."""
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        idle = process >= len(batch[0])  # no row is left for it: it computes one that does not count
        mine = (rows[0 if idle else process :: processes] for rows in batch)
        with autocast(self.device, self.precision):
            loss, count = self.objective(*(rows.to(self.device, non_blocking=True) for rows in mine))
        if idle:
            loss, count = 0 * loss, 0 * count
        count = self.accelerator.reduce(count, "sum")
        # the mean over the tokens of all processes; `processes`, because their gradients are averaged
        self.scaler.scale(loss * (processes / count)).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        d_model = getattr(getattr(self.model, "config", None), "d_model", 512)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.steps, self.config, d_model)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.pending.append((self.accelerator.reduce(loss.detach(), "sum") / count, count, norm))
        self.step += 1
        self.average.update(self.step)

    def follow_clock(self) -> None:
        """Convert minutes to a number of steps, from the speed of the main process so far.

        Repeated at every look at the clock: first-time shapes and a busy machine slow down only some steps.
        """
        steps = round(self.step * 60 * (self.config.minutes or 0) / self.history.seconds)
        # the same for all: a process with one more step would wait for the others forever
        self.steps = self.history.steps = broadcast_object_list([max(self.step, steps)])[0]

    def flush(self) -> None:
        """Move the pending losses into the history, and judge them.

        Raises Diverged if they blow up or are not finite. Warns once of a collapse, 200 steps after the
        warm-up or later.
        """
        losses = [loss.item() for loss, _, _ in self.pending]
        # in fp16, the scaler skips steps whose gradients overflow
        norms = [norm.item() for _, _, norm in self.pending if not self.scaler.is_enabled()]
        self.history.losses += losses
        self.history.tokens += sum(int(count) for _, count, _ in self.pending)
        self.pending = []
        now = time.perf_counter()
        self.history.seconds += now - self.clock
        self.clock = now
        if self.config.minutes and losses and self.step >= CALIBRATION:
            self.follow_clock()
        seen = not_finite(self.step, losses, norms) or blown_up(self.history.losses)
        if self.scaler.get_scale() < SMALLEST_SCALE:
            seen = f"all gradients overflow, now at step {self.step}"
        if seen:
            raise Diverged(seen, self.config, self.precision)
        if self.unigram and self.step >= self.config.warmup + 200:
            if seen := collapsed(self.history.losses, self.unigram):
                self.unigram = None
                _log.warning("%s, at step %s: try a lower lr or a longer warm-up", seen, self.step)

    def evaluate(self, evaluate: Callable[[], dict[str, float]]) -> None:
        """Add the scores of the model, with averaged weights, to the history; the time does not count."""
        self.flush()
        self.average.exchange()
        try:
            with evaluating(self.model):
                scores = evaluate()
        finally:
            self.average.exchange()
        self.history.evaluations.append({"step": self.step, **scores})
        self.clock = time.perf_counter()

    def save(self) -> None:
        """Write a checkpoint (main process only)."""
        self.flush()
        if self.checkpoints:
            state = self.state_dict()
            if self.accelerator.is_main_process:
                self.checkpoints.save(self.step, self.model, state)
        self.clock = time.perf_counter()

    def state_dict(self) -> dict[str, Any]:
        """The training state: everything that changes from step to step, except the model's weights."""
        run = {"step": self.step, "steps": self.steps, "precision": self.precision}
        return {
            "settings": self.settings,
            "run": run | self.batches.batch_sampler.state_dict(),
            "history": asdict(self.history),
            "optimizer": self.optimizer.state_dict(),
            "average": self.average.weights,
            "scaler": self.scaler.state_dict(),
            "rng": gather_object([random_states(self.device)]),  # of every process
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a training state.

        Raises OtherRun if it is of a run with other settings, and other errors if it is invalid.
        """
        check_same(self.folder, state["settings"], self.settings)
        self.check_fits(state["optimizer"]["state"], state["average"])
        self.step, self.steps = state["run"]["step"], state["run"]["steps"]
        self.use_precision(state["run"]["precision"])
        self.batches.batch_sampler.load_state_dict(state["run"])
        self.history = History(**state["history"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.average.weights = [weight.to(self.device) for weight in state["average"]]
        self.scaler.load_state_dict(state["scaler"])
        process, states = self.accelerator.process_index, state["rng"]
        if not states:
            raise ValueError("the state of the random generator is missing")
        # a new process keeps its seed; all processes try all states, to agree on the checkpoint
        own = states[process] if process < len(states) else random_states(self.device)
        for one in [*states, own]:
            set_random_states(one, self.device)

    def check_fits(self, moments: dict[int, dict[str, Tensor]], average: list[Tensor]) -> None:
        """Raise ValueError if a stored tensor has another shape or dtype than its weight.

        Loading would broadcast or cast it.
        """
        weights = [weight for group in self.optimizer.param_groups for weight in group["params"]]
        for number, parts in moments.items():
            forms = {form(tensor) for name, tensor in parts.items() if name != "step"}
            if forms != {form(weights[number])}:
                raise ValueError(f"the optimizer's state of weight {number} has {forms}")
        if list(map(form, average)) != list(map(form, self.average.weights)):
            raise ValueError("the average does not fit the weights")


def random_states(device: torch.device) -> list[Tensor]:
    """States of the random generators: of the CPU, and of `device` if it is a GPU."""
    return [torch.get_rng_state(), *([torch.cuda.get_rng_state(device)] if device.type == "cuda" else [])]


def set_random_states(states: list[Tensor], device: torch.device) -> None:
    """Restore `random_states`; the state of a GPU is ignored on a CPU."""
    torch.set_rng_state(states[0])
    if device.type == "cuda" and len(states) > 1:
        torch.cuda.set_rng_state(states[1], device)
