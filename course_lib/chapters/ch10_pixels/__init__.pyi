from course_lib.chapters.ch10_pixels.diffusion_widget import (
    diffusion_explorer as diffusion_explorer,
)
from course_lib.chapters.ch10_pixels.pixel_figures import diagram_flatten as diagram_flatten
from course_lib.chapters.ch10_pixels.pixel_figures import (
    diagram_pixel_attention as diagram_pixel_attention,
)
from course_lib.chapters.ch10_pixels.pixel_figures import diagram_unet as diagram_unet
from course_lib.chapters.ch10_pixels.pixel_figures import (
    plot_column_errors as plot_column_errors,
)
from course_lib.chapters.ch10_pixels.pixel_figures import plot_digit_runs as plot_digit_runs
from course_lib.chapters.ch10_pixels.pixel_figures import plot_pictures as plot_pictures
from course_lib.chapters.ch10_pixels.pixel_figures import plot_pixel_cost as plot_pixel_cost
from course_lib.chapters.ch10_pixels.pixel_figures import (
    plot_pixel_weights as plot_pixel_weights,
)
from course_lib.chapters.ch10_pixels.pixel_figures import plot_reach as plot_reach
from course_lib.chapters.ch10_pixels.pixels_widget import (
    pixel_attention_explorer as pixel_attention_explorer,
)
