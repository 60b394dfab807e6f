"""The training loop for all models of the course, with resuming from checkpoints."""

import math
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, fields
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator
from accelerate.logging import get_logger
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from torch.types import Device

from course_lib.datasets.batching import Batches
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig, learning_rate
from course_lib.training.diagnostics import Diverged, Pace, blown_up, collapsed, not_finite
from course_lib.training.evaluation import evaluating
from course_lib.training.model_files import check_weights, fitting
from course_lib.training.optim import WeightEMA, make_optimizer
from course_lib.training.precision import autocast, choose_precision
from course_lib.training.run_record import check_same, settings_of
from course_lib.utils.device import busy_note, memory_errors, to_device
from course_lib.utils.files import check_writable
from course_lib.utils.progress_bar import ProgressBar
from course_lib.utils.random_states import gather_random_states, scatter_random_states

_log = get_logger(__name__)  # of the main process only

FLUSH_EVERY = 20  # steps between two reads of the losses; each read waits for the device


@dataclass
class History:
    """History of a training run: the mean loss of each step, and the scores of each evaluation.

    tokens: number of tokens (or images, …) in the losses. seconds: training time without evaluations.
    steps: total number of steps in the run; None while `TrainConfig.minutes` are not yet converted to steps.
    """

    losses: list[float] = field(default_factory=list)
    evaluations: list[dict[str, float | int]] = field(default_factory=list)
    tokens: int = 0
    seconds: float = 0.0
    steps: int | None = None


@memory_errors()
def train(
    objective: nn.Module,
    batches: Batches,
    config: TrainConfig,
    *,
    folder: str | Path | None = None,
    keep: int = 2,
    evaluate: Callable[[], dict[str, float]] | None = None,
    device: Device = None,
    progress: bool = True,
    unigram: float | None = None,
) -> History:
    """Train `objective.model`; `objective` turns a batch into the sum of its losses and their number.

    Parameters of the objective itself are trained, too. A batch without a target has the loss 0.
    batches: a `DataLoader` of the course, such as `TranslationBatches`; the run begins with its first epoch.
    folder: for checkpoints. A run that finds its own checkpoint there resumes from it, to identical losses.
    keep: how many checkpoints stay in the folder, the newest ones.
    evaluate: returns scores; called with the model in evaluation mode. The history keeps them.
    device: by default the one that Accelerate chooses, a GPU if there is one.
    unigram: `unigram_loss` of the target tokens. If the loss is stuck there after the warm-up (a collapse),
    the log warns.
    With `config.average`, the model is evaluated with the average of its weights, and keeps it at the end.
    Under `accelerate launch`, each process computes a part of every batch.
    The progress bar says if other processes keep the cores busy, or the run loses half of its pace.
    Raises Diverged if the loss blows up, or a loss or gradient is not finite; OtherRun if the folder has
    checkpoints of a run with other settings; OSError if it has no room for checkpoints; ValueError for a
    setting outside its range, for batches of which there are none, and for what a checkpoint could not hold;
    torch.OutOfMemoryError, which says what to lower.

    >>> from course_lib.models import GPT, GPTConfig
    >>> from course_lib.tasks import LanguageModelLoss, TextBatches
    >>> model = GPT(GPTConfig(vocab=10, d_model=16, layers=1))
    >>> batches = TextBatches([5, 6, 7, 8, 9] * 20, tokens=8, batch=4)
    >>> config = TrainConfig(steps=20, lr=0.01, warmup=5)
    >>> history = train(LanguageModelLoss(model), batches, config, device="cpu", progress=False)
    >>> history.losses[-1] < history.losses[0]
    True
    """
    run = Trainer(objective, batches, config, device)
    checkpoints = Checkpoints(folder, keep) if folder else None
    if checkpoints:
        # the weights, two moments of each, their average; the newest is written before the oldest is deleted
        size = (4 if config.average else 3) * sum(p.nbytes for p in objective.parameters())
        most = min(keep, 2) + 1 if config.checkpoint_every else 1  # at once, if not more
        check_writable(checkpoints.folder, size * (most - len(checkpoints.steps())))
        checkpoints.check(run.model, run.state_dict())  # now, not after the last step
        checkpoints.load_newest(run.model, run.load_state_dict)
    hide, steps = not (progress and run.accelerator.is_main_process), run.history.steps
    if run.step and not hide:
        print(f"resumed at step {run.step} of {steps or 'an unknown number'}", flush=True)
    busy = "" if hide else busy_note()
    with ProgressBar(run.remaining(), "training", steps, initial=run.step, disable=hide, unit="step") as bar:
        for batch in bar:
            run.training_step(batch)
            if run.due(FLUSH_EVERY, config.evaluate_every, config.checkpoint_every):
                run.flush()
                bar.total = run.history.steps
                notes = (f"loss={run.history.losses[-1]:.3f}", run.pace.note or busy)
                bar.set_postfix_str(", ".join(filter(None, notes)), refresh=False)
                if unigram and (seen := collapsed(run.history.losses[config.warmup + 100 :], unigram)):
                    _log.warning("%s, at step %s: try a lower lr or a longer warm-up", seen, run.step)
                    unigram = None  # one warning is enough
            if evaluate is not None and run.due(config.evaluate_every):
                with evaluating(run.model, run.average):
                    run.history.evaluations.append({"step": run.step, **evaluate()})
            if checkpoints and run.due(config.checkpoint_every):
                state = run.state_dict()  # of all processes
                if run.accelerator.is_main_process:
                    checkpoints.save(run.step, run.model, state)
    run.average.exchange()
    return run.history


class Trainer:
    """A training run: everything that changes from step to step, and that a checkpoint must hold."""

    def __init__(self, objective: nn.Module, batches: Batches, config: TrainConfig, device: Device):
        self.accelerator = Accelerator(device_placement=False)
        self.device = torch.device(device or self.accelerator.device)
        if not len(batches):
            raise ValueError("batches has none: training would never end; are the examples too few for one?")
        self.config, self.batches, self.model = config, batches, objective.get_submodule("model")
        self.plain = objective  # not wrapped, unlike `self.objective`
        self.settings = settings_of(objective, config)
        self.step, self.clock, self.history = 0, time.perf_counter(), History(steps=config.steps)
        self.pace = Pace()
        self.pending: list[Tensor] = []  # loss, count and gradient norm of each step
        batches.batch_sampler.load_state_dict({"epoch": 0, "position": 0})
        # each process needs its own dropout masks; the first one uses the seed itself
        torch.manual_seed(config.seed + 1_000_003 * self.accelerator.process_index)
        objective.to(self.device).train()
        objective.zero_grad()  # of what was computed before
        self.optimizer = make_optimizer(objective, config)
        self.average = WeightEMA(self.model, config.average)
        self.precision = choose_precision(config.precision, self.device)
        self.scaler = loss_scaling(self.device, self.precision)
        prepared = self.accelerator.prepare(objective)
        self.objective = torch.compile(prepared, dynamic=True) if config.compile else prepared

    def remaining(self) -> Iterator[tuple[Tensor, ...]]:
        """The remaining batches. The clock begins again at the first one after a flush."""
        epochs = chain.from_iterable(repeat(self.batches))
        while self.step != self.history.steps:
            if not self.pending:
                self.clock = time.perf_counter()  # evaluations and checkpoints are no training time
            yield next(epochs)

    def due(self, *every: int) -> bool:
        """Whether a step that is due every so many steps, and at the end, has just been taken."""
        return self.step == self.history.steps or any(n > 0 and self.step % n == 0 for n in every)

    def training_step(self, batch: tuple[Tensor, ...]) -> None:
        """One optimizer step on a batch: the mean over its tokens, in all its parts and all processes."""
        total = count = torch.zeros((), dtype=torch.long, device=self.device)
        for part in range(self.config.accumulate):
            loss, number = self.loss_of(batch, part)
            whole, number = self.accelerator.reduce((loss.detach(), number), "sum")
            before, count, total = count, count + number, total + whole
            tokens = count + (count == 0)  # of 0 tokens, loss and gradient are 0
            if part:  # the mean over the parts before becomes one over this one, too
                gradients = [weight.grad for weight in self.plain.parameters() if weight.grad is not None]
                torch._foreach_mul_(gradients, before / tokens)
            # times the number of processes, because their gradients are averaged
            self.scaler.scale(loss * (self.accelerator.num_processes / tokens)).backward()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.plain.parameters(), self.config.clip or math.inf)
        d_model = getattr(getattr(self.model, "config", None), "d_model", 512)
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.step, self.history.steps, self.config, d_model)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.pending.append(torch.stack([total / tokens, count, norm]))
        self.step += 1
        self.average.update(self.step)

    def loss_of(self, batch: tuple[Tensor, ...], part: int) -> tuple[Tensor, Tensor]:
        """The sum of the losses of this process's rows of a part of a batch, and their number."""
        parts = self.accelerator.num_processes * self.config.accumulate
        mine = part * self.accelerator.num_processes + self.accelerator.process_index
        rows = (all_rows[mine % len(all_rows) :: parts] for all_rows in batch)
        with autocast(self.device, self.precision):
            loss, count = self.objective(*(to_device(some, self.device) for some in rows))
        if mine >= len(batch[0]):  # no row was left for it: the one that it computed does not count
            loss, count = 0 * loss, 0 * count
        return loss, count

    def flush(self) -> None:
        """Move the pending losses into the history, and judge them; convert minutes to a number of steps.

        Raises Diverged if they blow up or are not finite.
        """
        losses, counts, norms = torch.stack(self.pending).T.tolist()
        self.pending = []
        self.history.losses += losses
        self.history.tokens += int(sum(counts))
        seconds = time.perf_counter() - self.clock
        self.history.seconds += seconds
        self.pace.add(sum(counts), seconds)
        if self.config.minutes and self.step >= FLUSH_EVERY:
            # again and again: first-time shapes and a busy machine slow down only some steps
            steps = max(self.step, round(self.step * 60 * self.config.minutes / self.history.seconds))
            self.history.steps = broadcast_object_list([steps])[0]  # the main process's, for all
        if self.scaler.get_scale() < 2**-10:  # it starts at 2^16 and is halved at each overflow
            raise Diverged(f"all gradients overflow, now at step {self.step}", self.config, self.precision)
        # in fp16, the scaler skips steps whose gradients overflow
        norms = [0.0] * len(norms) if self.scaler.is_enabled() else norms
        if seen := not_finite(self.step, losses, norms) or blown_up(self.history.losses):
            raise Diverged(seen, self.config, self.precision)

    def state_dict(self) -> dict[str, Any]:
        """The training state: everything that changes from step to step, except the model's weights.

        No losses may be pending. All processes must call it.
        """
        return {
            "settings": self.settings,
            "device": self.device.type,
            "precision": self.precision,
            "history": asdict(self.history),
            "batches": self.batches.batch_sampler.state_dict(),
            "objective": self.own_state(),
            "moments": [self.optimizer.state.get(weight, {}) for weight in self.plain.parameters()],
            "average": list(self.average.means.values()),
            "scaler": self.scaler.state_dict(),
            "random": gather_random_states(self.device),
        }

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Restore a training state.

        Raises OtherRun if it is of a run with other settings, and other errors if it is invalid.
        """
        defaults = {field.name: field.default for field in fields(TrainConfig)}  # of later settings
        check_same("the checkpoint", defaults | state["settings"], self.settings)
        own = state.get("objective", {})  # absent in earlier versions
        check_weights("the checkpoint", own, self.own_state())
        self.plain.load_state_dict(own, strict=False)  # the model is loaded already
        self.precision = state["precision"]
        self.scaler = loss_scaling(self.device, self.precision)
        self.history = History(**state["history"])
        self.step = len(self.history.losses)
        self.batches.batch_sampler.load_state_dict(state["batches"])
        for weight, moments in zip(self.plain.parameters(), state["moments"], strict=True):
            self.optimizer.state[weight] = {k: fitting(t, weight, k == "step") for k, t in moments.items()}
        for (weight, like), mean in zip(self.average.means.items(), state["average"], strict=True):
            self.average.means[weight] = fitting(mean, like)
        self.scaler.load_state_dict(state["scaler"])
        before, here = state.get("device", self.device.type), self.device.type
        # another kind of device has random states of its own: only the CPU's go on
        random = state["random"] if before == here else [one[:1] for one in state["random"]]
        scatter_random_states(random, self.device)
        if before != here:
            _log.warning("this run began on %s: on %s, losses may differ in the last digits", before, here)

    def own_state(self) -> dict[str, Tensor]:
        """Parameters and buffers of the objective outside the model."""
        found = self.plain.state_dict()
        return {name: tensor for name, tensor in found.items() if not name.startswith("model.")}


def loss_scaling(device: torch.device, precision: str) -> torch.amp.GradScaler:
    """Loss scaling: large losses, so that small gradients do not vanish in fp16. Other formats need none."""
    return torch.amp.GradScaler(device.type, enabled=precision == "fp16")
