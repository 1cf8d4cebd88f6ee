"""Chromium without a window, for tests of pages."""

import shutil
import tempfile
from contextlib import contextmanager

import pytest

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
    "--hide-scrollbars",
)


@contextmanager
def chromium(width, scheme="light", height=1000):
    """A driver of Chromium; the test fails where Chromium or its driver is not installed."""
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    browser, driver = shutil.which("chromium") or shutil.which("google-chrome"), shutil.which("chromedriver")
    if browser is None or driver is None:
        pytest.fail("Chromium and chromedriver are not installed: apt-get install chromium chromium-driver")
    options = webdriver.ChromeOptions()
    options.binary_location = browser
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for flag in (*FLAGS, f"--user-data-dir={profile}"):
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        started = webdriver.Chrome(options=options, service=Service(driver))
        try:
            size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 500}
            started.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            preference = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
            started.execute_cdp_cmd("Emulation.setEmulatedMedia", preference)
            yield started
        finally:
            started.quit()
