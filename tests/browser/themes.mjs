// Light and dark follow the system, until somebody chooses.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

// How light a color is that the browser computed, from 0 to 1.
const lightness = (page, selector, property) =>
  page.evaluate(
    ([selector, property]) => {
      const canvas = document.createElement("canvas").getContext("2d");
      canvas.fillStyle = getComputedStyle(document.querySelector(selector))[property];
      canvas.fillRect(0, 0, 1, 1);
      const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
      return (red + green + blue) / 765;
    },
    [selector, property],
  );

for (const [colorScheme, other] of [["light", "dark"], ["dark", "light"]]) {
  await inBrowser(
    async (page) => {
      const isLight = async () => {
        const paper = await lightness(page, ":root", "backgroundColor");
        const worker = await lightness(page, "#map .r-Worker", "backgroundColor");
        const ink = await lightness(page, "#map .r-Worker", "color");
        assert.equal(paper > 0.5, worker > 0.5, "hosts go with the paper");
        assert.ok(Math.abs(worker - ink) > 0.4, "and their names can be read");
        return paper > 0.5;
      };
      assert.equal(await isLight(), colorScheme === "light");
      await page.selectOption("#theme", other);
      assert.equal(await isLight(), other === "light");
      await page.selectOption("#theme", "");
      assert.equal(await isLight(), colorScheme === "light");
    },
    { colorScheme },
  );
}
