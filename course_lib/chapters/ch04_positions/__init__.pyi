from course_lib.chapters.ch04_positions.position_figures import (
    diagram_clock_hands as diagram_clock_hands,
)
from course_lib.chapters.ch04_positions.position_figures import (
    diagram_pairings as diagram_pairings,
)
from course_lib.chapters.ch04_positions.position_figures import diagram_rotary as diagram_rotary
from course_lib.chapters.ch04_positions.position_figures import (
    plot_by_distance as plot_by_distance,
)
from course_lib.chapters.ch04_positions.position_figures import (
    plot_by_position as plot_by_position,
)
from course_lib.chapters.ch04_positions.position_figures import (
    plot_dot_products as plot_dot_products,
)
from course_lib.chapters.ch04_positions.positions_widget import (
    positions_explorer as positions_explorer,
)
