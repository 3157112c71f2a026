// Nothing is cut off without a cue, and nothing scrolls inside the page but a wide table to the side.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

for (const [width, height] of [[1400, 900], [1400, 500], [800, 900], [400, 800]]) {
  await inBrowser(
    async (page) => {
      const assertWhole = async (/** @type {string} */ when) => {
        const found = await page.evaluate((isNarrow) => {
          const shown = [...document.querySelectorAll("main *")].filter((it) => it.checkVisibility());
          const clips = (/** @type {Element} */ it) => getComputedStyle(it).overflowX !== "visible" && it.scrollWidth > it.clientWidth + 1;
          const isMarked = (/** @type {Element} */ it) =>
            getComputedStyle(it).textOverflow === "ellipsis" || (!isNarrow && it.matches(".scroll"));
          const scrolls = (/** @type {Element} */ it) => /auto|scroll/.test(getComputedStyle(it).overflowY) && it.scrollHeight > it.clientHeight + 1;
          return {
            wide: document.documentElement.scrollWidth - innerWidth,
            cut: shown.filter((it) => clips(it) && !isMarked(it)).map((it) => it.outerHTML.slice(0, 80)),
            boxes: shown.filter(scrolls).map((it) => it.outerHTML.slice(0, 80)),
          };
        }, width === 400);
        assert.deepEqual(found, { wide: 0, cut: [], boxes: [] }, `${width} x ${height}, ${when}`);
      };
      // Shows what is folded, and the names of all hosts.
      for (const folded of ["main > details:not([open]):visible > summary", ".fold button:visible"]) {
        while ((await page.locator(folded).count()) > 0) await page.locator(folded).first().click();
      }
      if (await page.isChecked("#compact")) await page.click("#compact");
      await assertWhole("racks");

      const host = page.locator("#map .host:not(.off)").first();
      await host.click();
      const card = page.locator("#details");
      if (width < 960) {
        const { y, height: tall } = await card.boundingBox();
        assert.ok(y >= 0 && y + tall <= height, `${width} x ${height}: the card fits`);
      }
      await assertWhole("card");
      const isOpen = await card.locator("details").evaluate((details) => details.open);
      assert.equal(isOpen, width >= 960 && height >= 640, `${width} x ${height}: details are open where there is room`);
      if (!isOpen) {
        await card.locator("summary").click();
        await card.locator("dl").waitFor();
      }
      assert.ok((await card.locator("dt").count()) > 0);
      await assertWhole("details");

      await page.click("#table-tab");
      await assertWhole("table");
      if (width === 400) {
        const label = (/** @type {Element} */ cell) => getComputedStyle(cell, "::before").content;
        assert.match(await page.locator("#host-table tbody td:visible").first().evaluate(label), /^"(Cluster|Rack): "$/);
      }
    },
    { viewport: { width, height } },
  );
}
