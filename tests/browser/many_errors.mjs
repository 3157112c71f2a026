// 229 clusters of 230 get no host: one error each, of which the page lists 200.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page) => {
  assert.equal(await page.locator("#verdict-errors strong").textContent(), "229 errors in the inputs");
  assert.equal(await page.locator("#findings-title").textContent(), "229 errors");
  assert.equal(await page.locator("#findings-list li").last().textContent(), "… and 29 more");
});
