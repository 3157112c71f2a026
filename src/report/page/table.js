// @ts-check
// Host table, sortable by each column. It is paged, so that thousands of hosts stay fast.
import { onFilter } from "./filters.js";
import { element, foldRow, hosts, make, natural, picture, roleWords, standing } from "./site.js";

/** @typedef {import("./site.js").Host} Host */

const ROWS = 200;

/** Whether some hosts are machines of Provisionings, which have names of their own. */
const hasMachines = hosts.some((host) => host.node);

/** @type {{title: string, of: (host: Host) => string}[]} */
const COLUMNS = [
  { title: "Host", of: (host) => host.key },
  { title: "Cluster", of: (host) => host.cluster },
  ...(hasMachines ? [{ title: "Machine", of: (/** @type {Host} */ host) => host.node }] : []),
  { title: "Role", of: (host) => (host.role ? roleWords(host.role) : "") },
  { title: "Rack", of: (host) => host.rack },
  ...(picture.hardware ? [{ title: "Hardware", of: (/** @type {Host} */ { data }) => data.hardware ?? "" }] : []),
  { title: "State", of: (host) => (host.cluster ? "assigned" : standing(host.data)) },
  { title: "More", of: moreOf },
];

/** The column by which rows are sorted; without one, hosts with trouble come first. @type {number | null} */
let sortedBy = null;
/** Whether hosts without trouble are folded, where some have trouble and nothing else is asked for. */
let folds = true;
let ascending = true;
let page = 0;
/** Whether the rows have changed since they were drawn. */
let stale = true;
/** @type {Host[]} those that are shown, sorted */
let rows = [];
/** @type {Host | null} */
let chosen = null;

/** @param {Host} host */
function isBad({ state, data }) {
  return Boolean(data.failed || data.deleting) || state === "failed" || state === "deleting";
}

/** What is worth saying of a host besides. @param {Host} host */
function moreOf({ data }) {
  const words = [];
  if (data.assigned && data.changes) words.push(data.assigned.how === "adopted" ? "adopted" : "added");
  if (data.assigned && data.givenBackBy) words.push(`released by ${data.givenBackBy.namespace}/${data.givenBackBy.name}`);
  if (data.assigned && data.failed) words.push("has failed");
  if (data.assigned && data.deleting) words.push("is being deleted");
  if (data.whyNotFree) words.push(data.whyNotFree);
  return words.join(", ");
}

/** @param {(host: Host) => void} choose is called with the host that somebody chooses */
export function startTable(choose) {
  const head = element("host-table").querySelector("tr");
  COLUMNS.forEach(({ title }, column) => {
    const cell = make("th");
    cell.setAttribute("scope", "col");
    const button = make("button", title);
    button.setAttribute("type", "button");
    button.addEventListener("click", () => sortBy(column));
    cell.append(button);
    head?.append(cell);
  });
  element("host-table").addEventListener("click", (event) => {
    const row = /** @type {Element} */ (event.target).closest("tbody tr:not(.fold)");
    if (row) choose(hosts[Number(/** @type {HTMLElement} */ (row).dataset.index)]);
  });
  element("previous").addEventListener("click", () => turnTo(page - 1));
  element("next").addEventListener("click", () => turnTo(page + 1));
  // Print shows all pages.
  addEventListener("beforeprint", () => draw(rows));
  addEventListener("afterprint", () => turnTo(page));
  onFilter((shown) => {
    rows = hosts.filter((host) => shown[host.index]);
    stale = true;
    if (!element("table-view").hidden) showTable();
  });
}

/** Brings the table up to date; while nobody sees it, nothing is drawn. */
export function showTable() {
  if (stale) sort();
}

/** @param {number} column */
function sortBy(column) {
  ascending = column === sortedBy ? !ascending : true;
  sortedBy = column;
  sort();
}

function sort() {
  stale = false;
  const of = sortedBy === null ? (/** @type {Host} */ host) => (isBad(host) ? "bad" : "") : COLUMNS[sortedBy].of;
  const values = new Map(rows.map((host) => [host, of(host)]));
  const compare = (/** @type {Host} */ a, /** @type {Host} */ b) => {
    const [x, y] = [values.get(a) ?? "", values.get(b) ?? ""];
    // Missing values sort last in both directions.
    if (!x || !y) return Number(!x) - Number(!y) || a.index - b.index;
    return (ascending ? natural(x, y) : natural(y, x)) || a.index - b.index;
  };
  rows.sort(compare);
  element("host-table").querySelectorAll("th").forEach((cell, column) => {
    if (column === sortedBy) cell.setAttribute("aria-sort", ascending ? "ascending" : "descending");
    else cell.removeAttribute("aria-sort");
  });
  turnTo(0);
}

/** @param {number} wanted */
function turnTo(wanted) {
  const bad = rows.filter(isBad);
  const folded = folds && sortedBy === null && rows.length === hosts.length && bad.length > 0 ? rows.length - bad.length : 0;
  if (folded > 0) {
    draw(bad);
    element("pager").hidden = true;
    addFold(folded);
    return;
  }
  const last = Math.max(Math.ceil(rows.length / ROWS) - 1, 0);
  page = Math.min(Math.max(wanted, 0), last);
  const from = page * ROWS;
  draw(rows.slice(from, from + ROWS));
  element("pager").hidden = last === 0;
  element("page").textContent = `${from + 1} to ${Math.min(from + ROWS, rows.length)} of ${rows.length}`;
  /** @type {HTMLButtonElement} */ (element("previous")).disabled = page === 0;
  /** @type {HTMLButtonElement} */ (element("next")).disabled = page === last;
}

/** Adds a row that shows the hosts without trouble. @param {number} count */
function addFold(count) {
  const fold = foldRow(true, count, "host", () => {
    folds = false;
    turnTo(0);
  });
  element("host-table").querySelector("tbody")?.append(fold);
}

/** @param {Host[]} drawn */
function draw(drawn) {
  const body = element("host-table").querySelector("tbody");
  body?.replaceChildren(...drawn.map(rowOf));
}

/** @param {Host} host */
function rowOf(host) {
  const row = make("tr");
  row.dataset.index = String(host.index);
  row.classList.toggle("chosen", host === chosen);
  COLUMNS.forEach(({ title, of }, column) => {
    const cell = make(column === 0 ? "th" : "td");
    cell.dataset.label = title;
    if (column === 0) {
      cell.setAttribute("scope", "row");
      const sample = make("span", "", `host sample s-${host.state}`);
      if (host.role) sample.classList.add(`h${host.hue}`, `r-${host.role}`);
      sample.dataset.glyph = host.glyph;
      sample.setAttribute("aria-hidden", "true");
      const button = make("button", of(host), "link name");
      button.setAttribute("type", "button");
      cell.append(sample, button);
    } else {
      cell.textContent = of(host);
    }
    row.append(cell);
  });
  return row;
}

/** Shows which host is chosen. @param {Host | null} host */
export function markRow(host) {
  chosen = host;
  for (const row of element("host-table").querySelectorAll("tbody tr")) {
    row.classList.toggle("chosen", Number(/** @type {HTMLElement} */ (row).dataset.index) === host?.index);
  }
}
