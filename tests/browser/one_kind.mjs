// Where no Provisioning asks for machines, nothing on the page is about them.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page) => {
  assert.equal(await page.isVisible("#kind"), false);
  const columns = await page.locator("#host-table thead th").allTextContents();
  assert.deepEqual(columns, ["Host", "Cluster", "Role", "Rack", "Hardware", "State", "More"]);
});
