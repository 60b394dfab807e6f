"""`update`: the newest version of the course, with the student's work.

Standard library only. Notebooks that the student changed are first copied into a folder of their own; then
git brings the new version, and the work is carried over cell by cell. If anything fails, all is as before.
"""

import argparse
import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from course_lib.cli import arguments, carry
from course_lib.cli.requirements import ROOT, SetUpError, is_repository
from course_lib.utils.files import atomic_path
from course_lib.utils.network import network_advice

HELP = "brings the newest version of the course and keeps your work in the notebooks"
ASIDE = "before-update"  # in notebooks/: each notebook as it was
NOTEBOOKS = ":(glob)notebooks/*.ipynb"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Where the work comes from, for a copy that was not made by git."""
    parser.add_argument(
        "--from",
        dest="source",
        type=arguments.folder,
        metavar="FOLDER",
        help="copy your answers from an older copy of the course, which stays as it is, into this one",
    )


def run(args: argparse.Namespace) -> int:
    """Update this copy, or bring another one's answers; returns 0. Raises SetUpError, changing nothing."""
    if not is_repository():
        raise SetUpError("There is nothing to update: the course is installed here without its notebooks.")
    return bring(args.source) if args.source else pull()


def bring(folder: Path) -> int:
    """Carry the answers of another copy of the course into this one."""
    source = folder / "notebooks" if (folder / "notebooks").is_dir() else folder
    if source.resolve() == (ROOT / "notebooks").resolve():
        raise SetUpError(f"--from: {folder} is this copy; name the folder of the older one")
    found = {path: ROOT / "notebooks" / path.name for path in sorted(source.glob("*.ipynb"))}
    if not found:
        raise SetUpError(f"--from: no notebooks in {source}")
    done = {new: carry.answered(read(old), read(new)) for old, new in found.items() if new.is_file()}
    saved = save([new for new, carried in done.items() if carried.kept])
    for new in saved:
        write(new, done[new])
    report(done, saved)
    print(f"{source} is unchanged: whatever else you wrote is still there.")
    return 0


def pull() -> int:
    """Update a copy that was made by git; returns 0."""
    if not os.access(ROOT, os.W_OK):  # git would refuse another user's folder, whoever made it
        raise SetUpError(f"{ROOT} cannot be written; update a copy in a folder of your own")
    top = shutil.which("git") and git("rev-parse", "--show-toplevel", check=False)
    if not top or Path(top).resolve() != ROOT:
        raise SetUpError(
            "This copy was not made by git. Download the newest version, unpack it beside this folder, and\n"
            f"run there: python -m course_lib update --from {ROOT}"
        )
    if git("ls-files", "--unmerged"):
        raise SetUpError("A merge is unfinished here. Undo it with `git merge --abort`, then update again.")
    upstream = git("rev-parse", "--verify", "--quiet", "@{upstream}", check=False)
    if not upstream:
        raise SetUpError("This branch follows no other; choose one: git branch --set-upstream-to=origin/main")
    print("Looking for a new version …", flush=True)
    git("fetch", "--quiet")
    old, new = git("rev-parse", "HEAD"), git("rev-parse", "@{upstream}")
    base = git("merge-base", old, new, check=False)
    if not base:
        raise SetUpError("This copy and the one it follows have no common past: make a new copy.")
    if base == new:
        print("This is the newest version.")
        return 0
    dirty = changed("HEAD")
    refuse(dirty, base, new)
    tracked = listed("ls-tree", "-r", "--name-only", "-z", "HEAD", "notebooks/")
    dirty = [path for path in dirty if path in tracked and is_notebook(path)]
    mine = [ROOT / path for path in dirty if (ROOT / path).is_file()]
    work = {path: read(path) for path in mine}
    committed = sorted({*changed(base, old, within=NOTEBOOKS)} & {*changed(base, new, within=NOTEBOOKS)})
    saved = save(sorted({*mine, *(ROOT / path for path in committed if (ROOT / path).is_file())}))
    done: dict[Path, carry.Carried] = {}
    with restored(old, dirty, saved):
        if dirty:
            git("checkout", "HEAD", "--", *dirty)
        merge(base, old, new, committed, done)
        for path, notebook in work.items():
            if path.is_file():
                start = at_commit(old, path.relative_to(ROOT).as_posix())
                done[path] = carry.merged(start, notebook, read(path))
                write(path, done[path])
    tell(base, new)
    report(done, saved)
    for path, copy in saved.items():
        if not path.is_file():
            print(f"{path.name} is no longer part of the course; yours is in {copy.parent}.")
    print("Reload notebooks that are open. `lab` installs what the new version requires.")
    return 0


def refuse(dirty: list[str], base: str, new: str) -> None:
    """Raise SetUpError if the update would overwrite something other than a notebook."""
    theirs = changed(base, new)
    both = sorted(path for path in set(dirty) & set(theirs) if not is_notebook(path))
    tracked = set(listed("ls-files", "-z"))
    both += sorted(path for path in theirs if path not in tracked and (ROOT / path).exists())
    if both:
        raise SetUpError(
            f"The new version changes {', '.join(both[:3])}, and so did you: move your version elsewhere."
        )


def merge(base: str, old: str, new: str, committed: list[str], done: dict[Path, carry.Carried]) -> None:
    """Merge the new version; notebooks that were committed here are merged by cells."""
    if base == old:
        git("merge", "--ff-only", "--quiet", new)
        return
    git("merge", "--no-ff", "--no-commit", "--quiet", new, check=False)  # it may report conflicts
    if not git("rev-parse", "--quiet", "--verify", "MERGE_HEAD", check=False):
        git("merge", "--no-ff", "--no-commit", new)  # says why it does not even begin
    for path in committed:
        if not git("ls-tree", old, "--", path):
            continue  # deleted here
        if git("ls-tree", new, "--", path):
            done[ROOT / path] = carry.merged(*(at_commit(commit, path) for commit in (base, old, new)))
            write(ROOT / path, done[ROOT / path])
            git("add", "--", path)
        else:
            git("rm", "--quiet", "--force", "--ignore-unmatch", "--", path)
    if left := sorted(listed("diff", "--name-only", "--diff-filter=U", "-z")):
        raise SetUpError(f"You and the new version both changed {', '.join(left[:3])}: merge with git.")
    git("commit", "--quiet", "--no-edit")


@contextmanager
def restored(old: str, dirty: list[str], saved: dict[Path, Path]) -> Iterator[None]:
    """If the block fails, go back to the commit `old` and to the student's notebooks."""
    try:
        yield
    except BaseException:
        git("merge", "--abort", check=False)
        if dirty:
            git("checkout", "HEAD", "--", *dirty, check=False)
        git("reset", "--keep", old, check=False)
        for path in map(ROOT.joinpath, dirty):
            if path in saved:
                shutil.copyfile(saved[path], path)
        raise


def save(paths: list[Path]) -> dict[Path, Path]:
    """Copy notebooks into a new folder; returns where each one is."""
    if not paths:
        return {}
    folder = ROOT / "notebooks" / ASIDE / time.strftime("%Y-%m-%d-%H%M%S")
    with atomic_path(folder) as part:  # whole, or not at all
        part.mkdir()
        for path in paths:
            shutil.copyfile(path, part / path.name)
    return {path: folder / path.name for path in paths}


def report(done: dict[Path, carry.Carried], saved: dict[Path, Path]) -> None:
    """Say what was kept in each notebook, and where the former ones are."""
    for path, carried in done.items():
        if carried.kept:
            print(f"{path.name}: kept {', '.join(carried.kept)}")
        if carried.left:
            print(f"{path.name}: new version of {', '.join(carried.left)}; yours is in the former notebook")
    if saved:
        print(f"The former notebooks are in {next(iter(saved.values())).parent}.")


def tell(base: str, new: str) -> None:
    """Say what the new version changes."""
    texts = changed(base, new, within=NOTEBOOKS)
    names = [Path(path).name for path in texts if git("ls-tree", new, "--", path)]
    print(f"Updated. Changed notebooks: {', '.join(names) or 'none'}.")
    lines = git("diff", "--unified=0", base, new, "--", "CHANGELOG.md").splitlines()
    for line in [line[1:] for line in lines if line.startswith("+- ")][:10]:
        print(f"  {line}")


def read(path: Path) -> dict:
    """A notebook. Raises SetUpError if the file is none."""
    try:
        return carry.parsed(path.read_text(encoding="utf-8"))
    except ValueError:
        raise SetUpError(
            f"{path} is not a notebook, perhaps because of git's conflict marks; move it elsewhere first."
        ) from None


def write(path: Path, carried: carry.Carried) -> None:
    """Replace a notebook, at once."""
    with atomic_path(path) as part:
        part.write_text(carry.written(carried.notebook), encoding="utf-8", newline="\n")


def changed(*commits: str, within: str = ":/") -> list[str]:
    """The paths that differ between two commits, or between a commit and the folder."""
    return listed("diff", "--name-only", "--no-renames", "-z", *commits, "--", within)


def listed(*arguments: str) -> list[str]:
    """The paths that a git command lists with the option -z."""
    return list(filter(None, git(*arguments).split("\0")))


def is_notebook(path: str) -> bool:
    """Whether a path of git's is that of a notebook of the course."""
    return path.startswith("notebooks/") and path.endswith(".ipynb") and path.count("/") == 1


def at_commit(commit: str, path: str) -> dict:
    """A notebook as it is in a commit."""
    return carry.parsed(git("show", f"{commit}:{path}"))


def git(*arguments: str, check: bool = True) -> str:
    """What a git command prints. Raises SetUpError with git's reason if it fails; without `check`: ""."""
    variables = {**os.environ, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
    done = subprocess.run(
        ["git", *arguments], cwd=ROOT, env=variables, capture_output=True, text=True, encoding="utf-8"
    )
    if done.returncode and check:
        said = " ".join(done.stderr.split()) or f"git {arguments[0]} failed"
        raise SetUpError("\n".join(filter(None, [f"git: {said[:300]}", network_advice(said)])))
    return "" if done.returncode else done.stdout.strip()
