"""Figures: heat maps with alt text, diagrams, the course map, what a ViT attends to."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "attention_diagrams": ["diagram_heads", "diagram_qkv", "diagram_split_heads"],
    "block_diagrams": [
        "diagram_block",
        "diagram_decoder_block",
        "diagram_norm_axes",
        "diagram_norm_placements",
    ],
    "decoding_figures": [
        "diagram_cache",
        "diagram_speculative",
        "plot_decoding_cost",
        "plot_search_tree",
        "plot_truncation",
    ],
    "figures": ["heatmap", "show", "show_widget"],
    "gpt_figures": ["diagram_gpt", "diagram_next_token", "plot_against_baseline", "plot_by_context"],
    "inside_figures": [
        "diagram_induction",
        "diagram_lens",
        "diagram_patching",
        "plot_ablations",
        "plot_head_maps",
        "plot_patching",
        "plot_repeats",
    ],
    "mask_diagrams": ["diagram_masks"],
    "position_figures": [
        "diagram_clock_hands",
        "diagram_pairings",
        "diagram_rotary",
        "plot_by_distance",
        "plot_by_position",
        "plot_dot_products",
    ],
    "real_data_figures": [
        "diagram_cuts",
        "diagram_merges",
        "plot_by_pairs",
        "plot_held_out_losses",
        "plot_lengths",
        "plot_ranks",
        "plot_tries",
    ],
    "recurrence_figures": [
        "diagram_paths",
        "diagram_recurrence",
        "plot_query_path",
        "plot_reach",
        "plot_seeds",
    ],
    "scaling_figures": [
        "diagram_objectives",
        "diagram_pretraining",
        "plot_budgets",
        "plot_gap",
        "plot_power_law",
        "plot_pretraining_gain",
        "plot_sweep",
    ],
    "score_figures": [
        "diagram_matches",
        "plot_brevity",
        "plot_checkpoints",
        "plot_differences",
        "plot_error_kinds",
    ],
    "softmax_figures": [
        "diagram_softmax",
        "plot_both_axes",
        "plot_random_walks",
        "plot_temperature",
        "plot_widths",
    ],
    "style": ["PALETTE", "use_style"],
    "translation_figures": ["diagram_shift", "plot_cross_attention", "plot_losses"],
    "vit_interpret": [
        "attention_distance",
        "class_attention",
        "position_similarity",
        "principal_filters",
        "rollout",
    ],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
