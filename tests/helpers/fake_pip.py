"""A pip that only notes what it is asked to install."""

import pytest

from course_lib.cli import pip, torch_build

INDEX = ("--extra-index-url", "http://an.index")


def fake_pip(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """Replace pip; returns what it is asked to install, with the CPU build of PyTorch from INDEX."""
    asked: list[list[str]] = []
    monkeypatch.setattr(pip, "install", lambda python, arguments, *rest: asked.append(list(arguments)))
    monkeypatch.setattr(pip, "works", lambda python: python.exists())
    build = torch_build.CPU._replace(options=INDEX)
    monkeypatch.setattr(torch_build, "choose", lambda python, requirement: build)
    return asked
