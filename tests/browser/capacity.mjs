// The views of capacity and resilience have the numbers of sipgen capacity, and lead to the racks, by the keyboard alone.
import assert from "node:assert/strict";
import { inBrowser, shownHosts } from "./browser.mjs";

await inBrowser(async (page) => {
  assert.match(await page.locator("#title").textContent(), /^Site: \S+ at [0-9a-f]{7,}$/);

  await page.locator("#capacity > summary").focus();
  await page.keyboard.press("Enter");
  const fits = page.locator("#fits");
  assert.deepEqual(await fits.locator("h3").allTextContents(), ["More clusters like", "More hosts for"]);
  const growth = fits.locator("tr", { hasText: "tenant-a/edge Worker" });
  assert.deepEqual(await growth.locator("td").allTextContents(), ["1", "its selector matches only 3 of all hosts"]);

  const losses = page.locator("#losses");
  assert.equal(
    await losses.locator("h2").textContent(),
    "Resilience: 0 of 4 losses of one topology.example.com/rack change nothing",
  );
  // It is open, because no loss is absorbed.
  assert.equal(await losses.evaluate((details) => details.open), true);
  const lost = losses.locator("tr", { hasText: "a12" });
  const [hosts, assigned, quorums] = await lost.locator("td").allTextContents();
  assert.deepEqual([hosts, assigned, quorums], ["6", "4", "tenant-b/lab"]);
  await lost.locator("button").focus();
  await page.keyboard.press("Enter");
  assert.equal((await shownHosts(page)).length, 6);

  // Clusters have letters, too: capital for control planes, small for workers.
  const glyphs = await page.locator("#map .host:not(.off)").evaluateAll((all) => all.map((host) => host.dataset.glyph));
  assert.deepEqual(glyphs, ["○", "C", "c", "c", "a", "○"]);
});
