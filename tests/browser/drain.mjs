// A slider shows the hosts after each step of a drain, by the keyboard alone; axe finds nothing to say against it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inBrowser, require } from "./browser.mjs";

const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

for (const colorScheme of ["light", "dark"]) {
  await inBrowser(
    async (page) => {
      const looks = () =>
        page.evaluate(() =>
          Object.fromEntries(
            [...document.querySelectorAll("#map .host")].map((host) => [host.textContent, host.dataset.glyph + (host.dataset.mark ?? "")]),
          ),
        );
      const before = await looks();
      assert.deepEqual([before.a3u14, before.a11u10], ["b", "○"]);
      assert.equal(await page.locator("#drain-verdict").textContent(), "2 moves in 1 step; fewer are impossible");
      assert.equal(await page.locator("#drain-now").textContent(), "now");

      await page.locator("#drain-step").focus();
      await page.keyboard.press("ArrowRight");

      const after = await looks();
      assert.deepEqual([after.a3u14, after.a11u10], ["@", "b+"]);
      assert.equal(await page.locator("#drain-now").textContent(), "after step 1 of 1");
      assert.deepEqual(await page.locator("#drain-moves li").allTextContents(), [
        "tenant-a/edge worker: metal3/a3u14 → metal3/a11u10",
        "tenant-b/lab worker: metal3/a12u10 → metal3/a12u16",
      ]);
      const moved = page.locator("#map .host", { hasText: "a11u10" });
      assert.equal(await moved.getAttribute("aria-label"), "a11u10, worker of tenant-a/edge, added");
      await page.evaluate(axe);
      const { violations } = await page.evaluate(() => globalThis.axe.run());
      assert.deepEqual(violations.map(({ id }) => id), []);

      await page.keyboard.press("ArrowLeft");
      assert.deepEqual(await looks(), before);
    },
    { colorScheme },
  );
}
