"""What Jupyter saves of the course's widgets: their pictures, not their live views.

JupyterLab prefers an output's live view to its picture, but the widgets are gone once their kernel has
stopped: "Error displaying widget: model not found". Without the view in the file, it shows the picture, which
says how to get the controls back. The page that is open keeps its live widgets.

An extension of Jupyter's server, enabled by `lab` and wherever the course is installed. Standard library
only.
"""

from typing import Any

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
WIDGET_STATE = "application/vnd.jupyter.widget-state+json"
OURS = "Widget: "  # how the text of the course's widgets begins: see `viz.figures.show_widget`


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.contents_manager.register_pre_save_hook(before_saving)
    name = f"{__name__}.{before_saving.__name__}"
    server.config.ContentsManager.setdefault("pre_save_hook", name)  # jupytext makes another manager later


def before_saving(model: dict[str, Any], **_: Any) -> None:
    """Drop the live views of the course's widgets from a notebook that is about to be written.

    A view stays if the notebook has no picture of it, and if it stores the widget's state, which draws it.
    """
    if model["type"] != "notebook" or not model.get("content"):
        return
    notebook = model["content"]
    stored = notebook["metadata"].get("widgets", {}).get(WIDGET_STATE, {}).get("state", {})
    for cell in notebook["cells"]:
        for output in cell.get("outputs", ()):
            if _is_pictured(data := output.get("data", {})) and data[WIDGET_VIEW]["model_id"] not in stored:
                del data[WIDGET_VIEW]
                output["metadata"].pop(WIDGET_VIEW, None)


def _is_pictured(data: dict[str, Any]) -> bool:
    """Whether an output is a widget of the course with its picture."""
    text = "".join(data.get("text/plain", ""))  # a file may hold it as a list of lines
    return WIDGET_VIEW in data and "image/png" in data and text.startswith(OURS)
