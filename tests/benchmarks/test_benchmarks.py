"""The benchmarks: every row runs, all sides compute the same thing, and the statistics are right."""

import argparse
import json
import time
from dataclasses import replace

import ipywidgets
import pytest
import torch
from helpers.norms import norms
from torch import nn

from course_lib.benchmarks import decoding, redraws, report, rivals, rows, training
from course_lib.benchmarks.timing import Comparison, Plan, Ratio, Spread, measure
from course_lib.benchmarks.training import TINY
from course_lib.cli import bench
from course_lib.cli.requirements import ROOT
from course_lib.models.seq2seq import Seq2Seq
from course_lib.tasks.translation import TranslationLoss
from course_lib.text.tokenizers import EOS, PAD
from course_lib.utils import machine

SHORT = Plan(seconds=0.0, least=2, warm_up=1, tiny=True)


def pair_of(kind):
    """Our model and the rival, with the same weights; d2l knows only post-norm."""
    if kind == "d2l" and rivals.d2l_absent():
        pytest.skip(rivals.d2l_absent())
    torch.manual_seed(1)
    config = replace(TINY, dropout=0.0, norm="post" if kind == "d2l" else "pre")
    ours = Seq2Seq(config)
    theirs = rivals.D2LTransformer(config) if kind == "d2l" else rivals.TorchTransformer(config)
    with torch.no_grad():
        for p in ours.parameters():  # no bias stays 0, no gain 1, so that none can be forgotten
            p += 0.1 * torch.randn_like(p)
        (copy_to_d2l if kind == "d2l" else copy_to_torch)(ours, theirs)
    return ours, theirs


def copy(target: nn.Module, source: nn.Module, part=slice(None)):
    target.weight.copy_(source.weight[part])
    target.bias.copy_(source.bias[part])


def attentions(block):
    return [block.attention, *([block.cross_attention] if len(norms(block)) == 3 else [])]


def copy_to_torch(ours, theirs):
    theirs.embedding.weight.copy_(ours.embedding.weight)
    stacks = theirs.transformer.encoder, theirs.transformer.decoder
    copy(stacks[0].norm, ours.encoder_norm)
    copy(stacks[1].norm, ours.decoder_norm)
    layers = [layer for stack in stacks for layer in stack.layers]
    for there, here in zip(layers, [*ours.encoder, *ours.decoder], strict=True):
        for name, mha in zip(("self_attn", "multihead_attn"), attentions(here), strict=False):
            attention = getattr(there, name)
            attention.in_proj_weight.copy_(torch.cat([mha.w_q.weight, mha.w_kv.weight]))
            attention.in_proj_bias.copy_(torch.cat([mha.w_q.bias, mha.w_kv.bias]))
            copy(attention.out_proj, mha.w_o)
        copy(there.linear1, here.feed_forward.w_in)
        copy(there.linear2, here.feed_forward.w_out)
        for i, norm in enumerate(norms(here), start=1):
            copy(getattr(there, f"norm{i}"), norm)


def copy_to_d2l(ours, theirs):
    encoder, decoder = theirs.system.encoder, theirs.system.decoder
    encoder.embedding.weight.copy_(ours.embedding.weight)
    for there, here in zip([*encoder.blks, *decoder.blks], [*ours.encoder, *ours.decoder], strict=True):
        names = ["attention"] if len(norms(here)) == 2 else ["attention1", "attention2"]
        for name, mha in zip(names, attentions(here), strict=True):
            attention = getattr(there, name)
            copy(attention.W_q, mha.w_q)
            copy(attention.W_k, mha.w_kv, slice(TINY.d_model))
            copy(attention.W_v, mha.w_kv, slice(TINY.d_model, None))
            copy(attention.W_o, mha.w_o)
        copy(there.ffn.dense1, here.feed_forward.w_in)
        copy(there.ffn.dense2, here.feed_forward.w_out)
        for i, norm in enumerate(norms(here), start=1):
            copy(getattr(there, f"addnorm{i}").ln, norm)


def gradient(objective, batch):
    objective.zero_grad()
    loss, count = objective(*batch)
    (loss / count).backward()
    return loss, count


def count(model):
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize("kind", ["torch", "d2l"])
def test_loss_and_gradient_are_the_same_on_copied_weights(kind):
    ours, theirs = pair_of(kind)
    assert count(ours) == count(theirs)
    for batch in training.batches(SHORT, 3):
        assert (batch[0] == PAD).any() and (batch[1] == PAD).any()
        mine = gradient(TranslationLoss(ours, 0.1).train(), batch)
        other = gradient(rivals.PaddedLoss(theirs).train(), batch)
        assert torch.allclose(mine[0], other[0], rtol=1e-5)
        assert mine[1] == other[1] == (batch[1][:, 1:] != PAD).sum()
        table = theirs.embedding if kind == "torch" else theirs.system.encoder.embedding
        assert torch.allclose(ours.embedding.weight.grad, table.weight.grad, atol=1e-5)


def test_what_is_compared_in_training_has_equal_size():
    found = training.systems(TINY)
    last_norms = {training.D2L: 4 * TINY.d_model}  # post-norm stacks end without their own LayerNorm
    for name, objective in found.items():
        assert count(objective) + last_norms.get(name, 0) == count(found[training.OURS]), name


def test_dropout_stands_where_ours_has_it():
    model = rivals.TorchTransformer(TINY, inner_dropout=False)
    places, ours = ([m for m in one.modules() if isinstance(m, nn.Dropout)] for one in (model, Seq2Seq(TINY)))
    assert len(ours) == 1 + 2 * 2  # the embeddings, and each block, which uses its own 2 or 3 times
    assert len(places) == 1 + 2 * (2 + 3)
    assert not any(m.dropout for m in model.modules() if isinstance(m, nn.MultiheadAttention))


def written_by(ours, source):
    generator = ours.eval().generator(source)
    return torch.tensor(decoding.greedy_decode(generator, rivals.first_tokens(source), None, 6))


def test_all_ways_of_decoding_write_the_same():
    ours, theirs = pair_of("torch")
    source = training.batches(SHORT, 1)[0][0]
    written, theirs = written_by(ours, source), theirs.eval()
    assert torch.equal(written, rivals.greedy_recomputing(theirs, source, 6))
    assert torch.equal(written, rivals.greedy_last_token(theirs, source, 6))
    recomputed = (decoding.everything_recomputed, decoding.decoder_recomputed)
    assert all(torch.equal(written, write(ours, source, 6)[:, 1:]) for write in recomputed)


def test_d2l_writes_the_same_where_every_position_is_0():
    ours, theirs = pair_of("d2l")
    ours.positions.table[:] = ours.positions.table[0]  # what d2l's cached decoding sees
    encoder = theirs.eval().system.encoder.pos_encoding
    encoder.P[:] = encoder.P[:, :1]
    source = training.batches(SHORT, 1)[0][0]
    assert torch.equal(written_by(ours, source), rivals.greedy_d2l(theirs, source, 6))


def test_every_side_writes_exactly_so_many_tokens():
    source = training.batches(SHORT, 1)[0][0]
    for name, write in decoding.writers(SHORT, 7).items():
        assert [len(ids) for ids in write(source)] == [7] * len(source), name


def test_batches_hold_the_same_sentences_in_any_order():
    pairs = training.sentences(12, 50)
    for bucketed in (True, False):
        rows_of_both = (zip(*one, strict=True) for one in training.batches(SHORT, 3, bucketed))
        seen = [(s[s != PAD].tolist(), t[t != PAD].tolist()) for one in rows_of_both for s, t in one]
        assert sorted(seen) == sorted(pairs) and (bucketed or seen == pairs)


def test_sentences_are_as_long_as_those_of_the_real_set():
    pairs = training.sentences(20_000, 6000)
    mean = [sum(map(len, side)) / len(side) for side in zip(*pairs, strict=True)]
    assert mean[0] == pytest.approx(7.44 + 1, abs=0.1) and mean[1] == pytest.approx(7.65 + 2, abs=0.1)
    ids = [i for s, _ in pairs for i in s[:-1]]
    assert min(ids) >= training.FIRST_ID and max(ids) < 6000
    assert all(s[-1] == EOS == t[-1] and t[0] == training.BOS for s, t in pairs)
    assert pairs == training.sentences(20_000, 6000)


def test_statistics():
    spread = Spread.of([4.0, 1.0, 2.0, 3.0, 5.0])
    assert (spread.median, spread.low, spread.high) == (3.0, 2.0, 4.0)
    comparison = Comparison("row", "case", "units/s", "a", aim=2.0, against=("b", "c", "absent"))
    comparison.seconds = {"a": [1.0, 1.0, 2.0], "b": [2.0, 4.0, 2.0], "c": [3.0, 3.0, 3.0]}
    comparison.amounts = dict.fromkeys("abc", [6.0, 8.0, 8.0])
    assert comparison.rates("a") == [6.0, 8.0, 4.0]
    assert comparison.speed("b") == Spread(3.0, 2.5, 3.5)
    # medians 6 and 3; round by round 2, 4, 1
    assert comparison.ratio("b") == Ratio(2.0, Spread(2.0, 1.5, 3.0))
    assert comparison.against_best() == ("b", 2.0)
    text = report.as_text(comparison)
    assert "a is 2.00 times as fast (by rounds 2.00, 1.50–3.00)" in text
    assert "aim: 2 times as fast as b, the best of the others; reached" in text
    comparison.aim, comparison.unit = 2.1, "s"
    text = report.as_text(comparison)
    assert "1,000 (1,000–1,500)" in text and text.endswith("missed")


def test_sides_take_turns_until_the_time_or_the_rounds_are_over():
    order = []
    sides = {name: lambda number, name=name: order.append((name, number)) or 1.0 for name in "abc"}
    comparison = measure(Comparison("", "", "s", "a"), sides, Plan(seconds=0.0, least=2, warm_up=1))
    assert order == [(name, number) for number in (0, 0, 1) for name in "abc"]  # the first one warms up
    assert comparison.rounds == 2 and all(len(x) == 2 for x in comparison.seconds.values())
    plan = Plan(seconds=60.0, least=2, most=4, warm_up=0)
    assert measure(Comparison("", "", "s", "a"), sides, plan).rounds == 4
    with pytest.raises(ValueError, match="'d' is none of"):
        measure(Comparison("", "", "s", "d"), sides, plan)


COMPARISONS = {
    "training": 3,
    "precision": 2,
    "bucketing": 1,
    "decoding": 4,
    "gpt": 6,
    "vision": 2,
    "pixels": 2,
}


@pytest.mark.slow
@pytest.mark.parametrize("row", rows.ROWS)
def test_every_row_runs(row, device, monkeypatch):
    monkeypatch.delenv("COURSE_DATA", raising=False)
    told = []
    result = rows.run([row], replace(SHORT, device=device), told.append)
    assert [one["row"] for one in result["rows"]] == [row] * COMPARISONS[row]
    if row == "vision":
        assert {one["aim"] for one in result["rows"]} == {1.0}
    for one in result["rows"]:
        ratios = [ratio["rounds"] for ratio in one["times_as_fast"].values()]
        for spread in [*one["sides"].values(), *ratios]:
            assert 0 < spread["low"] <= spread["median"] <= spread["high"]
        assert one["rounds"] == 2
    assert row in told[1]


def test_what_cannot_be_measured_is_left_out_with_a_reason(monkeypatch):
    monkeypatch.setattr(rivals, "d2l_absent", lambda: "d2l not installed")
    assert training.D2L not in training.systems(TINY)
    assert training.without_d2l() == ["d2l is left out: d2l not installed"]
    monkeypatch.setattr(decoding, "choose_precision", lambda *_: "fp32")
    result = rows.run(["precision"], Plan(seconds=0.0, least=2, warm_up=0), lambda text: None)
    assert result["rows"] == [] and "bf16" in result["left_out"]["precision"]


def test_machine():
    facts = machine.describe("cpu")
    assert facts["torch"] == torch.__version__ and facts["threads"] == torch.get_num_threads()
    assert facts["processor"]
    assert machine.file_name({"processor": "AMD EPYC (TM)", "cores": 2}) == "amd-epyc-tm-2-cores.json"
    assert machine.file_name({"processor": "x", "cores": 2, "gpu": "NVIDIA H200"}) == "nvidia-h200.json"


def command(*arguments):
    parser = argparse.ArgumentParser()
    bench.add_arguments(parser)
    return bench.run(parser.parse_args(arguments))


def row(name):
    def comparisons(plan):
        yield measure(Comparison(name, "case", "s", "a"), {"a": lambda number: 1.0}, plan)

    return comparisons


@pytest.fixture
def two_rows(monkeypatch):
    """Two rows that take no time."""
    monkeypatch.setattr(rows, "ROWS", {"one": row("one"), "two": row("two")})
    monkeypatch.setattr(bench, "SECONDS", {False: 0.0, True: 0.0})


def test_stored_rows_are_renewed_one_by_one(tmp_path, two_rows, capsys):
    path = tmp_path / "new" / "numbers.json"
    options = ("--device", "cpu", "--quick", "--out", str(path))
    assert command("one", "two", *options) == 0
    assert str(path) in capsys.readouterr().out
    first = json.loads(path.read_text(encoding="utf-8"))
    assert first["machine"] == machine.describe("cpu")
    for one in first["rows"]:
        one["measured"] = "2026-01-02"
    gone = {**first["rows"][0], "row": "a row of an earlier version"}
    path.write_text(json.dumps({**first, "rows": [gone, *first["rows"]]}), encoding="utf-8")
    assert command("one", "--store", *options) == 0
    second = json.loads(path.read_text(encoding="utf-8"))
    assert [one["row"] for one in second["rows"]] == ["one", "two"]
    assert second["rows"][1] == first["rows"][1]
    assert second["rows"][0]["measured"] != "2026-01-02"
    first["machine"]["torch"] = "1.0"
    with pytest.raises(ValueError, match=r"torch 1\.0 and "):
        rows.renewed(first, second)


def test_part_of_a_run_does_not_take_the_place_of_a_whole_one(two_rows, capsys):
    assert command("one", "--device", "cpu") == 0
    assert "numbers are in" not in capsys.readouterr().out


def test_command_refuses_what_it_cannot_do_before_anything_is_measured(monkeypatch, capsys):
    with pytest.raises(ValueError, match="no row trainig; there are training, "):
        command("bucketing", "trainig", "--device", "cpu")
    with pytest.raises(ValueError, match="no row widgets; .* widgets by itself"):
        command("widgets", "training", "--device", "cpu")
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 0)
    with pytest.raises(ValueError, match="--device='cuda': this machine has cpu"):
        command("training", "--device", "cuda")
    assert capsys.readouterr().out == ""


def test_with_store_an_interrupted_run_leaves_the_rows_that_it_measured(tmp_path, monkeypatch):
    def absent(plan):
        yield from map(__import__, ["no_such_package"])

    def interrupted(plan):
        raise KeyboardInterrupt

    monkeypatch.setattr(rows, "ROWS", {"row": row("row"), "absent": absent, "other": interrupted})
    path = tmp_path / "a.json"
    with pytest.raises(KeyboardInterrupt):
        command("row", "absent", "other", "--device", "cpu", "--quick", "--store", "--out", str(path))
    stored = json.loads(path.read_text())
    assert [row["row"] for row in stored["rows"]] == ["row"]
    assert stored["left_out"] == {"absent": "No module named 'no_such_package'"}


def stored_results(widgets):
    for path in bench.RESULTS.glob("*.json"):
        if path.name.startswith(redraws.GROUP) == widgets:
            yield path.name, json.loads(path.read_text(encoding="utf-8"))


def test_stored_results_are_whole():
    for name, stored in stored_results(widgets=False):
        assert name == machine.file_name(stored["machine"])
        assert {one["row"] for one in stored["rows"]} | set(stored["left_out"]) == set(rows.ROWS)


def test_the_page_shows_what_is_stored_for_gpus(tmp_path):
    page = ROOT / "docs" / "results.md"
    (tmp_path / "results.md").write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    report.show_gpus(tmp_path / "results.md", bench.RESULTS)
    assert (tmp_path / "results.md").read_text(encoding="utf-8") == page.read_text(encoding="utf-8")
    (name, stored), *_ = stored_results(widgets=False)
    stored["machine"]["gpu"] = "Tesla T4"
    report.write(tmp_path / "tesla-t4.json", stored)
    report.show_gpus(tmp_path / "results.md", tmp_path)
    text = (tmp_path / "results.md").read_text(encoding="utf-8")
    ours = stored["rows"][0]["sides"]["ours"]["median"]
    assert "Tesla T4, torch" in text and f"ours {ours:,.0f}, nn.Transformer" in text
    assert text.count("Not measured yet.") == 0 and text.count("\n| training |") == 3


def test_stored_redraws_reach_the_aim():
    for name, stored in stored_results(widgets=True):
        assert name == redraws.file_name(stored["machine"])
        assert set(stored["widgets"]) <= set(redraws.makers())
        assert stored["aim_ms"] == redraws.AIM
        for widget, one in stored["widgets"].items():
            assert one["median_ms"] <= redraws.aim(widget), widget


def test_every_explorer_is_measured():
    from course_lib.chapters.gallery import homes

    assert set(redraws.makers()) == set(homes()) - {"model_explorer"}  # the browser draws that one


@pytest.mark.parametrize("name", ["subword_explorer", "patch_explorer"])
def test_every_value_of_every_control_is_moved_to(name):
    explorer = redraws.makers()[name]()
    for control in explorer.controls.values():
        seen, first = [], control.value
        control.observe(lambda change, seen=seen: seen.append(change["new"]), names="value")
        spent = redraws.through(control)
        assert len(spent) == len(seen) and control.value == first
        assert {*seen, first} >= set(redraws.values(control))


@pytest.mark.parametrize(
    ("control", "expected"),
    [
        (ipywidgets.IntSlider(min=2, max=6, step=2), [2, 4, 6]),
        (ipywidgets.FloatSlider(min=-0.5, max=0, step=0.25), [-0.5, -0.25, 0.0]),
        (ipywidgets.FloatLogSlider(base=10, min=-1, max=0, step=0.5), pytest.approx([0.1, 10**-0.5, 1])),
        (ipywidgets.SelectionSlider(options=["a", ("bee", 2)]), ["a", 2]),
        (ipywidgets.Checkbox(), [False, True]),
        (ipywidgets.Text("a cat"), ["a cat cat"]),
    ],
)
def test_values_of_the_controls(control, expected):
    assert redraws.values(control) == expected


def test_values_of_a_control_that_nobody_knows():
    with pytest.raises(ValueError, match="no values are known for a DatePicker"):
        redraws.values(ipywidgets.DatePicker())


@pytest.fixture
def slow_widget(monkeypatch):
    """The only widget there is: its number takes 10 ms to draw, and its sign takes none."""

    def slow_widget():
        number, sign = ipywidgets.IntSlider(min=0, max=4), ipywidgets.Checkbox()
        number.observe(lambda change: time.sleep(0.01), names="value")
        return argparse.Namespace(controls={"number": number, "sign": sign}, redraw=lambda: None)

    monkeypatch.setattr(redraws, "makers", lambda: {"slow_widget": slow_widget})
    monkeypatch.setattr(bench, "SECONDS", {False: 0.0, True: 0.0})


def test_command_measures_the_widgets_alone(tmp_path, slow_widget, capsys):
    path = tmp_path / "widgets.json"
    assert command("widgets", "--device", "cpu", "--out", str(path)) == 0
    written, said = json.loads(path.read_text(encoding="utf-8")), capsys.readouterr().out
    assert written["machine"] == machine.describe("cpu") and set(written["widgets"]) == {"slow_widget"}
    numbers = written["widgets"]["slow_widget"]
    assert numbers["moves"] == 5 + 2 and numbers["controls"]["number"]["moves"] == 5
    assert numbers["controls"]["number"]["median_ms"] >= 10 > numbers["controls"]["sign"]["median_ms"]
    for fact in ("slow_widget  [ms; 7 moves]", "slowest: number", "60 or less; reached"):
        assert fact in said
    missed = redraws.as_json({"number": [10.0, 70.0, 80.0]})
    assert missed["median_ms"] == 70.0 and missed["p95_ms"] == pytest.approx(79.0)
    assert "missed" in redraws.as_text("slow_widget", missed)


def test_a_whole_run_of_the_widgets_has_a_file_of_its_own(slow_widget, monkeypatch):
    assert redraws.file_name({"processor": "AMD EPYC", "cores": 2}) == "widgets-amd-epyc-2-cores.json"
    written = []
    monkeypatch.setattr(report, "write", lambda path, content: written.append(path))
    assert command("widgets", "--quick") == 0 and not written
    assert command("widgets") == 0
    assert written == [bench.RESULTS / redraws.file_name(machine.describe("cpu"))]
