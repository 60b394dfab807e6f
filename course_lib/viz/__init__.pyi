from course_lib.viz.figures import heatmap as heatmap
from course_lib.viz.figures import show as show
from course_lib.viz.figures import show_widget as show_widget
from course_lib.viz.shared import diagram_lora as diagram_lora
from course_lib.viz.shared import plot_seeds as plot_seeds
from course_lib.viz.shared import plot_truncation as plot_truncation
from course_lib.viz.style import PALETTE as PALETTE
from course_lib.viz.style import use_style as use_style
