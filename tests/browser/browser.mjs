// Opens a page in a real Chromium, and fails when the page asks the network for anything or says that it has an error.
import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [installed, page, screenshots] = process.argv.slice(2);
/** Takes a package from where tests/tools/install has put it. */
export const require = createRequire(join(installed, "/"));
const { chromium } = require("playwright-core");

// Slow machines are slow; nothing is measured here. But a test that hangs has to end.
const PATIENCE = 120_000;
setTimeout(() => {
  console.error("the test takes too long");
  process.exit(1);
}, 5 * PATIENCE).unref();
// Chromium asks its maker for this and that when it starts, and needs no sandbox for a page of our own.
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-quic",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
];

/**
 * Has a check look at the page that this program was started for, at the time `now` if there is one. `context` is what
 * the browser is told of its user, such as a color scheme.
 */
export async function inBrowser(check, { now, ...context } = {}) {
  const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ARGUMENTS, timeout: PATIENCE });
  try {
    const opened = await browser.newPage({ viewport: { width: 1400, height: 900 }, ...context });
    opened.setDefaultTimeout(PATIENCE);
    if (now) await opened.clock.setFixedTime(now);
    const url = pathToFileURL(page).href;
    const [asked, errors] = [[], []];
    opened.on("request", (request) => asked.push(request.url()));
    opened.on("console", (message) => errors.push(message.text()));
    opened.on("pageerror", (error) => errors.push(String(error)));
    await opened.goto(url);
    await check(opened, { asked, errors });
    if (screenshots) await opened.screenshot({ path: screenshots });
    assert.deepEqual([asked, errors], [[url], []], "the page asked for something, or had an error");
  } finally {
    await browser.close();
  }
}

/** The names of the hosts that the map shows, rack by rack. */
export function shownHosts(page) {
  return page.locator("#map .host:not(.off)").allTextContents();
}
