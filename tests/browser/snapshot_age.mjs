// The verdict says how old the snapshot is, which was last changed on 2026-03-01.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

for (const [now, fact, tone] of [
  ["2026-02-01T00:00:00Z", "Snapshot 0 days old", "good"],
  ["2026-03-01T23:59:00Z", "Snapshot 0 days old", "good"],
  ["2026-03-02T01:00:00Z", "Snapshot 1 day old", "good"],
  ["2026-03-08T23:00:00Z", "Snapshot 7 days old", "good"],
  ["2026-03-09T01:00:00Z", "Snapshot 8 days old", "warn"],
  ["2027-03-01T01:00:00Z", "Snapshot 365 days old", "warn"],
]) {
  await inBrowser(
    async (page) => {
      const age = page.locator("#verdict-snapshot");
      assert.deepEqual([await age.locator("strong").textContent(), await age.getAttribute("class")], [fact, tone]);
      assert.equal(await age.locator("div").textContent(), "last changed on 2026-03-01");
    },
    { now },
  );
}
