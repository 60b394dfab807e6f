"""What `test --plain` changes: a stand-in for another machine, with as little installed as possible.

Older CPU kernels on one thread change the last digits, as another processor does: those for AVX2 where this
one has AVX-512, which not all of Colab's machines have, and otherwise those without either, which take
twice as long. There are no real data sets and no network; notebooks have no optional packages, and print
numbers close to a rounding boundary twice (boundaries.py).
"""

import os
from pathlib import Path

NOWHERE = "http://127.0.0.1:9"  # a port where nobody listens
PROCESSOR = Path("/proc/cpuinfo")  # Linux only

VARIABLES = {
    "ONEDNN_MAX_CPU_ISA": "AVX2",  # otherwise PyTorch's plain kernels expect AVX-512 to pack bf16 for oneDNN
    "OMP_NUM_THREADS": "1",
    **{f"{scheme}_PROXY": NOWHERE for scheme in ("HTTP", "HTTPS", "ALL")},
    **{f"{scheme}_proxy": NOWHERE for scheme in ("http", "https", "all")},
    "NO_PROXY": "localhost,127.0.0.1",
    "no_proxy": "localhost,127.0.0.1",
}
CONFIG = 'c.InteractiveShellApp.extensions = ["course_lib.cli.boundaries"]\n'

# What a plain run leaves out: what is the same on every processor (commands, data, figures, style, copies of
# modules, texts, stored results, the search for hints), and the longest training runs.
ARGUMENTS = ["@tests/plain_run.txt"]


def older() -> str:
    """PyTorch's name for the kernels of older processors, which this one would not choose itself."""
    return "avx2" if PROCESSOR.exists() and "avx512f" in PROCESSOR.read_text() else "default"


def variables(environment: dict[str, str], folder: Path) -> dict[str, str]:
    """The environment of a plain run, with an empty cache and IPython's settings in `folder`."""
    profile = folder / "ipython" / "profile_default"
    profile.mkdir(parents=True)
    (profile / "ipython_kernel_config.py").write_text(CONFIG, encoding="utf-8")
    kept = {name: value for name, value in environment.items() if name != "COURSE_DATA"}
    own = {"IPYTHONDIR": os.fspath(profile.parent), "COURSE_CACHE": os.fspath(folder / "cache")}
    return kept | VARIABLES | own | {"ATEN_CPU_CAPABILITY": older()}
