"""Where the parts of a widget lie."""

import ipywidgets

from course_lib.widgets.layout import FEW, TALL, arrange


def parts(shape: float = 0.4, controls: int = 2, projected: bool = False) -> ipywidgets.Box:
    sliders = [ipywidgets.IntSlider(description=str(i)) for i in range(controls)]
    return arrange(sliders, [ipywidgets.Image()], ipywidgets.HTML("words"), shape, projected)


def classes(widget: ipywidgets.Widget) -> set[str]:
    return {name for name in widget._dom_classes if name.startswith("course-")}


def test_controls_picture_and_words_are_found_by_their_classes() -> None:
    box = parts()
    style, frame, names = box.children
    assert classes(box) == {"course-explorer"} and classes(frame) == {"course-frame"}
    assert [classes(part) for part in frame.children] == [
        {"course-controls"}, {"course-picture"}, {"course-words"}
    ]  # fmt: skip
    assert classes(style) == {"course-style"} and classes(names) == {"course-names"}


def test_a_tall_picture_with_room_for_words_under_the_controls_and_a_projected_widget_say_so() -> None:
    assert "course-tall" in classes(parts(TALL + 0.01, FEW).children[1])
    assert "course-tall" not in classes(parts(TALL - 0.01, FEW).children[1])
    assert "course-tall" not in classes(parts(TALL + 0.01, FEW + 1).children[1])
    assert "course-projected" in classes(parts(projected=True))
    assert "course-projected" not in classes(parts())
