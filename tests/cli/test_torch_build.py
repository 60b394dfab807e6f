"""Which build of PyTorch the setup installs: a real pip is asked, and package indexes on this machine."""

import os
import sys
import zipfile
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest
from helpers.fake_pip import fake_pip
from helpers.file_server import served

from course_lib.cli import pip, torch_build, venv

TORCH = "torch==2.13.0"
PYTHON = Path(sys.executable)
ANY, OLD = "py3-none-any", "cp27-cp27m-any"  # wheels for every Python, and for none that runs this


def wheel(folder: Path, version: str, tag: str = ANY) -> None:
    """Write a package called torch that holds nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    info = f"torch-{version}.dist-info"
    files = {
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: torch\nVersion: {version}\n",
        f"{info}/WHEEL": f"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: {tag}\n",
        f"{info}/RECORD": "",
    }
    with zipfile.ZipFile(folder / f"torch-{version}-{tag}.whl", "w") as file:
        for name, text in files.items():
            file.writestr(name, text)


@pytest.fixture
def indexes(tmp_path, monkeypatch) -> Iterator[Path]:
    """A folder with `pypi`, pip's ordinary index with PyTorch for CUDA, and `cpu`, in place of PyTorch's own.

    Linux without a GPU; no other setting of pip counts.
    """
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_DISABLE_PIP_VERSION_CHECK", "1")
    monkeypatch.setattr(torch_build, "has_nvidia_gpu", lambda: False)
    monkeypatch.setattr(torch_build, "SECONDS", 600)  # the index decides, not a busy machine
    monkeypatch.setattr(torch_build, "sys", Namespace(platform="linux"))
    for version in ("2.12.0", "2.13.0", "2.14.0"):
        wheel(tmp_path / "pypi" / "torch", version)
    (tmp_path / "cpu" / "torch").mkdir(parents=True)
    with served(tmp_path / "pypi") as pypi, served(tmp_path / "cpu") as cpu:
        monkeypatch.setenv("PIP_INDEX_URL", pypi)
        monkeypatch.setattr(torch_build, "CPU_INDEX", cpu)
        yield tmp_path


def installed(build: torch_build.Build, folder: Path) -> list[str]:
    """The versions of torch that pip installs with this build's options."""
    pip.install(PYTHON, ["--target", str(folder), *build.options, TORCH], "a package")
    return [path.name for path in folder.glob("torch-*.dist-info")]


def test_the_cpu_build_comes_from_pytorchs_own_index(indexes, capsys):
    wheel(indexes / "cpu" / "torch", "2.13.0+cpu")
    wheel(indexes / "cpu" / "torch", "2.14.0+cpu")
    build = torch_build.choose(PYTHON, TORCH)
    assert build == torch_build.CPU._replace(options=("--extra-index-url", torch_build.CPU_INDEX))
    assert capsys.readouterr().out == ""
    assert installed(build, indexes / "site") == ["torch-2.13.0+cpu.dist-info"]


def test_a_cpu_build_that_pip_finds_by_itself_needs_no_other_index(indexes, monkeypatch):
    """In a folder of wheels, or in a mirror that the user has set: the other index is not even asked."""
    wheel(indexes / "wheels", "2.13.0+cpu")
    monkeypatch.setenv("PIP_FIND_LINKS", str(indexes / "wheels"))
    monkeypatch.setattr(torch_build, "CPU_INDEX", "http://never.invalid")
    build = torch_build.choose(PYTHON, TORCH)
    assert build == torch_build.CPU
    assert installed(build, indexes / "site") == ["torch-2.13.0+cpu.dist-info"]


@pytest.mark.parametrize("version, tag", [("2.12.0+cpu", ANY), ("2.13.0+cpu", OLD), ("2.13.0", ANY)])
def test_an_index_without_the_right_wheel_is_seen(indexes, version, tag):
    wheel(indexes / "cpu" / "torch", version, tag)
    assert not torch_build.is_offered(PYTHON, TORCH, ("--extra-index-url", torch_build.CPU_INDEX))


def test_an_index_that_refuses_is_left_out(indexes, monkeypatch, capsys):
    monkeypatch.setattr(torch_build, "CPU_INDEX", "http://127.0.0.1:9")  # nothing listens there
    build = torch_build.choose(PYTHON, TORCH)
    assert build == torch_build.CUDA
    (line,) = capsys.readouterr().out.splitlines()
    assert "http://127.0.0.1:9 offers no CPU build" in line and "CUDA" in line
    assert installed(build, indexes / "site") == ["torch-2.13.0.dist-info"]


def test_an_index_that_never_answers_is_given_up(monkeypatch):
    def wait(command, **more):
        assert more["timeout"] == 2
        raise pip.subprocess.TimeoutExpired(command, 2)

    monkeypatch.setattr(pip.subprocess, "run", wait)
    assert pip.versions(PYTHON, "torch", seconds=2) == []


@pytest.mark.parametrize(
    ("platform", "gpu", "build"),
    [("linux", True, torch_build.CUDA), ("darwin", False, torch_build.CPU), ("win32", True, torch_build.CPU)],
)
def test_where_pips_index_has_the_right_build_no_other_is_asked(monkeypatch, platform, gpu, build):
    monkeypatch.setattr(torch_build, "sys", Namespace(platform=platform))
    monkeypatch.setattr(torch_build, "has_nvidia_gpu", lambda: gpu)
    monkeypatch.setattr(pip, "versions", lambda *asked: pytest.fail(f"asked: {asked}"))
    found = torch_build.choose(PYTHON, TORCH)
    assert (found.gb, found.options) == (build.gb, ())


@pytest.mark.parametrize(
    "code, said, found",
    [(0, "GPU 0: Tesla T4 (UUID: GPU-1)\n", True), (0, "No devices found\n", False), (9, "GPU 0", False)],
)
def test_a_gpu_is_one_that_its_driver_lists(monkeypatch, code, said, found):
    monkeypatch.setattr(torch_build, "Path", lambda folder: Namespace(glob=lambda pattern: []))
    monkeypatch.setattr(torch_build.shutil, "which", lambda name: name)
    answer = Namespace(returncode=code, stdout=said)
    monkeypatch.setattr(torch_build.subprocess, "run", lambda *args, **more: answer)
    assert torch_build.has_nvidia_gpu() is found


@pytest.mark.parametrize("gb, has_torch, enough", [(5, False, False), (9, False, True), (1, True, True)])
def test_the_disk_must_hold_the_build_that_is_chosen(tmp_path, monkeypatch, gb, has_torch, enough):
    """Unless PyTorch is there, in another version."""
    asked = fake_pip(monkeypatch)
    monkeypatch.setattr(torch_build, "choose", lambda python, requirement: torch_build.CUDA)
    monkeypatch.setattr(venv.shutil, "disk_usage", lambda path: Namespace(free=gb * 10**9))
    info = tmp_path / "lib" / "python3.11" / "site-packages" / "torch-2.12.0.dist-info"
    if has_torch:
        info.mkdir(parents=True)
        (info / "RECORD").touch()
        (info / "METADATA").write_text("Name: torch\nVersion: 2.12.0\n", encoding="utf-8")
    (tmp_path / "exact").write_text(f"{TORCH}\ntorchvision==0.28.0\n", encoding="utf-8")
    try:
        venv.fill(tmp_path, tmp_path / "exact", ["more"], "what")
    except venv.SetUpError as problem:
        assert not enough and "needs about 8 GB. 5.0 GB are free" in str(problem) and asked == []
    else:
        exact = ["-c", str(tmp_path / "exact")]
        assert enough and asked == [[*exact, TORCH, "torchvision==0.28.0"], [*exact, "more"]]
