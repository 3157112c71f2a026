// Everything can be reached and done by keys, and the focus is seen.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page) => {
  const focused = () => page.evaluate(() => document.activeElement.textContent);
  const press = async (...keys) => {
    for (const key of keys) await page.keyboard.press(key);
    return focused();
  };
  assert.equal(await press("Tab"), "Skip to the hosts");
  await press("Enter");

  // The hosts are one stop of the Tab key, however many they are.
  await page.focus("#compact");
  assert.equal(await press("Tab"), "a3u6");
  assert.equal(await press("ArrowDown"), "a3u8");
  assert.equal(await press("ArrowRight"), "a4u8");
  assert.equal(await press("ArrowRight", "ArrowRight", "ArrowRight"), "a12u8", "the last rack is the last");
  assert.equal(await press("Home"), "a12u6");
  assert.equal(await press("ArrowUp"), "a11u16", "above the first host of a rack is the last one of the rack before");
  assert.equal(await press("PageUp"), "a4u6");
  assert.equal(await press("Control+End"), "a12u16");
  assert.equal(await press("ArrowDown"), "a12u16");
  assert.equal(await press("Control+Home"), "a3u6");

  // The details follow, and say whose the host is.
  assert.match(await page.textContent("#details"), /control plane of tenant-a\/core/);
  assert.equal(await page.locator("#map [aria-selected=true]").count(), 1);
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  assert.equal(outline, "solid", "the focus is seen");
  await press("Escape");
  assert.match(await page.textContent("#details"), /Select a host/);

  // Hosts that are filtered out are passed over.
  await page.selectOption("#cluster", "tenant-a/edge");
  await page.waitForSelector("#map .host.off", { state: "attached" });
  await page.focus("#map .host[tabindex='0']");
  assert.equal(await focused(), "a3u14");
  assert.equal(await press("ArrowDown", "ArrowDown"), "a11u8");
  await page.click("#filters [type=reset]");

  // As squares, hosts are in rows of five.
  await page.check("#compact");
  await page.focus("#map .host[tabindex='0']");
  await press("Control+Home");
  assert.equal(await press("ArrowRight"), "a3u8");
  assert.equal(await press("ArrowDown"), "a4u6");

  // The views are tabs; the table is sorted and its hosts are chosen by keys.
  await page.focus("#map-tab");
  assert.equal(await press("ArrowRight"), "Table");
  await page.focus("#host-table thead button");
  await press("Enter");
  await press("Enter");
  await page.focus("#host-table tbody button");
  await press("Enter");
  assert.match(await page.textContent("#details h3"), /a12u16/);
});
