// The verdict has the numbers of `sipgen status --format json`, whose file SIPGEN_STATUS names.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { inBrowser } from "./browser.mjs";

const status = JSON.parse(readFileSync(process.env.SIPGEN_STATUS, "utf8"));
const missing = ({ nodeSets }) => nodeSets.reduce((sum, { shortOf }) => sum + shortOf, 0);
const short = status.clusters.filter((cluster) => missing(cluster) > 0);
const total = short.reduce((sum, cluster) => sum + missing(cluster), 0);

for (const width of [1400, 400]) {
  await inBrowser(
    async (page) => {
      const served = page.locator("#verdict-served");
      const fact = await served.locator("strong").textContent();
      const tone = await served.getAttribute("class");
      if (short.length > 0) {
        const hosts = `${total} host${total === 1 ? "" : "s"}`;
        assert.equal(fact, `${short.length} of ${status.clusters.length} clusters short of ${hosts}`);
        assert.equal(tone, "bad");
        assert.match(await page.locator("#verdict-purchase").textContent(), new RegExp(`To buy: ${total} hosts?\\b`));
        // Rows with trouble come first, the others are folded.
        const rows = page.locator("#cluster-table tbody tr:visible th button");
        const { namespace, name } = short[0];
        assert.deepEqual(await rows.allTextContents(), [`${namespace}/${name}`]);
        await page.locator("#cluster-table .fold button").click();
        assert.equal(await rows.count(), status.clusters.length);
      } else {
        assert.match(fact, new RegExp(`^All ${status.clusters.length} clusters are served$`));
        assert.equal(tone, "good");
        assert.equal(await page.locator("#verdict-purchase").count(), 0);
      }

      const racks = await page.locator("#map .rack-name").allTextContents();
      const states = (rack, ...some) => rack.hosts.filter((at) => some.includes(status.hosts[at].state)).length;
      status.racks.forEach((rack, at) => {
        const use = `${states(rack, "assigned", "inUse")} used, ${states(rack, "free", "installed")} free`;
        assert.ok(racks[at].endsWith(`: ${use}`), `${racks[at]} has ${use}`);
      });
      // A chip has no letter, which would be that of a cluster.
      const chips = await page.locator("#states .sample").allTextContents();
      assert.ok(chips.every((glyph) => !/[A-Za-z]/.test(glyph)), chips.join());
    },
    { viewport: { width, height: 900 } },
  );
}
