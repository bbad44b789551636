"""A person at the asset graph: add a partition, materialize a round, see it succeed."""

import os
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
CHROMIUM = shutil.which("chromium")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="needs Debian's chromium"),
]


@pytest.fixture
def dagster_dev(tmp_path):
    """`dagster dev` on a free port, in a folder of its own; yields its address."""
    shutil.copy(ROOT / "dagster.yaml", tmp_path)
    experiment = tmp_path / "experiment.yaml"
    small = {
        "model": "scripted:clerk",
        "measure": {"tasks": 11, "rollouts": 2},
        "select": {"policy": "paired_k_se", "k": 1},
    }
    experiment.write_text(yaml.safe_dump(small))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {k: v for k, v in os.environ.items() if k != "DAGSTER_HOME"}
    environment |= {"INSTAR_LAKE": str(tmp_path / "lake"), "INSTAR_EXPERIMENT": str(experiment)}
    log = (tmp_path / "dev.log").open("w")
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "dagster", "dev"),
            *("-m", "assets.definitions", "-h", "127.0.0.1", "-p", str(port)),
        ],
        cwd=tmp_path,
        env=environment,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        _wait(f"http://127.0.0.1:{port}/server_info", tmp_path / "dev.log")
        yield f"http://127.0.0.1:{port}"
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        process.wait(30)
        log.close()


def _wait(address: str, log: Path) -> None:
    for _ in range(120):
        try:
            with urllib.request.urlopen(address, timeout=2):
                return
        except (urllib.error.URLError, TimeoutError):
            time.sleep(1)
    pytest.fail(f"dagster dev did not start:\n{log.read_text()[-2000:]}")


def test_a_round_is_materialized_from_the_browser(dagster_dev, tmp_path):
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        page = browser.new_page(viewport={"width": 2000, "height": 1240})
        page.set_default_timeout(60_000)
        errors = []
        page.on("console", lambda m: errors.append(m.text) if m.type == "error" else None)
        page.goto(f"{dagster_dev}/locations/assets.definitions/jobs/evolution_round")
        page.get_by_role("button", name="Materialize all").click()
        page.get_by_text("Add a partition").first.click()
        page.get_by_placeholder("name").fill("ui~r001")
        page.get_by_role("button", name="Save").click()
        page.get_by_placeholder("name").wait_for(state="detached")
        page.get_by_role("button", name="All", exact=True).click()
        page.get_by_role("button", name="Launch 1 run").click()
        page.get_by_text("Launch runs to materialize").wait_for(state="detached")
        page.goto(f"{dagster_dev}/runs")
        page.get_by_text("Success", exact=True).first.wait_for(timeout=200_000)
        page.goto(f"{dagster_dev}/asset-groups")
        page.get_by_text("failures").first.wait_for()
        page.get_by_role("button", name="Hide navigation").click()
        page.keyboard.press("Alt+e")  # open every group
        page.get_by_text("failure_groups").first.wait_for()
        page.wait_for_timeout(6_000)  # the graph moves into place and colours
        page.screenshot(path=os.environ.get("INSTAR_SCREENSHOT", str(tmp_path / "graph.png")))
        browser.close()
    assert errors == []
    assert (tmp_path / "lake" / "instar.duckdb").exists()
