"""What Jupyter saves of widgets: the picture, and no live view that a later kernel does not know."""

import json
import tomllib
from pathlib import Path
from types import SimpleNamespace

import nbformat
import pytest
from jupyter_server.services.contents.filemanager import FileContentsManager
from traitlets.config import Config

from course_lib.cli import lab, saving
from course_lib.cli.requirements import ROOT
from course_lib.cli.saving import WIDGET_STATE, WIDGET_VIEW

NAME = "course_lib.cli.saving"


def bundle(**changes: object) -> dict[str, object]:
    data = {WIDGET_VIEW: {"model_id": "m1"}, "image/png": "iVBO", "text/plain": "Widget: a slider."}
    return {key: value for key, value in {**data, **changes}.items() if value is not None}


def saved(folder: Path, data: dict[str, object], **metadata: object) -> nbformat.NotebookNode:
    """The notebook that Jupyter's own manager of files writes, with the extension loaded."""
    output = nbformat.v4.new_output(
        "display_data", data, metadata={WIDGET_VIEW: {}, "image/png": {"width": 9}}
    )
    cells = [nbformat.v4.new_markdown_cell("text"), nbformat.v4.new_code_cell("f()", outputs=[output])]
    nb = nbformat.v4.new_notebook(cells=cells, metadata=metadata)
    manager = FileContentsManager(root_dir=str(folder))
    saving._load_jupyter_server_extension(SimpleNamespace(contents_manager=manager, config=Config()))
    manager.save(
        {"type": "notebook", "format": "json", "content": json.loads(nbformat.v4.writes(nb))}, "a.ipynb"
    )
    return nbformat.read(folder / "a.ipynb", 4).cells[1].outputs[0]


@pytest.mark.parametrize("text", ["Widget: a slider.", ["Widget: a slider.\n", "More."]])
def test_a_picture_is_saved_without_the_live_view(tmp_path: Path, text: object) -> None:
    output = saved(tmp_path, bundle(**{"text/plain": text}))
    assert set(output.data) == {"image/png", "text/plain"} and set(output.metadata) == {"image/png"}


def test_a_live_view_stays_where_nothing_else_is_stored_or_its_state_is(tmp_path: Path) -> None:
    for data in (bundle(**{"image/png": None}), bundle(**{"text/plain": "IntSlider(value=0)"})):
        assert WIDGET_VIEW in saved(tmp_path, data).data
    state = {WIDGET_STATE: {"state": {"m1": {}}}}
    assert WIDGET_VIEW in saved(tmp_path, bundle(), widgets=state).data
    assert WIDGET_VIEW not in saved(tmp_path, bundle(), widgets={WIDGET_STATE: {"x": {}}}).data  # of Colab


def test_other_files_are_saved_as_they_are(tmp_path: Path) -> None:
    for model in ({"type": "file", "content": "text"}, {"type": "notebook", "content": None}):
        before = dict(model)
        saving.before_saving(model=model, path="x", contents_manager=None)
        assert model == before


def test_a_manager_made_later_calls_it_unless_the_user_has_a_hook(tmp_path: Path) -> None:
    """As jupytext does, which replaces the manager of files once all extensions are loaded."""
    server = SimpleNamespace(contents_manager=FileContentsManager(), config=Config())
    saving._load_jupyter_server_extension(server)
    assert FileContentsManager(config=server.config).pre_save_hook is saving.before_saving
    server.config = Config({"ContentsManager": {"pre_save_hook": "builtins.print"}})
    saving._load_jupyter_server_extension(server)
    assert FileContentsManager(config=server.config).pre_save_hook is print


def test_lab_and_an_environment_with_the_course_enable_it() -> None:
    table = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["hatch"]["build"]
    installed = {target: ROOT / source for source, target in table["targets"]["wheel"]["shared-data"].items()}
    anywhere = installed["etc/jupyter/jupyter_server_config.d/course_lib.json"]
    assert (installed["share/jupyter/nbconvert/templates/course"] / "conf.json").is_file()
    for file in (anywhere, lab.SETTINGS / "jupyter_server_config.json"):
        settings = json.loads(file.read_text(encoding="utf-8"))
        assert settings["ServerApp"]["jpserver_extensions"][NAME] is True
    assert saving._jupyter_server_extension_points() == [{"module": NAME}]
