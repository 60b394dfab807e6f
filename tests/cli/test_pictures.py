"""The pictures of README: they exist, they are light, and the thumbnails can be made again."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image

from course_lib.cli import thumbnails
from course_lib.cli.environment import ROOT
from course_lib.exercises import catalogue

IMAGES = ROOT / "docs" / "images"
NUMBERS = sorted({exercise.partition(".")[0] for exercise in catalogue()})  # of the notebooks with exercises
WIDGETS = ["widget_softmax", "widget_heads", "widget_patches", "widget_beam"]


@pytest.fixture(scope="module")
def made_again(tmp_path_factory) -> list:
    return thumbnails.main(tmp_path_factory.mktemp("images"))


def test_every_notebook_has_a_thumbnail(made_again):
    there = sorted(path.name for path in IMAGES.glob("thumb_*.png"))
    assert there == [path.name for path in made_again], "run python -m course_lib.cli.thumbnails"
    assert [path.stem for path in made_again] == [f"thumb_{number}" for number in NUMBERS]
    for path in [*made_again, *IMAGES.glob("thumb_*.png")]:
        assert Image.open(path).size == (thumbnails.WIDTH, thumbnails.HEIGHT)
        assert path.stat().st_size < 25_000


@pytest.mark.parametrize("name", WIDGETS)
def test_the_pictures_of_widgets_are_light(name):
    path = IMAGES / f"{name}.png"
    assert 600 <= Image.open(path).width <= 800 and path.stat().st_size < 120_000


def test_the_motion_picture_moves():
    path = IMAGES / "model_explorer.png"
    with Image.open(path) as picture:
        assert picture.is_animated and picture.n_frames >= 10 and 600 <= picture.width <= 1000
        assert picture.info["loop"] == 0  # forever
    assert path.stat().st_size < 1_000_000
    assert sum(one.stat().st_size for one in IMAGES.iterdir()) < 5_000_000


def test_a_notebook_without_a_figure_is_named():
    notebook = new_notebook(cells=[new_code_cell("1 + 1")])
    nbformat.validate(notebook)
    with pytest.raises(ValueError, match="notebook 42"):
        thumbnails.chosen("42", notebook)
