"""The attention map: what the browser gets, what it sends back, and the picture where there is none."""

import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from anywidget import _util as anywidgets
from matplotlib.figure import Figure
from matplotlib.text import Text

from course_lib.chapters.ch01_softmax import softmax_explorer
from course_lib.chapters.ch02_masks import mask_explorer
from course_lib.chapters.ch03_heads import heads_explorer
from course_lib.chapters.ch07_language_models import logit_lens_explorer
from course_lib.viz import figures
from course_lib.widgets import modules
from course_lib.widgets.attention_map import AttentionMap
from course_lib.widgets.heatmap import Heatmap, Place, label
from course_lib.widgets.heatmap_picture import draw_heatmaps

ROWS, COLUMNS = ["the", "cat"], ["a", "b", "c"]


@pytest.fixture
def shown() -> AttentionMap:
    maps = AttentionMap()
    maps.show(torch.tensor([[0.0, 0.25, 0.75], [1.0, 0.0, 0.0]]), rows=ROWS, columns=COLUMNS, numbers=True)
    return maps


def words_of(figure: Figure) -> list[str]:
    return [text.get_text() for text in figure.findobj(Text) if text.get_text()]


# ---- to the browser and back


def test_weights_arrive_as_the_bytes_of_32_bit_floats_and_a_mask_as_one_byte_per_cell(shown) -> None:
    state = shown.get_state()["maps"][0]
    assert isinstance(state["weights"], bytes)
    assert np.frombuffer(state["weights"], "<f4").tolist() == [0.0, 0.25, 0.75, 1.0, 0.0, 0.0]
    assert state["rows"] == ROWS and state["columns"] == COLUMNS and state["masked"] is None
    shown.show(torch.eye(2), rows=ROWS, columns=ROWS, masked=torch.tensor([[False, True], [True, False]]))
    assert list(shown.maps[0]["masked"]) == [0, 1, 1, 0]


def test_a_picture_arrives_opaque_with_its_width_and_sets_the_proportion_of_the_cells(shown) -> None:
    picture = np.arange(4 * 3 * 3, dtype=np.uint8).reshape(4, 3, 3)
    shown.show(torch.zeros(2, 3), rows=ROWS, columns=COLUMNS, picture=picture)
    state = shown.maps[0]
    pixels = np.frombuffer(state["picture"]["bytes"], np.uint8).reshape(4, state["picture"]["width"], 4)
    assert np.array_equal(pixels[..., :3], picture) and (pixels[..., 3] == 255).all()
    assert state["proportion"] == 2.0


def test_every_option_that_the_kernel_sends_is_known_to_the_browser(shown) -> None:
    script = (modules.FOLDER / "attention_map.js").read_text()
    defaults = set(re.findall(r"^  (\w+):", script[script.index("const DEFAULTS") :], re.MULTILINE))
    assert set(shown.maps[0]) - defaults == {"marked"}  # attention_widget.js reads it
    assert "shown[index].marked" in modules.joined("attention_widget.js")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"rows": ["x"]}, r"weights of shape \(2, 3\) do not fit \(1, 3\) labels"),
        ({"masked": torch.ones(3, 2)}, r"masked of shape \(3, 2\) does not fit \(2, 3\) labels"),
    ],
)
def test_labels_and_masks_must_fit_the_weights(wrong: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Heatmap(**{"weights": torch.zeros(2, 3), "rows": ROWS, "columns": COLUMNS} | wrong)


def test_labels_take_one_line_and_show_spaces_at_their_ends() -> None:
    assert [label(token) for token in (" cat", "a b", "\n", "  ", "\tx")] == ["␣cat", "a b", "↵", "␣␣", "→x"]


# ---- selecting


def test_what_the_browser_selects_calls_back(shown) -> None:
    places = []
    shown.on_select(places.append)
    shown.set_state({"selected": {"map": 0, "row": 1, "column": None}})  # as a message from the page does
    assert places == [Place(0, 1, None)] == [shown.place]
    shown.select(0, 2)
    assert places[-1] == Place(0, 0, 2) and shown.selected == {"map": 0, "row": 0, "column": 2}


def test_a_press_calls_back_each_time_also_for_the_same_cell(shown) -> None:
    places = []
    shown.on_press(places.append)
    for _ in range(2):
        shown._handle_custom_msg({"press": {"map": 0, "row": 1, "column": 2}}, [])
    assert places == [Place(0, 1, 2)] * 2


def test_showing_a_selection_calls_nobody_back_and_says_which_one_the_maps_answer(shown) -> None:
    places = []
    shown.select(1, 2)
    assert shown.answered == {"map": 0, "row": None, "column": None}  # nothing was drawn for it yet
    shown.on_select(places.append)
    shown.show_maps(shown.heatmaps)
    assert shown.answered == shown.selected == {"map": 0, "row": 1, "column": 2}
    shown.show_maps(shown.heatmaps, selected=Place(0, 1))
    assert shown.place == Place(0, 1) and places == []


def test_maps_that_share_labels_share_the_selection_and_a_mark_of_its_own_wins() -> None:
    square = {"weights": torch.eye(2), "rows": ROWS, "columns": ROWS}
    narrow = Heatmap(weights=torch.ones(2, 1), rows=ROWS, columns=["sum"])
    marked = Heatmap(**square, marked=Place(column=0))
    maps = AttentionMap(shared=True)
    maps.show_maps([Heatmap(**square), Heatmap(**square), narrow, marked], selected=Place(0, 1, 0))
    framed = [maps.framed(i)[1:] for i in range(4)]
    assert framed == [(1, 0), (1, 0), (1, None), (None, 0)]
    maps.shared = False
    assert maps.framed(1)[1:] == (None, None)


def test_a_mark_without_a_column_leaves_the_column_to_the_user(shown) -> None:
    shown.show(torch.eye(2), rows=ROWS, columns=ROWS, marked=Place(row=1))
    shown.select(0, 1)
    assert shown.framed(0) == Place(0, 1, 1)
    assert "marked.column ?? own.column" in modules.joined("attention_widget.js")


def test_a_selected_row_sets_its_control_and_stays_within_its_range() -> None:
    explorer = logit_lens_explorer("stories")
    position = explorer.controls["position"]
    explorer.maps.select(row=0, column=1)
    assert position.value == position.max - 6 and explorer.maps.framed(0).row == 0
    explorer.maps.select(column=7, map=1)  # there is no second map
    assert position.value == position.max - 6


def test_a_selection_in_an_explorer_redraws_its_text_once() -> None:
    widget, seen = heads_explorer(), []
    widget.text.observe(seen.append, names="value")
    widget.maps.select(row=1, map=2)
    assert len(seen) == 1 and "Largest weights for the query cat (word 2): head 1 to" in widget.text.value
    widget.maps.select()
    assert "From cat" not in widget.text.value


# ---- the picture for pages without JavaScript


def test_the_picture_shows_the_same_cells(shown) -> None:
    shown.select(row=1)
    figure = Figure(figsize=(7, 3))
    draw_heatmaps(figure, shown, 3.0)
    words = words_of(figure)
    assert {"the", "cat", "a", "b", "c", "query", "key", "0.25", "0.75", "1.00"} <= set(words)
    assert words.count("0") == 3
    frame = figure.axes[0].patches[-1]
    assert (frame.get_xy(), frame.get_width(), frame.get_height()) == ((-0.5, 0.5), 3, 1)


def test_a_masked_cell_is_gray_and_an_empty_one_is_empty() -> None:
    maps, figure = AttentionMap(), Figure(figsize=(7, 3))
    weights = torch.tensor([[0.5, float("nan")], [0.25, 1.0]])
    masked = torch.tensor([[True, False], [False, False]])
    maps.show(weights, rows=ROWS, columns=ROWS, masked=masked, masked_text="-∞", numbers=True)
    draw_heatmaps(figure, maps, 3.0)
    words, colors = words_of(figure), figure.axes[0].images[0].get_array()
    assert "-∞" in words and "0.50" not in words and "nan" not in words
    assert np.allclose(colors[0, 0], [0.35, 0.35, 0.35, 1]) and colors[0, 1, 3] == 0


def test_a_picture_replaces_the_colors_and_keeps_its_proportions() -> None:
    maps, figure = AttentionMap(cell=1000), Figure(figsize=(7, 3))
    picture = np.full((40, 30, 3), 7, dtype=np.uint8)
    maps.show(torch.eye(2), rows=ROWS, columns=ROWS, picture=picture, numbers=True)
    draw_heatmaps(figure, maps, 3.0)
    (axes,) = figure.axes
    box = axes.get_window_extent()
    assert np.array_equal(axes.images[0].get_array(), picture)
    assert box.height / box.width == pytest.approx(40 / 30)
    assert {"0", "1.00"} <= set(words_of(figure))


def test_too_many_labels_are_thinned_out() -> None:
    names = [f"token {i}" for i in range(80)]
    maps, figure = AttentionMap(), Figure(figsize=(7, 3))
    maps.show(torch.rand(80, 80), rows=names, columns=names)
    draw_heatmaps(figure, maps, 3.0)
    shown = [word for word in words_of(figure) if word.startswith("token")]
    assert 20 < len(shown) < 100  # of 160


def test_until_a_page_draws_the_maps_the_kernel_draws_a_picture() -> None:
    widget = mask_explorer()
    assert "course-map-fallback" in widget.image._dom_classes  # the script hides it
    assert ".course-map-fallback" in modules.joined("attention_widget.js")
    first = widget.image.value
    widget.maps.press(0, 0, map=1)
    second = widget.image.value
    assert second != first
    widget.maps.alive = True
    widget.controls["kind"].value = "none"
    assert widget.image.value == second and "No mask" in widget.text.value
    before = widget.snapshot()  # draws what the maps show now
    assert widget.image.value not in (first, second)
    widget.controls["kind"].value = "causal"
    assert widget.snapshot() != before


# ---- the scripts


@pytest.mark.parametrize(
    "name", ["attention_widget.js", "accessible_names.js", "model_widget.js", "model_page.js"]
)
def test_a_script_is_one_module_without_imports_and_without_a_name_twice(name: str) -> None:
    script = modules.joined(name)
    assert not re.search(r"^(import|export (?!default)) ", script, re.MULTILINE)
    assert script.count("export default") == (name != "model_page.js")
    names = re.findall(r"^(?:async )?(?:function|const|let|class) (\w+)", script, re.MULTILINE)
    assert len(names) == len(set(names)) > 20


def test_an_attention_map_has_its_own_script() -> None:
    assert AttentionMap._esm == modules.joined("attention_widget.js")


def test_the_scripts_load_nothing_from_the_web() -> None:
    for path in modules.FOLDER.iterdir():
        addresses = re.findall(r"https?://[^\s\"'`)]+", path.read_text(encoding="utf-8"))
        assert set(addresses) <= {"http://www.w3.org/2000/svg"}, path


# ---- Colab


@pytest.mark.parametrize("make", [AttentionMap, lambda: softmax_explorer().box], ids=["map", "names"])
def test_on_colab_a_widget_has_the_metadata_of_its_widget_manager(monkeypatch, displayed, make) -> None:
    """Colab draws a box with a part of anywidget only with these metadata; `AccessibleNames` is one."""
    shown = make()
    asked = []
    output = SimpleNamespace(
        enable_custom_widget_manager=lambda: asked.append(True),
        _widgets=SimpleNamespace(_installed_url="https://manager"),
    )
    monkeypatch.setitem(sys.modules, "google.colab.output", output)
    anywidgets.enable_custom_widget_manager_once.cache_clear()
    for picture in (None, heads_explorer().snapshot()):
        displayed.clear()
        figures.show_widget(shown, "a map", picture)
        metadata = displayed[0]["metadata"]
        manager = metadata[figures.WIDGET_VIEW]["colab"]["custom_widget_manager"]
        assert manager == {"url": "https://manager"}
    assert asked == [True]
    assert "image/png" in metadata and len(displayed) == 2
    anywidgets.enable_custom_widget_manager_once.cache_clear()
