"""Settings of the documentation; `make docs` builds it."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

import nolana  # noqa: E402

project = "nolana"
author = "the nolana developers"
copyright = "the nolana developers, BSD-3-Clause"
version = release = nolana.__version__
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.viewcode",
    "nolana_docs.docstrings",
    "nolana_docs.gallery",
    "nolana_docs.mathml",
]
exclude_patterns = ["nolana_docs"]
myst_enable_extensions = ["dollarmath", "deflist"]
myst_heading_anchors = 3
default_role = "code"
highlight_language = "none"  # of blocks without a language: commands and sketches
nitpicky = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"
html_theme = "furo"
html_title = "nolana"
html_static_path = ["static"]
html_css_files = ["nolana.css"]
html_favicon = "extra/favicon.ico"
html_extra_path = ["paper", "extra"]
html_theme_options = {"navigation_with_keys": True}
html_copy_source = False
