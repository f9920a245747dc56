"""Open a page in a browser and list everything that is wrong with it."""

import os
import shutil
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, BrowserType, ConsoleMessage, Page, Request, Response

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FLAGS = [
    "--no-sandbox",  # Chromium refuses to start for root otherwise
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE localhost",  # no other host can be reached
]
MISSING = "have one by apt-get install chromium, or .venv/bin/playwright install chromium"
VIEWS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1400, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light"},
}

SETTLED = """async () => {
    do await document.fonts.ready, await new Promise(requestAnimationFrame);
    while (document.fonts.status !== 'loaded');
}"""

FORMULAS = r"""() => {
    const found = [];
    for (const formula of document.querySelectorAll('.math'))
        if (!formula.querySelector('math')) found.push('raw: ' + formula.textContent);
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const text = walker.currentNode;
        if (text.parentElement.closest('pre, code, script, style, template, math, .math'))
            continue;
        if (/\\\(|\\\[|\$\$|\\begin\{|\\frac|\{[\w:]+\}`/.test(text.data))
            found.push('raw: ' + text.data.trim());
    }
    return found;
}"""

IMAGES = r"""() => [...document.querySelectorAll('img, svg[role=img]')]
    .filter(image => {
        if (image.closest('[aria-hidden=true]')) return false;
        const alt = (image.getAttribute('alt') ?? image.getAttribute('aria-label') ?? '').trim();
        return alt === '' || /^[0-9a-f]{16,}$|\.(svg|png|jpe?g|gif|webp)$/i.test(alt);
    })
    .map(image => image.outerHTML.slice(0, 200))"""

STRETCHED = """() => [...document.querySelectorAll('article img[width][height]')]
    .filter(image => {
        const { width, height } = image.getBoundingClientRect();
        const kept = image.getAttribute('height') / image.getAttribute('width') * width;
        return width && Math.abs(height - kept) > 2;
    })
    .map(image => image.outerHTML.slice(0, 200))"""

OVERFLOW = """() => {
    const width = document.documentElement.clientWidth;
    const found = [];
    const page = document.scrollingElement.scrollWidth;
    if (page > width) found.push(`the page is ${page} wide, the window ${width}`);
    const scrolls = element => {
        for (let e = element; e && !e.matches('article'); e = e.parentElement)
            if (['auto', 'scroll', 'hidden'].includes(getComputedStyle(e).overflowX)) return true;
        return false;
    };
    for (const element of document.querySelectorAll('article *'))
        if (element.getBoundingClientRect().right > width + 1 && !scrolls(element))
            found.push('sticks out: ' + element.outerHTML.slice(0, 120));
    return found;
}"""

# One element for every look: whatever has the same colours, size and weight has the same contrast,
# and a link of the same look in text of the same look is told from it as well. Looks that were
# judged before, on this page or on another one, are not marked; the new ones are given back.
LOOKS = """judged => {
    const grounds = new Map(), looks = new Set(judged), fresh = [];
    document.querySelectorAll('[data-look]').forEach(one => one.removeAttribute('data-look'));
    const ground = element => {
        if (!element) return getComputedStyle(document.documentElement).colorScheme;
        if (!grounds.has(element)) {
            const { backgroundColor, backgroundImage, opacity } = getComputedStyle(element);
            const plain = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none';
            const own = plain && opacity === '1' ? [] : [backgroundColor, backgroundImage, opacity];
            grounds.set(element, [ground(element.parentElement), ...own].join());
        }
        return grounds.get(element);
    };
    const look = element => {
        const { color, fontSize, fontWeight } = getComputedStyle(element);
        return [color, fontSize, fontWeight, ground(element)].join();
    };
    const mark = (element, ...parts) => {
        const look = parts.join();
        if (looks.has(look)) return;
        looks.add(look);
        fresh.push(look);
        element.setAttribute('data-look', '');
    };
    const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const element = walker.currentNode.parentElement;
        if (walker.currentNode.data.trim() && element.checkVisibility())
            mark(element, look(element));
    }
    for (const link of document.querySelectorAll('a[href]')) {
        if (!link.checkVisibility()) continue;
        let block = link.parentElement;
        while (getComputedStyle(block).display === 'inline') block = block.parentElement;
        const { borderBottom, display, textDecorationLine } = getComputedStyle(link);
        mark(link, look(link), borderBottom, display, textDecorationLine, look(block));
    }
    return fresh;
}"""
# A theme that follows the system has heard of the dark when it says so; colours change at once.
DARKENED = """async () => {
    const { dataset } = document.documentElement;
    while (dataset.mode === 'auto' && dataset.theme !== 'dark')
        await new Promise(requestAnimationFrame);
}"""
AT_ONCE = """() => {
    document.head.append(Object.assign(document.createElement('style'), {
        textContent: '*, ::before, ::after { transition: none !important }'}));
}"""
COLOURS = {"color-contrast": "[data-look]", "link-in-text-block": "a[data-look]"}

SCRIPTS = {
    "formula": FORMULAS,
    "image without text": IMAGES,
    "image in a void": STRETCHED,
    "overflow": OVERFLOW,
}


def chromium(kind: BrowserType) -> Path | None:
    """Return the browser that is installed, or else the one that Playwright has fetched, if any."""
    installed = next(filter(None, map(shutil.which, NAMES)), None)
    found = Path(installed or kind.executable_path)
    return found if found.exists() else None


@contextmanager
def launched(kind: BrowserType, **variables: str) -> Iterator[Browser]:
    """Start the browser, with these variables in its environment.

    Raises:
        FileNotFoundError: if there is none; the message says how to have one.
    """
    program = chromium(kind)
    if program is None:
        raise FileNotFoundError(MISSING)
    browser = kind.launch(executable_path=program, args=FLAGS, env=os.environ | variables)
    try:
        yield browser
    finally:
        browser.close()


class QuietHandler(SimpleHTTPRequestHandler):
    """Files of a folder."""

    def log_message(self, format: str, *args: object) -> None:
        """Keep the test report free of one line per request."""

    def handle(self) -> None:
        """Answer, as long as the page that asks is there."""
        with suppress(ConnectionError):
            super().handle()


@contextmanager
def serve(folder: Path, handler: type[QuietHandler] = QuietHandler) -> Iterator[str]:
    """Serve a folder on this machine and give its address."""
    with ThreadingHTTPServer(("localhost", 0), partial(handler, directory=folder)) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://localhost:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def violations(page: Page, kinds: Collection[str]) -> list[str]:
    """Ask axe what is wrong with an open page: the rules, and the parts that break them."""
    # The size of what is clicked belongs to WCAG 2.2 and must be asked for.
    rules = {name: {"enabled": "contrast" in kinds} for name in COLOURS}
    options: dict[str, Any] = {"rules": rules | {"target-size": {"enabled": True}}}
    if "rules" not in kinds:
        options = {"runOnly": list(COLOURS)}
    # Without `preload`, axe would ask for the style sheets of style sheets under wrong addresses.
    options |= {"preload": False, "resultTypes": ["violations"]}
    selectors = [{"id": name, "selector": selector} for name, selector in COLOURS.items()]
    if not page.evaluate("'axe' in window"):
        page.evaluate(Axe().axe_script)
    run = "([rules, options]) => { axe.configure({rules}); return axe.run(document, options); }"
    found = page.evaluate(run, [selectors, options])["violations"]
    return [f"{rule['id']}: {node['html'][:300]}" for rule in found for node in rule["nodes"]]


def inaccessible(page: Page) -> list[str]:
    """What axe finds on an open page as it stands now, contrast included."""
    page.evaluate(LOOKS, [])
    return violations(page, ("rules", "contrast"))


def problems(
    page: Page,
    base: str,
    path: str,
    kinds: Collection[str] = ("rules", "contrast"),
    judged: set[str] | None = None,
) -> list[str]:
    """Open one page of the site that is served at `base` in a tab; list its problems.

    The rules are about what a page has and how it is laid out, on a phone before the window is as
    wide as it was; contrast is about its colours, and contrast in the dark about those that it
    takes on when the system turns dark. Axe goes through the wide page once for rules and contrast:
    that takes it longer than the questions. Looks in `judged` have been read for contrast before;
    those that this page brings are added.
    """
    found: list[str] = []
    judged = set() if judged is None else judged

    def new_looks() -> bool:
        fresh = page.evaluate(LOOKS, list(judged))
        judged.update(fresh)
        return bool(fresh)

    def report(kind: str, text: str) -> None:
        found.append(f"{path}: {kind}: {text}")

    def on_console(message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            report("console", message.text)

    def on_request(request: Request) -> None:
        if not request.url.startswith((base, "data:", "blob:")):
            report("foreign request", request.url)

    def on_response(response: Response) -> None:
        if response.status >= 400:
            report("failed request", f"{response.status} {response.url}")

    listeners = {
        "console": on_console,
        "pageerror": lambda error: report("script error", str(error)),
        "request": on_request,
        "requestfailed": lambda request: report("failed request", request.url),
        "response": on_response,
    }

    def read(*kinds: str) -> None:
        if "rules" in kinds:
            for kind, script in SCRIPTS.items():
                for text in page.evaluate(script):
                    report(kind, text)
        for text in violations(page, kinds):
            report("accessibility", text)

    page.goto("about:blank")  # what the page before it is still asking for is not this page's fault
    for event, listener in listeners.items():
        page.on(event, listener)
    window = page.viewport_size
    assert window is not None
    if "phone rules" in kinds:
        page.set_viewport_size(VIEWS["phone"]["viewport"])
    page.goto(base + path)
    page.evaluate(SETTLED)
    if "phone rules" in kinds:
        read("rules")
        page.set_viewport_size(window)
    if "contrast" in kinds:
        new_looks()
    read(*kinds)
    if "dark contrast" in kinds:
        page.evaluate(AT_ONCE)
        page.emulate_media(color_scheme="dark")
        page.evaluate(DARKENED)
        for text in violations(page, ("contrast",)) if new_looks() else []:
            report("accessibility", f"in the dark: {text}")
        page.emulate_media(color_scheme="light")
    for event, listener in listeners.items():
        page.remove_listener(event, listener)
    return found
