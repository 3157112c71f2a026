// @ts-check
// Filters of the host list, with listeners for changes.
import { STATES, clusters, counted, element, hosts, keyOf, make, picture, rackWords } from "./site.js";

/** @typedef {import("./site.js").Host} Host */

/** The filters that have a field in the form; the value "" lets everything pass. */
const FIELDS = /** @type {const} */ (["text", "cluster", "kind", "role", "rack"]);
/** What the fields say, with the state and with whether only changes are shown. */
const filter = { text: "", cluster: "", kind: "", role: "", rack: "", state: "", changes: "" };
/** A rack's name may be anything, so the hosts without one have a value that is no name's: it has a line break. */
const NO_RACK = "\n";

/** The filter for a rack. @param {string | null} name */
export function rackFilter(name) {
  return name ?? NO_RACK;
}

/** @type {((shown: boolean[]) => void)[]} */
const listeners = [];

/** Has a function called with who is shown, whenever that changes. @param {(shown: boolean[]) => void} listener */
export function onFilter(listener) {
  listeners.push(listener);
}

/** Sets some of the filters. @param {Partial<typeof filter>} values */
export function setFilter(values) {
  Object.assign(filter, values);
  for (const name of FIELDS) field(name).value = filter[name];
  apply();
}

/** @param {string} name */
function field(name) {
  return /** @type {HTMLInputElement | HTMLSelectElement} */ (element(name));
}

/** @param {Host} host */
function givenBackBy({ data }) {
  return data.givenBackBy ? keyOf(data.givenBackBy) : "";
}

/** @param {string[]} words @returns {(host: Host) => boolean} */
function passes(words) {
  const { cluster, kind, role, rack, state, changes } = filter;
  return (host) =>
    (!cluster || host.cluster === cluster || givenBackBy(host) === cluster) &&
    (!kind || host.kind === kind) &&
    (!role || host.role === role) &&
    (!rack || (rack === NO_RACK ? !host.rack : host.rack === rack)) &&
    (!state || host.state === state || (state === "failed" && Boolean(host.data.failed))) &&
    (!changes || Boolean(host.data.changes)) &&
    words.every((word) => host.searched.includes(word));
}

function apply() {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  const shown = hosts.map(passes(words));
  const count = shown.filter(Boolean).length;
  element("count").textContent =
    count === hosts.length ? counted(count, "host") : `${count} of ${counted(hosts.length, "host")}`;
  element("nothing").hidden = count > 0;
  for (const button of element("states").querySelectorAll("button")) {
    const { state, changes } = button.dataset;
    button.setAttribute("aria-pressed", String(changes ? filter.changes !== "" : filter.state === state));
  }
  for (const listener of listeners) listener(shown);
}

/** @param {string} id @param {[string, string][]} options each a value and its words */
function fill(id, options) {
  for (const [value, words] of [["", "any"], ...options]) {
    const option = /** @type {HTMLOptionElement} */ (make("option", words));
    option.value = value;
    element(id).append(option);
  }
}

/** A button a state, which counts its hosts, shows how they are drawn, and filters. */
function stateButtons() {
  for (const { id, words, glyph } of STATES) {
    const has = (/** @type {Host} */ host) => host.state === id || (id === "failed" && Boolean(host.data.failed));
    const count = hosts.filter(has).length;
    if (count > 0) element("states").append(stateButton(id, glyph, count, words));
  }
  const changes = hosts.filter((host) => host.data.changes).length;
  if (changes > 0) {
    const button = stateButton("", "+", changes, "changes");
    button.dataset.changes = "yes";
    element("states").append(button);
  }
}

/** @param {string} state @param {string} glyph @param {number} count @param {string} words */
function stateButton(state, glyph, count, words) {
  const button = make("button");
  button.setAttribute("type", "button");
  button.dataset.state = state;
  // No letter, which would be that of a cluster.
  const sample = make("span", glyph || "■", `host sample ${state ? `s-${state}` : "s-free"}`);
  sample.setAttribute("aria-hidden", "true");
  button.append(sample, make("strong", String(count)), ` ${words}`);
  return button;
}

/** Makes the form do what it says. */
export function startFilters() {
  fill("cluster", clusters.map((cluster) => [keyOf(cluster), keyOf(cluster)]));
  fill("rack", picture.racks.map((/** @type {{name: string | null}} */ rack) => [rack.name ?? NO_RACK, rackWords(rack.name)]));
  const kinds = [...new Set(clusters.map((cluster) => cluster.kind))].sort();
  fill("kind", kinds.map((kind) => [kind, kind]));
  // A filter with a single value is useless.
  element("kinds").hidden = kinds.length < 2;
  stateButtons();
  const form = /** @type {HTMLFormElement} */ (element("filters"));
  let asked = 0;
  form.addEventListener("input", () => {
    for (const name of FIELDS) filter[name] = field(name).value;
    // Updates are limited to one per frame, however fast the user types.
    cancelAnimationFrame(asked);
    asked = requestAnimationFrame(apply);
  });
  form.addEventListener("submit", (event) => event.preventDefault());
  const clear = () => setFilter({ text: "", cluster: "", kind: "", role: "", rack: "", state: "", changes: "" });
  form.addEventListener("reset", (event) => {
    event.preventDefault();
    clear();
  });
  element("clear").addEventListener("click", clear);
  element("states").addEventListener("click", (event) => {
    const button = /** @type {Element} */ (event.target).closest("button");
    if (!button) return;
    const { state = "", changes } = button.dataset;
    setFilter(changes ? { changes: filter.changes ? "" : "yes" } : { state: filter.state === state ? "" : state });
  });
  apply();
}
