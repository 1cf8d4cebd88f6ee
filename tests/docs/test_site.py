"""The site as its readers see it, in Chromium."""

import os
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from browser import chromium

REPO = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.soak
WIDTHS = (1280, 390)


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The address of a fresh build; a warning of Sphinx is an error."""
    source = tmp_path_factory.mktemp("site")
    for name in ("docs", "examples", "src", "core"):
        shutil.copytree(REPO / name, source / name, ignore=shutil.ignore_patterns("__pycache__", "_generated"))
    for name in ("ARCHITECTURE.md", "Dockerfile"):
        shutil.copy(REPO / name, source / name)
    out = source / "out"
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "sphinx",
            "-q",
            "-n",
            "-W",
            "--keep-going",
            "-b",
            "html",
            str(source / "docs"),
            str(out),
        ],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": str(source / "src")},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr
    handler = partial(SimpleHTTPRequestHandler, directory=str(out))
    handler.log_message = lambda *_: None
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield out, f"http://127.0.0.1:{server.server_port}"
    server.shutdown()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_fit_the_screen_and_have_no_missing_resource(site, width, scheme):
    """No page is wider than the screen, no picture is missing, no request fails or leaves the site."""
    out, address = site
    pages = [path.relative_to(out) for path in out.rglob("*.html") if "_modules" not in path.parts]
    with chromium(width, scheme) as browser:
        for page in pages:
            browser.get(f"{address}/{page}")
            assert browser.execute_script("return document.documentElement.scrollWidth") <= width, page
            missing = browser.execute_script("return [...document.images].filter(i => !i.naturalWidth).map(i => i.src)")
            assert missing == [], page
            requested = browser.execute_script("return performance.getEntriesByType('resource').map(r => r.name)")
            assert [name for name in requested if not name.startswith((address, "data:"))] == [], page
            assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == [], page


def test_links_lead_to_existing_pages_and_anchors(site):
    """Every link between pages leads to a page and, with #, to a place in it."""
    from html.parser import HTMLParser
    from urllib.parse import unquote, urldefrag

    class Page(HTMLParser):
        def __init__(self):
            super().__init__()
            self.links, self.places = [], set()

        def handle_starttag(self, tag, attributes):
            named = dict(attributes)
            self.places |= {named[key] for key in ("id", "name") if named.get(key)}
            if tag == "a" and named.get("href"):
                self.links.append(named["href"])

    out, _ = site
    pages = {}
    for path in out.rglob("*.html"):
        pages[path] = Page()
        pages[path].feed(path.read_text())
    broken = []
    for path, page in pages.items():
        for link in page.links:
            target, place = urldefrag(link)
            if target.startswith(("http:", "https:", "mailto:", "javascript:")):
                continue
            file = (path.parent / unquote(target)).resolve() if target else path
            exists = file in pages if file.suffix == ".html" else file.exists()
            if not exists or (place and file in pages and unquote(place) not in pages[file].places):
                broken.append((path.name, link))
    assert broken == []


def test_search_finds_a_page(site):
    from selenium.webdriver.common.by import By
    from selenium.webdriver.support.ui import WebDriverWait

    _, address = site
    with chromium(1280) as browser:
        browser.get(f"{address}/search.html?q=calibration")
        found = WebDriverWait(browser, 30).until(lambda b: b.find_elements(By.CSS_SELECTOR, "#search-results li a"))
        assert any("nolana.plot.calibration" in each.text for each in found)
