"""One training loop for every model of the course, and the checkpoints from which it goes on."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Protocol, runtime_checkable

import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list, gather_object
from torch import Tensor, nn
from tqdm.auto import tqdm

from course_lib.checkpoints import Checkpoints, random_states, set_random_states
from course_lib.divergence import Diverged, not_finite, overflowing, silent
from course_lib.memory import keep_freed_memory
from course_lib.optimizers import WeightAverage, make_optimizer
from course_lib.precision import autocast, choose_precision
from course_lib.schedules import CALIBRATION, TrainConfig, learning_rate

FLUSH_EVERY = 20  # steps between two looks at the losses; each look waits for the device


@runtime_checkable
class Batches(Protocol):
    """What to train on: batches whose order depends on the number of the epoch alone."""

    def epoch(self, number: int) -> list[list[int]]:
        """The batches of an epoch, each a list of numbers of examples."""
        ...

    def collate(self, numbers: Sequence[int]) -> tuple[Tensor, ...]:
        """The tensors of some examples."""
        ...


@dataclass
class History:
    """What happened: the mean loss of each step, and the scores of each evaluation with its step.

    tokens: counted in the losses. seconds: of training, evaluations left out. steps: that the run has in all.
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
    evaluate: Callable[[], dict[str, float]] | None = None,
    device: torch.device | str | None = None,
    progress: bool = True,
) -> History:
    """Train `objective.model`; `objective` turns a batch into the sum of its losses and their number.

    folder: of the checkpoints; a run that finds one of its own there goes on from it, to the same losses.
    evaluate: scores of the model, in evaluation mode; they are kept in the history.
    With `config.average` the model is evaluated with, and in the end left with, the average of its weights.
    device: by default the one that Accelerate chooses, a GPU where there is one.
    Under `accelerate launch` each process takes its share of every batch.
    Raises Diverged where a loss or a gradient is not finite, or where a score "bleu" is 0 twice in a row.
    """
    run = Run(objective, batches, config, folder, device)
    show = progress and run.accelerator.is_main_process
    with tqdm(total=run.steps, initial=run.step, disable=not show, desc="training", unit="step") as bar:
        for numbers in run.remaining():
            run.take_step(numbers)
            bar.total = run.steps
            bar.update()
            if run.due(FLUSH_EVERY):
                run.flush()
                bar.set_postfix(loss=f"{run.history.losses[-1]:.3f}", refresh=False)
            if evaluate is not None and run.due(config.evaluate_every):
                run.evaluate(evaluate)
            if run.due(config.checkpoint_every):
                run.save()
    run.exchange_average()
    return run.history


class Run:
    """A training in progress: all that changes from step to step, and all that a checkpoint must hold."""

    def __init__(
        self,
        objective: nn.Module,
        batches: Batches,
        config: TrainConfig,
        folder: str | Path | None,
        device: torch.device | str | None,
    ):
        self.accelerator = Accelerator(device_placement=False)
        self.device = torch.device(device) if device else self.accelerator.device
        self.config, self.batches, self.model = config, batches, objective.model
        self.step = self.epoch = self.position = 0
        self.steps, self.precision = config.steps, choose_precision(config.precision, self.device)
        self.history, self.pending = History(steps=config.steps or 0), []
        if self.device.type == "cpu":
            keep_freed_memory()  # for the whole process: the steps then fetch no new pages
        # each process draws dropout masks of its own; the only one, or the first, draws those of the seed
        torch.manual_seed(config.seed + 1_000_003 * self.accelerator.process_index)
        objective.to(self.device).train()
        self.optimizer = make_optimizer(objective, config)
        self.average = WeightAverage(self.model, config.average) if config.average else None
        self.scaler = torch.amp.GradScaler(self.device.type, enabled=self.precision == "fp16")
        self.checkpoints = Checkpoints(folder) if folder else None
        self.resume()
        prepared, self.optimizer = self.accelerator.prepare(objective, self.optimizer)
        self.objective = torch.compile(prepared, dynamic=True) if config.compile else prepared
        self.clock = time.perf_counter()

    def remaining(self) -> Iterator[list[int]]:
        """The batches still to be taken, in the order that seed and epoch fix."""
        while self.steps is None or self.step < self.steps:
            epoch = self.batches.epoch(self.epoch)
            while self.position < len(epoch) and (self.steps is None or self.step < self.steps):
                self.position += 1
                yield epoch[self.position - 1]
            if self.position >= len(epoch):
                self.epoch, self.position = self.epoch + 1, 0

    def due(self, every: int) -> bool:
        return self.step == self.steps or (every > 0 and self.step % every == 0)

    @property
    def rate(self) -> float:
        """The learning rate of the step to come."""
        d_model = getattr(getattr(self.model, "config", None), "d_model", 512)
        return learning_rate(self.step, self.steps, self.config, d_model)

    def take_step(self, numbers: Sequence[int]) -> None:
        """One step of the optimizer on the examples with these numbers."""
        process, processes = self.accelerator.process_index, self.accelerator.num_processes
        mine = self.batches.collate(numbers[process::processes] or numbers[:1])
        with autocast(self.device, self.precision):
            loss, count = self.objective(*(t.to(self.device, non_blocking=True) for t in mine))
        if process >= len(numbers):  # no share is left for this process: it works, and counts for nothing
            loss, count = 0 * loss, 0 * count
        count = self.accelerator.reduce(count, "sum")
        # the mean over the tokens of all processes; their gradients will be averaged, hence the factor
        self.accelerator.backward(self.scaler.scale(loss * (processes / count)))
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
        for group in self.optimizer.param_groups:
            group["lr"] = self.rate
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.pending.append((self.accelerator.reduce(loss.detach(), "sum"), count, norm))
        self.step += 1
        if self.average:
            self.average.update(self.step)
        if self.steps is None and self.step == CALIBRATION:
            self.fix_steps()

    def fix_steps(self) -> None:
        """Turn minutes into a number of steps, by the speed of the main process so far."""
        self.flush()
        left = 60 * self.config.minutes - self.history.seconds
        steps = self.step + max(1, round(left * self.step / self.history.seconds))
        # one number for all: a process that took a step more would wait for the others without end
        self.steps = self.history.steps = broadcast_object_list([steps])[0]

    def flush(self) -> None:
        """Bring the pending losses into the history. Raises Diverged where one of them is not finite."""
        losses = [(loss / count).item() for loss, count, _ in self.pending]
        norms = [norm.item() for _, _, norm in self.pending]
        self.history.losses += losses
        self.history.tokens += sum(int(count) for _, count, _ in self.pending)
        self.pending = []
        now = time.perf_counter()
        self.history.seconds += now - self.clock
        self.clock = now
        if self.scaler.is_enabled():  # the steps of gradients that overflow are left out
            norms = [0.0] * len(losses)
            self.stop_if(overflowing(self.step, self.scaler.get_scale()))
        self.stop_if(not_finite(self.step, losses, norms))

    def stop_if(self, seen: str) -> None:
        """Raise Diverged where something was seen."""
        if seen:
            raise Diverged(seen, self.config, self.precision)

    def evaluate(self, evaluate: Callable[[], dict[str, float]]) -> None:
        """Keep the scores of the model, off the clock. Raises Diverged at the second BLEU of 0 in a row."""
        self.flush()
        self.exchange_average()
        self.model.eval()
        self.history.evaluations.append({"step": self.step, **evaluate()})
        self.model.train()
        self.exchange_average()
        self.clock = time.perf_counter()
        self.stop_if(silent(self.step, self.history.evaluations))

    def exchange_average(self) -> None:
        """Put the average of the weights into the model, or the trained weights back, where there is one."""
        if self.average:
            self.average.exchange()

    def save(self) -> None:
        """Write a checkpoint, from the main process."""
        self.flush()
        if self.checkpoints:
            state = {
                "config": asdict(self.config),
                "run": {
                    key: getattr(self, key) for key in ("step", "epoch", "position", "steps", "precision")
                },
                "history": asdict(self.history),
                "optimizer": self.optimizer.state_dict(),
                "average": self.average.weights if self.average else [],
                "scaler": self.scaler.state_dict(),
                "rng": gather_object([random_states(self.device)]),  # of every process
            }
            if self.accelerator.is_main_process:
                self.checkpoints.save(self.step, self.model, state)
        self.clock = time.perf_counter()

    def resume(self) -> None:
        """Go on from the newest checkpoint, if there is one.

        One that is not whole is passed over, with a warning in the log.
        Raises ValueError where it belongs to a run with other settings.
        """
        state = self.checkpoints.load_newest(self.model) if self.checkpoints else None
        if state is None:
            return
        for key, value in asdict(self.config).items():
            if state["config"].get(key) != value:
                raise ValueError(
                    f"{self.checkpoints.folder} holds a run with {key}={state['config'].get(key)!r}, "
                    f"and this one has {key}={value!r}: choose another folder, or the same settings"
                )
        for key, value in state["run"].items():
            setattr(self, key, value)
        self.history = History(**state["history"])
        self.optimizer.load_state_dict(state["optimizer"])
        if self.average:
            self.average.load(state["average"])
        self.scaler.load_state_dict(state["scaler"])
        process = self.accelerator.process_index
        if process < len(state["rng"]):  # where there were fewer processes, a new one begins as it is seeded
            set_random_states(state["rng"][process], self.device)
