from course_lib.chapters.ch11_your_own_model.budget import effective_tokens as effective_tokens
from course_lib.chapters.ch11_your_own_model.budget import plans as plans
from course_lib.chapters.ch11_your_own_model.budget import sweep as sweep
from course_lib.chapters.ch11_your_own_model.model_card import write_card as write_card
from course_lib.chapters.ch11_your_own_model.opening import open_project as open_project
from course_lib.chapters.ch11_your_own_model.opening import upload as upload
from course_lib.chapters.ch11_your_own_model.project_figures import diagram_project as diagram_project
from course_lib.chapters.ch11_your_own_model.project_figures import plot_scores as plot_scores
