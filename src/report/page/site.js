// @ts-check
// The site: embedded JSON data and values derived from it.

/**
 * @typedef {{namespace: string, name: string}} Key
 * @typedef {{
 *   namespace: string, name: string, state: string,
 *   assigned?: {cluster: Key, role: string, node?: string, how: string | null},
 *   givenBackBy?: Key, changes?: boolean, failed?: boolean, deleting?: boolean, whyNotFree?: string,
 *   consumer?: string, rack?: string, hardware?: string, topology?: Record<string, string>, facts: string[], place: string,
 * }} HostData
 * @typedef {{
 *   index: number, data: HostData, key: string, cluster: string, kind: string, role: string, node: string, rack: string, state: string,
 *   hue: number, glyph: string, mark: string, label: string, searched: string,
 * }} Host
 * @typedef {{role: string, node?: string, wanted: {active: number, standby: number} | null, have: number, added: number, shortOf: number, mayLackMore: boolean, shortage: string[]}} NodeSet
 * @typedef {{
 *   namespace: string, name: string, kind: string, provisioning?: string, gone: boolean, leftAsItIs: boolean, errors: string[], nodeSets: NodeSet[],
 *   endpoints: {service: string, address: string | null, ports: string[]}[], givesBack: Key[],
 * }} Cluster
 * @typedef {{title: string, column: string, more: number, rows: {fit: number, name: string, lacks: string}[]}} FitTable
 * @typedef {{
 *   tables: FitTable[], lacking: string[], purchase: string | null, kinds: string[], by: string | null,
 *   losses: {rack: string | null, hosts: number, assigned: number, quorums: string, lacking: string}[],
 * }} Capacity
 * @typedef {{cluster: Key, role: string, from: Key, to: Key, details: string[]}} Move
 * @typedef {{verdict: string, steps: Move[][]}} Drain
 * @typedef {{repo: string, commit: string | null, isChanged: boolean}} Version
 */

/** How states are called and drawn, in the order in which they are told. */
export const STATES = [
  { id: "assigned", words: "assigned", glyph: "" },
  { id: "free", words: "free", glyph: "○" },
  { id: "installed", words: "free with an operating system", glyph: "●" },
  { id: "failed", words: "failed", glyph: "!" },
  { id: "givenBack", words: "released", glyph: "↩" },
  { id: "inUse", words: "in use by others", glyph: "●" },
  { id: "notReady", words: "not ready", glyph: "…" },
  { id: "inMaintenance", words: "in maintenance", glyph: "@" },
  { id: "reserved", words: "reserved", glyph: "=" },
  { id: "deleting", words: "being deleted", glyph: "×" },
];

/** How many colours clusters have before they repeat. */
export const HUES = 12;

/** @type {{picture: any, snapshot: {date: string | null} | null, capacity: Capacity, drain: Drain | null, version: Version | null, findings: {severity: string, code: string, message: string, help: string | null, places: {file: string, line: number | null, column: number | null, what: string | null}[]}[], errors: number, more_findings: number}} */
const data = JSON.parse(element("site").textContent);

export const { picture, snapshot, capacity, drain, version, findings, errors: errorCount, more_findings: moreFindings } = data;
/** @type {Cluster[]} */
export const clusters = picture.clusters;

const collator = new Intl.Collator("en", { numeric: true });
/** Compares names as people count: r9 before r10. */
export const natural = collator.compare;

/** @param {string} id @returns {HTMLElement} */
export function element(id) {
  const found = document.getElementById(id);
  if (!found) throw new Error(`the page has no ${id}`);
  return found;
}

/**
 * An element with text in it. Text is never HTML: names come from the input.
 * @param {string} tag @param {string} [text] @param {string} [className]
 */
export function make(tag, text = "", className = "") {
  const made = document.createElement(tag);
  if (text) made.textContent = text;
  if (className) made.className = className;
  return made;
}

/** Tells each cell the title of its column, which stands before it where the page is narrow. @param {Element} body */
function labelCells(body) {
  const titles = [...(body.closest("table")?.querySelectorAll("thead th") ?? [])].map((cell) => cell.textContent);
  for (const row of body.querySelectorAll("tr")) {
    [...row.cells].forEach((cell, column) => (cell.dataset.label = titles[column]));
  }
}

/** Up to this many rows without trouble are shown. */
const CALM_ROWS = 6;

/**
 * Adds rows or items: those with trouble first, the others folded if there are many.
 * @param {Element | null} list @param {{row: HTMLElement, isBad: boolean}[]} all @param {string} noun what one of them is
 */
export function addFolded(list, all, noun) {
  const bad = all.filter(({ isBad }) => isBad);
  const calm = all.filter(({ isBad }) => !isBad);
  const isTable = list?.tagName === "TBODY";
  list?.append(...[...bad, ...calm].map(({ row }) => row));
  if (isTable) labelCells(/** @type {Element} */ (list));
  if (calm.length === 0 || calm.length <= (bad.length > 0 ? 1 : CALM_ROWS)) return;
  for (const { row } of calm) row.hidden = true;
  const open = () => {
    for (const { row } of calm) row.hidden = false;
    fold.remove();
  };
  const fold = foldRow(isTable, calm.length, noun, () => {
    open();
    calm[0].row.querySelector("button")?.focus();
  });
  list?.append(fold);
  addEventListener("beforeprint", open);
}

/** A row or item whose button shows what is folded. @param {boolean} isTable @param {number} count @param {string} noun @param {() => void} open */
export function foldRow(isTable, count, noun, open) {
  const button = make("button", `Show ${counted(count, noun)} without trouble`);
  button.setAttribute("type", "button");
  button.addEventListener("click", open);
  const fold = make(isTable ? "tr" : "li", "", "fold");
  const cell = isTable ? make("td") : fold;
  if (isTable) {
    cell.setAttribute("colspan", "9");
    fold.append(cell);
  }
  cell.append(button);
  return fold;
}

/** @param {Key} key */
export function keyOf(key) {
  return `${key.namespace}/${key.name}`;
}

/** @param {number} count @param {string} noun */
export function counted(count, noun) {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

/** @param {string} role */
export function roleWords(role) {
  return role === "ControlPlane" ? "control plane" : "worker";
}

/** What a host is in its cluster: its role, and with it the name that a Provisioning gives it. @param {{role: string, node?: string}} part */
export function partWords({ role, node }) {
  return node ? `${node} (${roleWords(role)})` : roleWords(role);
}

const kinds = new Map(clusters.map((cluster) => [keyOf(cluster), cluster.kind]));

const hues = new Map(clusters.map((cluster, index) => [keyOf(cluster), index % HUES]));

/** The number of a cluster's colour. @param {string} cluster */
export function hueOf(cluster) {
  return hues.get(cluster) ?? 0;
}

/** How many clusters have a letter, or two. */
const LETTERED = 26 + 26 * 26;

const letters = new Map(clusters.map((cluster, index) => [keyOf(cluster), letterOf(index)]));

/** @param {number} index */
function letterOf(index) {
  const letter = (/** @type {number} */ number) => String.fromCharCode(65 + number);
  if (index < 26) return letter(index);
  return index < LETTERED ? letter(Math.floor(index / 26) - 1) + letter(index % 26) : "";
}

/** The letters of a cluster, capital for its control plane; those of the role if there are too many clusters. @param {string} cluster @param {string} role */
export function glyphOf(cluster, role) {
  const own = letters.get(cluster) || role[0];
  return role === "ControlPlane" ? own : own.toLowerCase();
}

/** How a host stands, in words. @param {HostData} host */
export function standing(host) {
  const words = [];
  if (host.assigned) {
    words.push(`${partWords(host.assigned)} of ${keyOf(host.assigned.cluster)}`);
    if (host.assigned.how === "added") words.push("added");
    if (host.assigned.how === "adopted") words.push("adopted");
    if (host.failed) words.push("has failed");
    if (host.deleting) words.push("is being deleted");
  } else {
    words.push(STATES.find((state) => state.id === host.state)?.words ?? host.state);
  }
  if (host.givenBackBy && host.assigned) words.push(`released by ${keyOf(host.givenBackBy)}`);
  else if (host.givenBackBy) words[0] += ` by ${keyOf(host.givenBackBy)}`;
  return words.join(", ");
}

/** What stands behind the name of a host. @param {HostData} host */
function markOf(host) {
  if (host.assigned && host.deleting) return "×";
  if (host.failed && host.state !== "failed") return "!";
  return host.assigned && host.changes ? "+" : "";
}

/** @param {HostData} host @param {number} index @returns {Host} */
export function derive(host, index) {
  const cluster = host.assigned ? keyOf(host.assigned.cluster) : "";
  const role = host.assigned?.role ?? "";
  const kind = kinds.get(cluster) ?? "";
  const node = host.assigned?.node ?? "";
  const rack = host.rack ?? "";
  const key = keyOf(host);
  const words = standing(host);
  const searched = [key, words, kind, rack, host.place, ...Object.values(host.topology ?? {}), ...host.facts];
  const glyph = role ? glyphOf(cluster, role) : (STATES.find((state) => state.id === host.state)?.glyph ?? "?");
  const label = `${host.name}, ${words}`;
  const all = searched.join("\n").toLowerCase();
  return { index, data: host, key, cluster, kind, role, node, rack, state: host.state, hue: hueOf(cluster), glyph, mark: markOf(host), label, searched: all };
}

/** @type {Host[]} */
export const hosts = picture.hosts.map(derive);

/** What a rack is called. @param {string | null} name */
export function rackWords(name) {
  if (name) return name;
  return picture.by ? `without ${picture.by}` : "all hosts";
}
