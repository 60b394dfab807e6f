from course_lib.training.checkpoints import Checkpoints as Checkpoints
from course_lib.training.config import TrainConfig as TrainConfig
from course_lib.training.config import learning_rate as learning_rate
from course_lib.training.diagnostics import Diverged as Diverged
from course_lib.training.early_stopping import KeepBest as KeepBest
from course_lib.training.evaluation import evaluating as evaluating
from course_lib.training.model_files import (
    BrokenCheckpoint as BrokenCheckpoint,
)
from course_lib.training.model_files import (
    load_model as load_model,
)
from course_lib.training.model_files import (
    save_model as save_model,
)
from course_lib.training.optim import (
    CombinedOptimizer as CombinedOptimizer,
)
from course_lib.training.optim import (
    Muon as Muon,
)
from course_lib.training.optim import (
    WeightEMA as WeightEMA,
)
from course_lib.training.optim import (
    make_optimizer as make_optimizer,
)
from course_lib.training.precision import autocast as autocast
from course_lib.training.precision import choose_precision as choose_precision
from course_lib.training.trainer import History as History
from course_lib.training.trainer import Trainer as Trainer
from course_lib.training.trainer import train as train
