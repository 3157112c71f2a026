// A site of ten thousand hosts is there whole: drawn, filtered, sorted and walked through.
import assert from "node:assert/strict";
import { inBrowser, shownHosts } from "./browser.mjs";

await inBrowser(async (page) => {
  assert.equal(await page.textContent("#count"), "10000 hosts");
  assert.equal(await page.locator("#map .host").count(), 10000);
  assert.ok(await page.isChecked("#compact"), "so many are squares at first");

  await page.fill("#text", "host-9999");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "1 of 10000 hosts");
  assert.deepEqual(await shownHosts(page), ["host-9999"]);
  await page.click("#filters [type=reset]");
  assert.equal(await page.textContent("#count"), "10000 hosts");

  await page.click("#table-tab");
  assert.equal(await page.locator("#host-table tbody tr").count(), 200);
  assert.equal(await page.textContent("#page"), "1 to 200 of 10000");
  await page.click("#next");
  assert.equal(await page.textContent("#page"), "201 to 400 of 10000");
  await page.click("#host-table thead button:text-is('Host')");
  await page.click("#host-table thead button:text-is('Host')");
  assert.equal(await page.locator("#host-table tbody th").first().textContent(), "metal/host-10000");

  await page.click("#map-tab");
  await page.focus("#map .host[tabindex='0']");
  await page.keyboard.press("Control+End");
  assert.equal(await page.evaluate(() => document.activeElement.textContent), "host-10000");
});
