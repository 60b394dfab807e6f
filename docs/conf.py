"""Sphinx's configuration; `python -m course_lib site` copies it beside the sources that it makes."""

from pathlib import Path

from docutils import nodes

import course_lib
from course_lib.cli import colab, site_reference, site_sources
from course_lib.cli.requirements import ROOT

project = "The Transformer, built in order"
author = "The course's authors"
version = release = course_lib.__version__
language = "en"

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "sphinx_copybutton"]
exclude_patterns = ["extra"]
html_extra_path = ["extra"]  # pictures, for raw HTML: Sphinx does not see what it asks for
html_static_path = ["_static"]
html_css_files = ["site.css"]

# Notebooks: as stored
nb_execution_mode = "off"
nb_merge_streams = True
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", None),
    ("html", "image/png", 0),
]
myst_enable_extensions = ["amsmath", "dollarmath", "html_image"]
myst_heading_anchors = 4

# Mathematics: one file, without fonts or further requests, so that it works from a disk
mathjax_path = "mathjax/tex-svg-full.js"
mathjax3_config = {"options": {"enableMenu": False}, "svg": {"fontCache": "local"}}
mathjax4_config = None

# Reference
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_inherit_docstrings = False  # those of PyTorch would come with their own links
add_module_names = False
python_maximum_signature_line_length = 90
toc_object_entries_show_parents = "hide"

# Look
html_theme = "sphinx_book_theme"
html_title = project
html_copy_source = True
html_show_copyright = False  # the footer names the licenses instead
html_context = {"default_mode": "auto"}  # light or dark, as the system is
html_theme_options = {
    "home_page_in_toc": True,
    "navbar_persistent": [],  # the search is in the sidebar
    "show_navbar_depth": 1,
    "show_toc_level": 2,
    "use_fullscreen_button": True,
    "use_download_button": True,
    "extra_footer": "Code: MIT license. Text and figures: CC BY 4.0.",
}
repository = colab.stamped_as(ROOT)
if repository:
    html_theme_options |= {
        "repository_url": f"{colab.GITHUB}/{repository.name}",
        "repository_branch": repository.branch,
        "use_repository_button": True,
        "launch_buttons": {
            "binderhub_url": "https://mybinder.org",
            "colab_url": "https://colab.research.google.com",
            "notebook_interface": "jupyterlab",
        },
    }


def describe_pictures(app, document):
    """Give each output's picture the alt text and the width that the notebook stores.

    Raises ValueError if there are not as many pictures as in the notebook.
    """
    path = Path(app.env.doc2path(app.env.docname))
    if path.suffix != ".ipynb":
        return
    bundles = [one for one in document.findall(nodes.container) if one.get("nb_element") == "mime_bundle"]
    shown = [image for bundle in bundles for image in bundle.findall(nodes.image)]
    for image, (_, alt, width) in zip(shown, site_sources.pictures(path), strict=True):
        image["alt"] = alt
        if width:
            image["width"] = f"{width}px"


def name_parameters(app, pagename, templatename, context, doctree):
    """Tell screen readers that a long signature is no glossary: Sphinx makes it a `<dl>` without terms."""
    for tag in ("dl>\n<dd", "dd"):
        plain = f'<{tag}><em class="sig-param">'
        context["body"] = context.get("body", "").replace(
            plain, plain.replace(">", ' role="presentation">', 1)
        )


def plain_docstring(app, what, name, object_, options, lines):
    """Docstrings are plain text: convert them to reStructuredText."""
    lines[:] = site_reference.restructured("\n".join(lines)).split("\n")


def skipped(app, what, name, object_, skip, options):
    """Whether autodoc leaves a member out: what is PyTorch's, but never `forward`: it names the shapes."""
    if not (getattr(object_, "__module__", None) or "").startswith("course_lib"):
        return True
    return False if name == "forward" else None


def setup(app):
    app.connect("autodoc-skip-member", skipped)
    app.connect("doctree-read", describe_pictures)
    app.connect("html-page-context", name_parameters)
    app.connect("autodoc-process-docstring", plain_docstring)
