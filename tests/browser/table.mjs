// The table is sorted by each of its columns, as people count, and what a host lacks stands last.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page) => {
  await page.click("#table-tab");
  const column = (number) => page.locator(`#host-table tbody tr > :nth-child(${number})`).allTextContents();
  const sortBy = (title) => page.click(`#host-table thead button:text-is("${title}")`);
  const sorting = () => page.locator("#host-table th[aria-sort]").getAttribute("aria-sort");

  // Hosts with trouble come first, the others are folded.
  assert.deepEqual(await column(1), ["metal3/a4u10", "metal3/a11u12", "Show 22 hosts without trouble"]);
  assert.equal(await page.locator("#host-table th[aria-sort]").count(), 0);
  await page.click("#host-table .fold button");
  const all = await column(1);
  assert.deepEqual([all.length, ...all.slice(0, 3)], [24, "metal3/a4u10", "metal3/a11u12", "metal3/a3u6"]);

  await sortBy("Host");
  const hosts = await column(1);
  assert.deepEqual([hosts[0], hosts.at(-1)], ["metal3/a3u6", "metal3/a12u16"]);
  assert.equal(await sorting(), "ascending");
  await sortBy("Host");
  assert.deepEqual(await column(1), hosts.toReversed());
  assert.equal(await sorting(), "descending");

  await sortBy("Rack");
  assert.deepEqual([...new Set(await column(4))], ["a3", "a4", "a11", "a12"], "a4 before a11");

  await sortBy("Cluster");
  const ascending = await column(2);
  assert.deepEqual([...new Set(ascending)], ["tenant-a/core", "tenant-a/edge", "tenant-b/lab", ""]);
  await sortBy("Cluster");
  const descending = await column(2);
  assert.deepEqual([...new Set(descending)], ["tenant-b/lab", "tenant-a/edge", "tenant-a/core", ""]);

  await page.click("#host-table tbody button:text-is('metal3/a4u10')");
  assert.match(await page.textContent("#details"), /failed/);
  assert.equal(await page.locator("#host-table tr.chosen").textContent(), await page.locator("#host-table tr", { hasText: "a4u10" }).textContent());
});
