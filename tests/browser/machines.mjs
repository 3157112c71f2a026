// Machines of Provisionings have names of their own: in the map, the table, the details and the filters.
import assert from "node:assert/strict";
import { inBrowser, shownHosts } from "./browser.mjs";

await inBrowser(async (page) => {
  const counted = (text) => page.waitForFunction((text) => document.querySelector("#count").textContent === text, text);

  // Many machines of a role are one meter, and the kind stands below the cluster's name.
  const rows = await page.locator("#cluster-table tbody tr").allTextContents();
  const press = rows.find((row) => row.startsWith("lab/press"));
  assert.match(press, /Provisioning provisioning-press/);
  assert.match(press, /1 of 1.*3 of 3/);
  assert.ok(!rows.find((row) => row.startsWith("lab/tenant")).includes("Provisioning"));

  await page.fill("#text", "body-2");
  await counted("1 of 8 hosts");
  assert.deepEqual(await shownHosts(page), ["depot-06"]);
  await page.click("#map .host:not(.off)");
  const details = await page.textContent("#details");
  assert.match(details, /body-2 \(worker\) of lab\/press/);
  assert.match(details, /Request kindProvisioning.*Machinebody-2.*Roleworker/);
  await page.click("#filters [type=reset]");

  await page.selectOption("#kind", "SIPCluster");
  await counted("1 of 8 hosts");
  await page.selectOption("#kind", "Provisioning");
  await counted("7 of 8 hosts");
  await page.click("#filters [type=reset]");

  await page.click("#table-tab");
  await page.click("#host-table thead button:text('Machine')");
  const machines = await page.locator("#host-table tbody td:nth-child(3)").allTextContents();
  assert.deepEqual(machines, ["body-1", "body-2", "body-3", "head-1", "master-1", "master-2", "worker-1", ""]);

  await page.click("#spare summary");
  const spare = await page.locator("#spare-table tbody tr").allTextContents();
  assert.ok(spare.some((row) => row.startsWith("64 CPUs, SR-IOV") && row.includes("lab/press body-1")), spare.join("\n"));
  assert.ok(spare.some((row) => row.startsWith("every host") && row.includes("lab/tenant Worker")), spare.join("\n"));
});
