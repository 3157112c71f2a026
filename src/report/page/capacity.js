// @ts-check
// Capacity and resilience: what else fits, and what the loss of each rack does.
import { rackFilter, setFilter } from "./filters.js";
import { addFolded, capacity, counted, element, make, rackWords } from "./site.js";

/** Fills the views. */
export function startCapacity() {
  const { tables, lacking, purchase, kinds, losses } = capacity;
  element("capacity").hidden = tables.length === 0 && lacking.length === 0;
  /** @type {HTMLDetailsElement} */ (element("capacity")).open = lacking.length > 0;
  const rows = tables.flatMap((table) => table.rows);
  const full = rows.filter(({ fit }) => fit === 0).length;
  const all = rows.length + tables.reduce((sum, { more }) => sum + more, 0);
  const what = `${all} clusters and node sets`;
  element("capacity-title").textContent = `Capacity: ${full > 0 ? `nothing more fits for ${full} of ${what}` : `more fits for ${what}`}`;
  if (lacking.length > 0) element("fits").append(shortages(lacking, purchase, kinds));
  for (const table of tables) element("fits").append(...fitTable(table));
  element("losses").hidden = losses.length === 0;
  showLosses();
}

/** @param {string} text */
function capitalized(text) {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** What cannot be served, and what to buy. @param {string[]} lacking @param {string | null} purchase @param {string[]} kinds */
function shortages(lacking, purchase, kinds) {
  const notice = make("div", "", "notice");
  const list = (/** @type {string[]} */ lines) => {
    const items = make("ul");
    for (const line of lines) items.append(make("li", line));
    return items;
  };
  notice.append(make("h3", "Cannot be served"), list(lacking));
  if (purchase) notice.append(make("h3", "To buy"), make("p", purchase));
  if (kinds.length > 0) notice.append(list(kinds));
  return notice;
}

/** @param {import("./site.js").FitTable} table */
function fitTable({ title, column, rows, more }) {
  const heading = make("h3", capitalized(title));
  heading.id = `fit-${column.replace(" ", "-")}`;
  const scroll = make("div", "", "scroll");
  scroll.tabIndex = 0;
  scroll.setAttribute("role", "region");
  scroll.setAttribute("aria-labelledby", heading.id);
  const table = make("table");
  const head = make("tr");
  for (const [words, className] of [[capitalized(column), ""], ["Fit", "number"], ["One more lacks", ""]]) {
    const cell = make("th", words, className);
    cell.setAttribute("scope", "col");
    head.append(cell);
  }
  const thead = make("thead");
  thead.append(head);
  const body = make("tbody");
  const folded = rows.map(({ fit, name, lacks }) => {
    const row = make("tr");
    const first = make("th", name, "name");
    first.setAttribute("scope", "row");
    row.append(first, make("td", String(fit), fit > 0 ? "number" : "number none"), make("td", lacks));
    return { row, isBad: fit === 0 };
  });
  table.append(thead, body);
  addFolded(body, folded, "row");
  scroll.append(table);
  return more > 0 ? [heading, scroll, make("p", `… and ${counted(more, "more row")}`, "quiet")] : [heading, scroll];
}

function showLosses() {
  const { losses, by } = capacity;
  const absorbed = losses.filter(({ quorums, lacking }) => !quorums && !lacking).length;
  element("losses-title").textContent = `Resilience: ${absorbed} of ${losses.length} losses of one ${by} change nothing`;
  /** @type {HTMLDetailsElement} */ (element("losses")).open = absorbed < losses.length;
  const body = element("loss-table").querySelector("tbody");
  const rows = losses.map(({ rack, hosts, assigned, quorums, lacking }) => {
    const row = make("tr");
    const head = make("th");
    head.setAttribute("scope", "row");
    const button = make("button", rackWords(rack), "link name");
    button.setAttribute("type", "button");
    button.title = "Show only hosts of this rack";
    button.addEventListener("click", () => {
      setFilter({ rack: rackFilter(rack) });
      element("hosts").scrollIntoView();
    });
    head.append(button);
    row.append(head, make("td", String(hosts), "number"), make("td", String(assigned), "number"));
    row.append(make("td", quorums, quorums ? "none" : ""), make("td", lacking));
    return { row, isBad: Boolean(quorums || lacking), quorums };
  });
  rows.sort((one, other) => Number(!one.quorums) - Number(!other.quorums));
  addFolded(body, rows, "rack");
}
