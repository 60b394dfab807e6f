"""What is trained is saved, and comes back: tied weights, an objective's own parameters, copies."""

import copy
import pickle
import shutil
from dataclasses import replace

import pytest
import torch
import torch.nn.functional as F
from helpers.small_training import Rows, Scale, learn
from safetensors.torch import load_file
from safetensors.torch import load_model as safetensors_load_model
from torch import nn

from course_lib.models.gpt import GPT, GPTConfig
from course_lib.tasks.language_modeling import LanguageModelLoss, TextBatches
from course_lib.training.checkpoints import Checkpoints
from course_lib.training.config import TrainConfig
from course_lib.training.diagnostics import Pace
from course_lib.training.early_stopping import KeepBest
from course_lib.training.model_files import load_model, save_model
from course_lib.training.optim import CombinedOptimizer, Muon, WeightEMA, make_optimizer
from course_lib.training.run_record import OtherRun
from course_lib.utils.tree_files import load_tree, save_tree

pytestmark = pytest.mark.usefixtures("one_thread")
IDS = torch.randint(5, 30, (600,), generator=torch.Generator().manual_seed(0))
CONFIG = GPTConfig(vocab=30, d_model=16, heads=2, layers=2, max_tokens=8)


class Tied(GPT):
    """As nanoGPT ties its weights."""

    def __init__(self):
        super().__init__(CONFIG)
        self.lm_head = nn.Linear(CONFIG.d_model, CONFIG.vocab, bias=False)
        self.lm_head.weight = self.embedding.weight


class Shared(GPT):
    """As ALBERT shares its blocks."""

    def __init__(self):
        super().__init__(CONFIG)
        self.blocks[1] = self.blocks[0]


class Overlapping(nn.Module):
    """A weight, and a part of it."""

    def __init__(self):
        super().__init__()
        self.whole = nn.Parameter(torch.randn(4, 3))
        self.register_buffer("part", self.whole.detach()[1:])


def weights_of(model):
    return {name: weight.clone() for name, weight in model.state_dict().items()}


def assert_equal(model, weights):
    assert model.state_dict().keys() == weights.keys()
    assert all(weight.equal(weights[name]) for name, weight in model.state_dict().items())


@pytest.mark.parametrize("kind", [Tied, Shared, Overlapping])
def test_a_model_with_tied_weights_is_saved_and_loaded(tmp_path, kind):
    model, others, path = kind(), [kind() for _ in range(4)], tmp_path / "model.safetensors"
    weights = weights_of(model)
    save_model(model, path)
    load_model(others[0], path)
    if kind is not Overlapping:  # the part would be a weight too many
        safetensors_load_model(others[1], path)
        assert_equal(others[1], weights)
    Checkpoints(tmp_path).save(1, model, {})
    Checkpoints(tmp_path).load(1, others[2])
    best = KeepBest(model, lambda: 1.0, tmp_path / "best")
    best()
    KeepBest(others[3], lambda: 1.0, tmp_path / "best").restore()
    for other in (others[0], *others[2:]):
        assert_equal(other, weights)
    if kind is not Overlapping:
        assert len(load_file(path)) == len(list(model.parameters())) < len(weights)


def test_tied_weights_load_into_a_model_that_does_not_tie_them_but_not_the_other_way_round(tmp_path):
    tied, free, path = Shared(), GPT(CONFIG), tmp_path / "model.safetensors"
    save_model(tied, path)
    load_model(free, path)
    assert_equal(free, weights_of(tied))
    save_model(GPT(CONFIG), path)
    with pytest.raises(OtherRun, match=r"blocks.1.\S+ is not blocks.0.\S+ there and tied to it here"):
        load_model(tied, path)


@pytest.mark.parametrize("kind", [Tied, Shared])
def test_a_run_with_tied_weights_resumes_to_identical_losses(device, tmp_path, kind):
    def run(folder):
        torch.manual_seed(0)
        objective = LanguageModelLoss(kind())
        config = {"steps": 12, "warmup": 2, "checkpoint_every": 5, "average": 0.9}
        batches = TextBatches(IDS, 8, 4)
        return learn(objective, batches, folder=folder, device=device, **config).losses

    whole = run(tmp_path)
    shutil.rmtree(Checkpoints(tmp_path).path(12))
    assert run(tmp_path) == whole


@pytest.mark.parametrize(
    "tensor", [torch.eye(3).to_sparse(), torch.zeros(2, dtype=torch.complex128), torch.eye(2, device="meta")]
)
def test_what_cannot_be_saved_is_found_before_training(tmp_path, tensor):
    objective = LanguageModelLoss(GPT(CONFIG))
    objective.model.register_buffer("odd", tensor)
    steps = []
    objective.model.register_forward_hook(lambda *_: steps.append(1))
    with pytest.raises(ValueError, match="^odd cannot be saved: "):
        Checkpoints(tmp_path).check(objective.model, {})
    with pytest.raises(ValueError, match="^the model cannot be saved: "):
        KeepBest(objective.model, lambda: 1.0, tmp_path / "best")
    if not tensor.is_meta:
        with pytest.raises(ValueError, match="^odd cannot be saved: "):
            learn(objective, TextBatches(IDS, 8, 4), folder=tmp_path, steps=3)
    assert not steps and list(tmp_path.iterdir()) == []


class Scaled(nn.Module):
    """A learned temperature, as CLIP has; a buffer counts the batches."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.log_scale, self.model = nn.Parameter(torch.zeros(())), GPT(replace(CONFIG, dropout=0.1))
        self.register_buffer("seen", torch.zeros((), dtype=torch.long))

    def forward(self, ids):
        self.seen += 1
        logits, y = self.model(ids[:, :-1]) * self.log_scale.exp(), ids[:, 1:]
        loss = F.cross_entropy(logits.flatten(0, 1), y.flatten(), reduction="sum")
        return loss, torch.tensor(y.numel())


def run_scaled(objective, folder, optimizer="adamw", device="cpu"):
    config = {"steps": 12, "lr": 0.05, "warmup": 2, "checkpoint_every": 6, "average": 0.9}
    batches = TextBatches(IDS, 8, 4)
    return learn(objective, batches, folder, optimizer=optimizer, device=device, **config).losses


@pytest.mark.parametrize("optimizer", ["adamw", "muon"])
def test_what_the_objective_trains_is_resumed(device, tmp_path, optimizer):
    whole, resumed = Scaled(), Scaled()
    losses = run_scaled(whole, None, optimizer, device)
    assert run_scaled(Scaled(), tmp_path, optimizer, device) == losses  # checkpoints change nothing
    shutil.rmtree(Checkpoints(tmp_path).path(12))
    assert run_scaled(resumed, tmp_path, optimizer, device) == losses
    assert whole.log_scale != 0 and whole.seen == 12
    assert_equal(resumed, weights_of(whole))


def test_an_earlier_checkpoint_is_taken_if_nothing_is_missing_and_refused_otherwise(tmp_path):
    plain = LanguageModelLoss(GPT(CONFIG))
    for objective, folder in ((plain, tmp_path / "plain"), (Scaled(), tmp_path / "scaled")):
        losses = run_scaled(objective, folder)
        tree = load_tree(folder / "step-000012")
        state = {key: part for key, part in tree["state"].items() if key != "objective"}
        for later in ("accumulate", "min_lr"):
            del state["settings"][later]
        save_tree(folder / "step-000012", {**tree, "state": state})
        if objective is plain:
            assert run_scaled(plain, folder) == losses
        else:
            with pytest.raises(OtherRun, match=r"log_scale is absent there and \(\) float32 here"):
                run_scaled(Scaled(), folder)


ROWS = [[1.0, 2.0, 3.0], [4.0, 0.0, 0.0], [0.0, 0.0, 0.0], [5.0, 6.0, 0.0], [7.0, 8.0, 9.0]]


@pytest.mark.parametrize("parts", [2, 3, 4, 5, 8])
def test_gradients_of_parts_are_those_of_the_whole_batch(device, parts):
    """Each token has the same weight, though the parts have different numbers of them (nanochat #59)."""
    found = []
    for accumulate in (1, parts):
        objective = Scale().to(device)
        config = {"lr": 0.1, "warmup": 0, "weight_decay": 0.0, "clip": None, "accumulate": accumulate}
        seen = []
        objective.model.weight.register_post_accumulate_grad_hook(
            lambda p, seen=seen: seen.append(p.grad.item())
        )
        history = learn(objective, Rows(ROWS, 5), device=device, steps=1, **config)
        found.append((seen[-1], history.losses[0], history.tokens, objective.model.weight.item()))
    assert found[0] == pytest.approx(found[1], rel=1e-6) and found[0][:3] == (5.0, 5.0, 9)


@pytest.mark.parametrize("accumulate", [1, 2])
def test_a_batch_without_a_target_has_the_loss_0_and_moves_nothing(device, accumulate):
    settings = {"steps": 2, "lr": 0.1, "warmup": 0, "weight_decay": 0.0, "schedule": "constant"}
    settings |= {"accumulate": accumulate, "device": device}
    objective, empty = Scale(), [[0.0, 0.0]] * 4
    history = learn(objective, Rows(empty, 2), **settings)
    assert history.losses == [0.0, 0.0] and history.tokens == 0 and objective.model.weight.item() == 1
    mixed = learn(objective, Rows([[2.0, 2.0], [0.0, 0.0]]), **settings)
    assert mixed.losses == [2.0, 0.0] and mixed.tokens == 2


def test_a_loader_without_a_batch_is_refused_at_once():
    with pytest.raises(ValueError, match="would never end"):
        learn(Scale(), Rows([], 2), steps=2)


def test_gradients_from_before_do_not_count():
    losses = []
    for stale in (False, True):
        torch.manual_seed(0)
        objective = LanguageModelLoss(GPT(CONFIG))
        if stale:
            objective(IDS[:16].view(2, 8))[0].backward()
        losses.append(learn(objective, TextBatches(IDS, 8, 4), steps=3, warmup=0).losses)
    assert losses[0] == losses[1]


def optimizers(weights):
    sgd = torch.optim.SGD(weights[:1], lr=0.1, momentum=0.9)
    yield Muon(weights, lr=0.1)
    yield CombinedOptimizer(Muon(weights[1:], lr=0.1), sgd)
    yield make_optimizer(nn.ParameterList(weights), TrainConfig(steps=1))


def new_weights():
    torch.manual_seed(0)
    return [nn.Parameter(torch.randn(4, 4)) for _ in range(2)]


@pytest.mark.parametrize("which", range(3))
def test_a_closure_is_called_once_with_gradients(which):
    weights = new_weights()
    optimizer = list(optimizers(weights))[which]
    before, calls = [weight.detach().clone() for weight in weights], []

    def closure():
        calls.append(torch.is_grad_enabled())
        optimizer.zero_grad()
        loss = sum(weight.square().sum() for weight in weights)
        loss.backward()
        return loss

    with torch.no_grad():
        loss = optimizer.step(closure)
    assert calls == [True] and loss.item() == pytest.approx(sum(w.square().sum().item() for w in before))
    assert all((a - b).abs().max() > 5e-4 for a, b in zip(weights, before, strict=True))
    assert optimizer.step() is None


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_a_copied_optimizer_goes_on_as_the_original(which, copied):
    def steps(weights, optimizer, number):
        for step in range(number):
            for weight in weights:
                weight.grad = torch.full_like(weight, step + 1.0) + weight.detach()
            optimizer.step()

    weights = new_weights()
    optimizer = list(optimizers(weights))[which]
    steps(weights, optimizer, 2)
    others, other = copied((weights, optimizer))
    again = [nn.Parameter(weight.detach().clone()) for weight in weights]
    loaded = list(optimizers(again))[which]
    loaded.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for one in ((weights, optimizer), (others, other), (again, loaded)):
        steps(*one, 3)
    assert all(a.equal(b) and a.equal(c) for a, b, c in zip(weights, others, again, strict=True))


def test_a_combined_optimizer_takes_no_group_that_it_would_not_move():
    optimizer = list(optimizers(new_weights()))[1]
    with pytest.raises(ValueError, match="takes no new group"):
        optimizer.add_param_group({"params": new_weights()})


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda it: pickle.loads(pickle.dumps(it))])
def test_copies_of_what_training_needs(copied):
    model = nn.Linear(2, 2)
    average = WeightEMA(model, 0.9)
    average.update(1)
    other, mean = copied((model, average))
    assert mean.means[other.weight].equal(average.means[model.weight]) and mean.decay == 0.9
    mean.exchange()
    assert other.weight.equal(average.means[model.weight])
    assert copied(KeepBest(model, dict)).lowest == float("inf")


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_the_average_of_half_precision_weights_is_kept_in_fp32(device, dtype):
    model = nn.Linear(1, 1, bias=False).to(device, dtype)
    average = WeightEMA(model, 0.999)
    for step in range(1, 1001):
        nn.init.constant_(model.weight, 1.0 if step <= 500 else 2.0)
        average.update(step)
    mean = average.means[model.weight]
    assert mean.dtype == torch.float32 and mean.item() == pytest.approx(1.5, abs=1e-3)
    for expected in (1.5, 2.0, 1.5):
        average.exchange()
        assert model.weight.dtype == dtype and model.weight.item() == pytest.approx(expected, abs=0.01)
    assert mean.item() == pytest.approx(1.5, abs=1e-3)


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: WeightEMA(nn.Linear(1, 1), 1.0), "decay=1.0"),
        (lambda: WeightEMA(nn.Linear(1, 1), float("nan")), "decay=nan"),
        (lambda: Muon(new_weights(), lr=-1.0), "lr=-1.0"),
        (lambda: Muon(new_weights(), lr=0.1, weight_decay=-1.0), "weight_decay=-1.0"),
        (lambda: Muon(new_weights(), lr=0.1, momentum=1.0), "momentum=1.0"),
        (lambda: Muon([nn.Parameter(torch.ones(3))], lr=0.1), r"shape \(3,\)"),
        (lambda: Checkpoints("x", keep=True), "keep=True"),
        (lambda: Checkpoints("x", keep=0), "keep=0"),
    ],
)
def test_settings_outside_their_range(unchecked, make, field):
    with pytest.raises(ValueError, match=field):
        make()


def test_a_run_says_when_it_loses_half_of_its_pace_and_no_longer_when_it_has_it_again():
    pace, notes = Pace(), []
    for tokens in (100, 1000, 600, 499, 400, 900, 0):
        for _ in range(2):  # judged together
            pace.add(tokens / 2, 5.0)
        notes.append(pace.note)
    assert [note.partition(" of")[0] for note in notes] == ["", "", "", "at 50%", "at 40%", "", "at 0%"]
