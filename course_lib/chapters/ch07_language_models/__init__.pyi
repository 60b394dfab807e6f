from course_lib.chapters.ch07_language_models.gpt_figures import (
    diagram_answer_labels as diagram_answer_labels,
)
from course_lib.chapters.ch07_language_models.gpt_figures import diagram_dpo as diagram_dpo
from course_lib.chapters.ch07_language_models.gpt_figures import diagram_gpt as diagram_gpt
from course_lib.chapters.ch07_language_models.gpt_figures import diagram_next_token as diagram_next_token
from course_lib.chapters.ch07_language_models.gpt_figures import plot_accuracies as plot_accuracies
from course_lib.chapters.ch07_language_models.gpt_figures import (
    plot_against_baseline as plot_against_baseline,
)
from course_lib.chapters.ch07_language_models.gpt_figures import plot_by_context as plot_by_context
from course_lib.chapters.ch07_language_models.inside_figures import diagram_induction as diagram_induction
from course_lib.chapters.ch07_language_models.inside_figures import diagram_lens as diagram_lens
from course_lib.chapters.ch07_language_models.inside_figures import diagram_patching as diagram_patching
from course_lib.chapters.ch07_language_models.inside_figures import plot_ablations as plot_ablations
from course_lib.chapters.ch07_language_models.inside_figures import plot_head_maps as plot_head_maps
from course_lib.chapters.ch07_language_models.inside_figures import plot_patching as plot_patching
from course_lib.chapters.ch07_language_models.inside_figures import plot_repeats as plot_repeats
from course_lib.chapters.ch07_language_models.logit_lens_widget import (
    logit_lens_explorer as logit_lens_explorer,
)
from course_lib.chapters.ch07_language_models.sampler_widget import sampler_explorer as sampler_explorer
from course_lib.chapters.ch07_language_models.scaling_figures import diagram_objectives as diagram_objectives
from course_lib.chapters.ch07_language_models.scaling_figures import (
    diagram_pretraining as diagram_pretraining,
)
from course_lib.chapters.ch07_language_models.scaling_figures import plot_budgets as plot_budgets
from course_lib.chapters.ch07_language_models.scaling_figures import plot_gap as plot_gap
from course_lib.chapters.ch07_language_models.scaling_figures import plot_power_law as plot_power_law
from course_lib.chapters.ch07_language_models.scaling_figures import (
    plot_pretraining_gain as plot_pretraining_gain,
)
from course_lib.chapters.ch07_language_models.scaling_figures import plot_sweep as plot_sweep
from course_lib.chapters.ch07_language_models.scaling_widget import scaling_explorer as scaling_explorer
from course_lib.chapters.ch07_language_models.text_attention_widget import (
    text_attention_explorer as text_attention_explorer,
)
