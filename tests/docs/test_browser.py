"""Each page of the site in Chromium, as wide as a desk's screen and as a phone's, light and dark.

``GPUPRIMS_SHOTS`` names a folder for a picture of each page.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from docs.pages import SITE, paths

NAMES = [name for name in ("chromium", "chromium-browser", "google-chrome") if shutil.which(name)]
SHOTS = os.environ.get("GPUPRIMS_SHOTS")
# What a reader would see: wider than the window, cut off, or a picture that did not load.
FAULTS = """() => {
    const width = document.documentElement.clientWidth, faults = [];
    if (document.documentElement.scrollWidth > width + 1)
        faults.push(`the page is ${document.documentElement.scrollWidth} px wide`);
    for (const image of document.images) {
        image.loading = "eager";
        if (image.complete && !image.naturalWidth) faults.push(`no picture: ${image.src}`);
    }
    const scrolls = element => element && element !== document.body &&
        (/auto|scroll/.test(getComputedStyle(element).overflowX) || scrolls(element.parentElement));
    for (const element of document.querySelectorAll("article :is(p, h1, h2, h3, img, svg, table, pre, li)")) {
        const box = element.getBoundingClientRect();
        if (box.width && (box.right > width + 1 || box.left < -1) && !scrolls(element))
            faults.push(`${element.tagName} from ${Math.round(box.left)} to ${Math.round(box.right)} px`);
    }
    for (const element of document.querySelectorAll(".prev-next-area *"))
        if (getComputedStyle(element).overflowX === "hidden" && element.scrollWidth > element.clientWidth + 1)
            faults.push(`cut off: ${element.textContent.trim()}`);
    for (const list of document.querySelectorAll(".bd-sidebar-secondary"))
        if (list.scrollWidth > list.clientWidth + 1) faults.push("the list at the right is cut off");
    return faults;
}"""

pytestmark = [
    pytest.mark.whole,
    pytest.mark.skipif(not NAMES, reason="no Chromium on PATH: apt-get install chromium, or the system's package"),
    pytest.mark.skipif(not (SITE / "index.html").exists(), reason="docs/_build is not built: make docs"),
]


class Quiet(SimpleHTTPRequestHandler):
    """A server that prints nothing."""

    def log_message(self, *words: object) -> None:
        """Print nothing."""


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    """Return the address of the built site."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(SITE)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """Return a Chromium without a window."""
    driver = pytest.importorskip("playwright.sync_api", reason="playwright is not installed: make docs-test")
    with driver.sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=shutil.which(NAMES[0]), args=["--no-sandbox"])
        yield chromium
        chromium.close()


def heard(page: Any, site: str) -> list[str]:
    """Return a list that grows by faults while pages load: messages, and requests that fail or go elsewhere."""
    said: list[str] = []

    def on_message(message: Any) -> None:
        # Browsers ask for an icon by themselves, of the first page and when they have time.
        if message.type in ("error", "warning") and message.location["url"] != f"{site}/favicon.ico":
            said.append(message.text)

    def on_request(request: Any) -> None:
        if not request.url.startswith((site, "data:")):
            said.append(f"away: {request.url}")

    page.on("console", on_message)
    page.on("request", on_request)
    page.on("pageerror", lambda error: said.append(str(error)))
    page.on("requestfailed", lambda request: said.append(f"failed: {request.url}"))
    return said


def test_faults_are_found(browser: Any, site: str) -> None:
    page = browser.new_page(viewport={"width": 420, "height": 900})
    said = heard(page, site)
    page.goto(f"{site}/index.html")
    page.set_content(
        f'<base href="{site}/"><article><p style="width: 700px">wide</p><img src="absent.png">'
        '<div style="overflow-x: auto"><table style="width: 900px"><tr><td>scrolls</td></tr></table></div></article>'
        '<div class="prev-next-area"><p style="width: 50px; overflow: hidden">gaussian_gradient_magnitude</p></div>'
        '<div class="bd-sidebar-secondary" style="width: 50px; overflow: auto">gaussian_gradient_magnitude</div>'
        '<script src="https://example.invalid/away.js"></script><script>console.error("a fault")</script>'
    )
    found = page.evaluate(FAULTS)
    page.close()
    assert [fault.partition(" ")[0] for fault in found] == ["the", "no", "P", "cut", "the"], found
    assert "a fault" in said
    assert any(one.startswith("away: https://example.invalid") for one in said)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 420])
def test_every_page_shows_without_a_fault(browser: Any, site: str, width: int, scheme: str) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)
    page, faults = context.new_page(), {}
    said = heard(page, site)
    for path in paths():
        name = path.relative_to(SITE).with_suffix("").as_posix()
        said.clear()
        page.goto(f"{site}/{name}.html", wait_until="load")
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        if found := [*page.evaluate(FAULTS), *said]:
            faults[name] = found
        if SHOTS:
            folder = Path(SHOTS) / f"{width}-{scheme}"
            folder.mkdir(parents=True, exist_ok=True)
            page.screenshot(path=folder / f"{name.replace('/', '-')}.png", full_page=True)
    context.close()
    assert faults == {}
