// @ts-check
// The steps of a drain: a slider that shows the hosts after each of them on the map.
import { redraw } from "./map.js";
import { counted, derive, drain, element, hosts, keyOf, make, roleWords } from "./site.js";

/** @typedef {import("./site.js").HostData} HostData */

const byKey = new Map(hosts.map((host) => [host.key, host]));

/** Fills the view, if there is a drain. */
export function startDrain() {
  if (!drain) return;
  const { verdict, steps } = drain;
  element("drain").hidden = false;
  element("drain-verdict").textContent = verdict;
  const slider = /** @type {HTMLInputElement} */ (element("drain-step"));
  slider.max = String(steps.length);
  element("drain-field").hidden = steps.length === 0;
  slider.addEventListener("input", () => showStep(Number(slider.value)));
  showStep(0);
}

/** @param {number} step */
function showStep(step) {
  const steps = drain?.steps ?? [];
  const now = step === 0 ? "now" : `after step ${step} of ${steps.length}`;
  element("drain-now").textContent = steps.length > 0 ? now : "";
  const after = new Map();
  for (const moves of steps) {
    for (const { from, to } of moves) {
      for (const key of [from, to]) after.set(keyOf(key), byKey.get(keyOf(key))?.data);
    }
  }
  steps.slice(0, step).forEach((moves, number) => {
    const isLast = number === step - 1;
    for (const { cluster, role, from, to } of moves) {
      const left = byKey.get(keyOf(from))?.data;
      const isMarked = left?.facts.some((fact) => fact.startsWith("is in maintenance"));
      after.set(keyOf(from), { ...left, assigned: undefined, state: isMarked ? "inMaintenance" : "free" });
      const taken = byKey.get(keyOf(to))?.data;
      const how = isLast ? "added" : "stays";
      after.set(keyOf(to), { ...taken, state: "assigned", assigned: { cluster, role, how }, changes: isLast });
    }
  });
  for (const [key, data] of after) {
    const host = byKey.get(key);
    if (host && data) redraw(derive(/** @type {HostData} */ (data), host.index));
  }
  listMoves(step > 0 ? steps[step - 1] : []);
}

/** @param {import("./site.js").Move[]} moves */
function listMoves(moves) {
  const list = element("drain-moves");
  list.replaceChildren();
  for (const { cluster, role, from, to, details } of moves) {
    const item = make("li", `${keyOf(cluster)} ${roleWords(role)}: ${keyOf(from)} → ${keyOf(to)}`);
    for (const detail of details) item.append(make("div", detail, "place"));
    list.append(item);
  }
  list.setAttribute("aria-label", counted(moves.length, "move"));
}
