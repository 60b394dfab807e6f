from course_lib.chapters.ch06_translation.bleu_widget import bleu_explorer as bleu_explorer
from course_lib.chapters.ch06_translation.decoding_figures import diagram_cache as diagram_cache
from course_lib.chapters.ch06_translation.decoding_figures import diagram_shift as diagram_shift
from course_lib.chapters.ch06_translation.decoding_figures import diagram_speculative as diagram_speculative
from course_lib.chapters.ch06_translation.decoding_figures import plot_beam as plot_beam
from course_lib.chapters.ch06_translation.decoding_figures import (
    plot_cross_attention as plot_cross_attention,
)
from course_lib.chapters.ch06_translation.decoding_figures import plot_decoding_cost as plot_decoding_cost
from course_lib.chapters.ch06_translation.decoding_figures import (
    plot_label_smoothing as plot_label_smoothing,
)
from course_lib.chapters.ch06_translation.decoding_figures import plot_losses as plot_losses
from course_lib.chapters.ch06_translation.decoding_figures import plot_search_tree as plot_search_tree
from course_lib.chapters.ch06_translation.real_data_figures import diagram_cuts as diagram_cuts
from course_lib.chapters.ch06_translation.real_data_figures import diagram_merges as diagram_merges
from course_lib.chapters.ch06_translation.real_data_figures import plot_by_pairs as plot_by_pairs
from course_lib.chapters.ch06_translation.real_data_figures import (
    plot_held_out_losses as plot_held_out_losses,
)
from course_lib.chapters.ch06_translation.real_data_figures import plot_lengths as plot_lengths
from course_lib.chapters.ch06_translation.real_data_figures import plot_ranks as plot_ranks
from course_lib.chapters.ch06_translation.real_data_figures import plot_tries as plot_tries
from course_lib.chapters.ch06_translation.schedules_widget import schedule_explorer as schedule_explorer
from course_lib.chapters.ch06_translation.score_figures import diagram_bootstrap as diagram_bootstrap
from course_lib.chapters.ch06_translation.score_figures import diagram_matches as diagram_matches
from course_lib.chapters.ch06_translation.score_figures import plot_brevity as plot_brevity
from course_lib.chapters.ch06_translation.score_figures import plot_checkpoints as plot_checkpoints
from course_lib.chapters.ch06_translation.score_figures import plot_differences as plot_differences
from course_lib.chapters.ch06_translation.score_figures import plot_error_kinds as plot_error_kinds
from course_lib.chapters.ch06_translation.score_figures import plot_seed_scores as plot_seed_scores
from course_lib.chapters.ch06_translation.subwords_widget import subword_explorer as subword_explorer
from course_lib.chapters.ch06_translation.translation_widget import (
    translation_explorer as translation_explorer,
)
