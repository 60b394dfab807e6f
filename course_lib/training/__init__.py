"""Training: the loop, its configuration, optimizers, checkpoints, precision, diagnostics."""

from course_lib.utils.lazy import lazy_exports

_EXPORTS = {
    "checkpoints": ["Checkpoints"],
    "evaluation": ["evaluating"],
    "config": ["TrainConfig", "learning_rate"],
    "diagnostics": ["Diverged"],
    "early_stopping": ["KeepBest"],
    "model_files": ["BrokenCheckpoint", "load_model", "save_model"],
    "optim": ["CombinedOptimizer", "Muon", "WeightEMA", "make_optimizer"],
    "precision": ["autocast", "choose_precision"],
    "trainer": ["History", "Trainer", "train"],
}
__getattr__, __dir__, __all__ = lazy_exports(__name__, _EXPORTS)
