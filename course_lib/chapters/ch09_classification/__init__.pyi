from course_lib.chapters.ch09_classification.classification_figures import (
    diagram_directions as diagram_directions,
)
from course_lib.chapters.ch09_classification.classification_figures import diagram_pooling as diagram_pooling
from course_lib.chapters.ch09_classification.classification_figures import plot_by_variant as plot_by_variant
from course_lib.chapters.ch09_classification.classification_figures import (
    plot_class_attention as plot_class_attention,
)
from course_lib.chapters.ch09_classification.classification_figures import plot_validation as plot_validation
from course_lib.chapters.ch09_classification.classification_widget import (
    classification_explorer as classification_explorer,
)
