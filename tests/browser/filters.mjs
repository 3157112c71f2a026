// Filters show the hosts that are asked for, in the map, in the table and in the count.
import assert from "node:assert/strict";
import { inBrowser, shownHosts } from "./browser.mjs";

await inBrowser(async (page) => {
  const table = async () => {
    await page.click("#table-tab");
    const names = await page.locator("#host-table tbody th").allTextContents();
    await page.click("#map-tab");
    return names;
  };
  const count = () => page.textContent("#count");
  assert.equal(await count(), "24 hosts");
  assert.equal((await shownHosts(page)).length, 24);

  await page.selectOption("#cluster", "tenant-a/edge");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "3 of 24 hosts");
  assert.deepEqual(await shownHosts(page), ["a3u14", "a4u16", "a11u8"]);
  assert.deepEqual(await table(), ["metal3/a3u14", "metal3/a4u16", "metal3/a11u8"]);
  // A rack without any of them is gone, and comes back.
  assert.equal(await page.locator(".rack:visible").count(), 3);

  await page.selectOption("#role", "Worker");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "2 of 24 hosts");
  assert.deepEqual(await shownHosts(page), ["a3u14", "a4u16"]);

  await page.click("#filters [type=reset]");
  assert.equal(await count(), "24 hosts");
  assert.equal(await page.locator(".rack:visible").count(), 4);

  await page.click("#states [data-state=failed]");
  assert.deepEqual(await shownHosts(page), ["a4u10"]);
  assert.equal(await page.getAttribute("#states [data-state=failed]", "aria-pressed"), "true");
  await page.click("#states [data-state=failed]");
  assert.equal(await count(), "24 hosts");

  await page.selectOption("#rack", "a12");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "6 of 24 hosts");
  assert.deepEqual(await shownHosts(page), ["a12u6", "a12u8", "a12u10", "a12u12", "a12u14", "a12u16"]);
  await page.click("#filters [type=reset]");

  // Every word of a search is somewhere in what is known of the host: here in its consumer.
  await page.fill("#text", "a3 MGMT-controlplane");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "1 of 24 hosts");
  assert.deepEqual(await shownHosts(page), ["a3u8"]);

  await page.fill("#text", "nothing is called like this");
  await page.waitForSelector("#nothing:visible");
  assert.deepEqual(await shownHosts(page), []);
  await page.click("#clear");
  assert.equal(await count(), "24 hosts");

  // A cluster's name in the table of clusters is a filter, too.
  await page.click("#cluster-table button:text('tenant-b/lab')");
  assert.equal(await count(), "4 of 24 hosts");
});
