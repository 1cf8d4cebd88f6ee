"""The live page in Chromium: it shows rows as they are learned, in light and dark, wide and on a phone."""

import os
import time
from pathlib import Path

import numpy as np
import pytest

from browser import chromium
from serving import Served

PICTURES = os.environ.get("NOLANA_PICTURES")  # a directory for the screenshots
DEADLINE = 30


def drifting(count, seed=0):
    """XOR whose labels swap half-way."""
    X = np.random.default_rng(seed).uniform(-1, 1, (count, 2)).round(5)
    y = (X[:, 0] * X[:, 1] > 0) ^ (np.arange(count) >= count // 2)
    return [{"left": a, "right": b} for a, b in X.tolist()], np.where(y, "same", "other").tolist()


def text(driver, id):
    return driver.execute_script("return document.getElementById(arguments[0]).textContent", id)


def wait_for(condition):
    deadline = time.monotonic() + DEADLINE
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def picture(driver, name):
    if PICTURES:
        driver.save_screenshot(str(Path(PICTURES) / f"{name}.png"))


def console(driver):
    return [entry for entry in driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]


@pytest.mark.soak
def test_the_page_follows_the_service(tmp_path):
    with Served(tmp_path, "--window", "250", "--checkpoint-every", "1h") as served, chromium(1280) as driver:
        address = f"http://{served.host}:{served.port}/"
        driver.get(address)
        wait_for(lambda: text(driver, "state") == "live")
        assert text(driver, "rows") == "0"
        rows, labels = drifting(6000)
        seen = set()
        for i in range(0, 6000, 250):
            served.learn(rows[i : i + 250], labels[i : i + 250], f"block-{i}")
            time.sleep(0.15)
            seen.add(text(driver, "rows"))
        served.post("/learn", {"rows": [{"left": "far"}], "labels": ["same"]})
        served.post("/predict", {"rows": [[0.1, 0.2]]})
        wait_for(
            lambda: text(driver, "rows") == "6,000" and text(driver, "errors") != "None since the service was started."
        )
        assert len(seen) > 3  # it changed while rows were posted
        assert text(driver, "state") == "live"
        assert "%" in text(driver, "recent")
        assert text(driver, "baselines").startswith("majority class ")
        assert ", last label " in text(driver, "baselines")
        assert driver.execute_script("return document.querySelectorAll('#chart polyline').length") == 2
        assert driver.execute_script("return document.querySelectorAll('#chart .drift').length") >= 1
        assert "accuracy" in text(driver, "changes")
        names = driver.execute_script("return [...document.querySelectorAll('#experts tr')].map(row => row.innerText)")
        assert len(names) == 11
        assert names[0].startswith("linear")
        assert "left" in text(driver, "errors")
        assert console(driver) == []
        outside = driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
        assert all(name.startswith((address, "data:")) for name in outside)
        assert driver.execute_script("return document.documentElement.scrollWidth <= innerWidth")
        picture(driver, "wide")
        for name, width, scheme in (("phone", 390, "light"), ("dark", 1280, "dark"), ("phone-dark", 390, "dark")):
            with chromium(width, scheme, 1000 if width > 500 else 1700) as other:
                other.get(address)
                wait_for(lambda other=other: text(other, "rows") == "6,000")
                assert other.execute_script("return document.documentElement.scrollWidth <= innerWidth")
                assert console(other) == []
                picture(other, name)
        served.stop()
        wait_for(lambda: text(driver, "state") == "not connected")


@pytest.mark.soak
def test_the_page_asks_for_the_token(tmp_path):
    token = tmp_path / "token"
    token.write_text("0123456789abcdef-secret\n")
    with Served(tmp_path, "--token-file", token) as served, chromium(1280) as driver:
        driver.get(f"http://{served.host}:{served.port}/")
        wait_for(lambda: text(driver, "state") == "token needed")
        picture(driver, "token")
        driver.find_element("id", "token").send_keys("0123456789abcdef-secret")
        driver.find_element("css selector", "#ask button").click()
        wait_for(lambda: text(driver, "state") == "live")
        assert text(driver, "rows") == "0"
