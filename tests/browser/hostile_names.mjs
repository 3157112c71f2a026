// Whatever is in the input stays text, and the page's policy lets nothing in but its own script.
import assert from "node:assert/strict";
import { inBrowser } from "./browser.mjs";

await inBrowser(async (page, seen) => {
  const hostile = `</script><img src=x onerror="document.title='taken'">`;

  assert.match(await page.title(), /: clusters, racks and hosts$/);
  assert.equal(await page.locator("img").count(), 0);
  assert.equal((await page.locator(".rack-name").first().textContent()).split(" 1 host")[0], hostile);
  await page.click("#map .host");
  assert.ok((await page.textContent("#details")).includes(hostile));
  await page.fill("#text", "<IMG");
  await page.waitForFunction(() => document.querySelector("#count").textContent === "1 of 2 hosts");

  // Were a tag to get in after all, it could neither load nor run anything.
  await page.evaluate(async () => {
    const violations = [];
    document.addEventListener("securitypolicyviolation", (event) => violations.push(event.effectiveDirective));
    document.body.insertAdjacentHTML("beforeend", `<img src="https://example.com/x" onerror="document.title = 'taken'">`);
    const script = document.createElement("script");
    script.textContent = "document.title = 'taken'";
    document.body.append(script);
    await fetch("https://example.com/y").catch(() => {});
    globalThis.violations = violations;
  });
  // Fails at its deadline when less is refused.
  await page.waitForFunction(() => globalThis.violations.length === 4);
  const refused = await page.evaluate(() => globalThis.violations.sort());
  assert.deepEqual(refused, ["connect-src", "img-src", "script-src-attr", "script-src-elem"]);
  assert.match(await page.title(), /: clusters, racks and hosts$/);
  // Those were the test's own doing, and did not get out.
  seen.errors.length = 0;
  seen.asked.length = 1;
});
