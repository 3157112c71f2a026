// axe finds nothing to say against the page: names, roles, contrast; wide and narrow, light and dark, map and table.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inBrowser, require } from "./browser.mjs";

// A single letter counts, too: it is how hosts are told apart.
const OPTIONS = { checks: { "color-contrast": { options: { ignoreLength: true } } } };
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

for (const [colorScheme, width] of [["light", 1400], ["dark", 1400], ["light", 400]]) {
  await inBrowser(
    async (page) => {
      const check = async (what) => {
        const { violations, incomplete } = await page.evaluate((options) => globalThis.axe.run(options), OPTIONS);
        const told = (found) => found.map(({ id, nodes }) => `${id}: ${nodes.map((node) => node.html).join("\n    ")}`);
        assert.deepEqual(told(violations), [], `${what}, ${colorScheme}, ${width} wide`);
        // Where the details lie above the hosts, axe does not look through; the colors are those of the wide page.
        if (width < 1000) return;
        // What axe cannot judge is a symbol, or has the stripes of a failed host behind it.
        const unjudged = incomplete.filter(({ id }) => id === "color-contrast").flatMap(({ nodes }) => nodes);
        const odd = [];
        for (const { html, any, target } of unjudged) {
          const why = any.map(({ data }) => data.messageKey).join();
          const isStriped = await page.locator(target[0]).evaluate((it) => it.closest(".s-failed") !== null);
          if (why !== "nonBmp" && !(why === "bgGradient" && isStriped)) odd.push(`${why}: ${html}`);
        }
        assert.deepEqual(odd, [], `${what}: contrast that cannot be judged`);
      };
      await page.evaluate(axe);
      await check("as opened");
      for (const view of await page.locator("main > details:not([hidden]) > summary").all()) await view.click();
      await page.locator("#map .host").first().click();
      await check("with a host chosen");
      await page.keyboard.press("Escape");
      await page.locator("#compact").check();
      await page.selectOption("#cluster", { index: 1 });
      await check("compact, filtered");
      await page.locator("#table-tab").click();
      await check("as a table");
    },
    { colorScheme, viewport: { width, height: 900 } },
  );
}
