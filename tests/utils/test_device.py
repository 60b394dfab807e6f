"""The device to train on: chosen, overridden, refused."""

import pytest
import torch

from course_lib.utils.device import best_device, suggest_gpu


@pytest.fixture(autouse=True)
def nothing_set(monkeypatch):
    monkeypatch.delenv("COURSE_DEVICE", raising=False)


def test_without_a_gpu_it_is_the_cpu(monkeypatch):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: None)
    assert best_device() == torch.device("cpu")


@pytest.mark.parametrize("kind", ["cuda", "mps", "xpu"])
def test_a_gpu_comes_first(monkeypatch, kind):
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda check_available: torch.device(kind))
    assert best_device().type == kind
    monkeypatch.setenv("COURSE_DEVICE", "cpu")
    assert best_device().type == "cpu"


@pytest.mark.parametrize("kind", ["cuda", "cuda:1"])
def test_the_variable_chooses_among_several(monkeypatch, kind):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("COURSE_DEVICE", kind)
    assert best_device() == torch.device(kind)


@pytest.mark.parametrize("wrong", ["cuda:7", "gpu", "cuda:", "cuda:-1", "CPU", "cuda:1\n"])
def test_what_the_machine_lacks_is_refused_in_one_line(monkeypatch, wrong):
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 2)
    monkeypatch.setenv("COURSE_DEVICE", wrong)
    with pytest.raises(ValueError, match=r"^COURSE_DEVICE=.*: this machine has cpu, cuda:0, cuda:1") as error:
        best_device()
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("colab", "device"), [(True, "cuda"), (False, "cpu")])
def test_a_runtime_is_suggested_only_on_the_cpu_of_colab(monkeypatch, capsys, colab, device):
    monkeypatch.setattr("course_lib.utils.device.on_colab", lambda: colab)
    suggest_gpu(torch.device(device), here="20 s", gpu="10 s")
    assert not capsys.readouterr().out


def test_the_suggestion_names_both_times_and_the_runtime(monkeypatch, capsys):
    monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab")
    suggest_gpu(torch.device("cpu"), here="20 s", gpu="10 s")
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("≈ ")  # nbval compares no such line
    assert all(words in line for words in ("20 s", "10 s", "estimate", "Runtime → Change runtime type"))
