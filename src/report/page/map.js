// @ts-check
// Rack map: one box per rack, one row or square per host. The hosts form one list box: Tab enters
// it once, arrow keys move inside.
import { onFilter } from "./filters.js";
import { counted, element, hosts, make, picture, rackWords } from "./site.js";

/** @typedef {import("./site.js").Host} Host */

/** Squares a row in compact boxes; the style sheet has the same number. */
const SQUARES = 5;

/** @type {HTMLElement[]} each host's element */
const cells = [];
/** @type {{box: HTMLElement, members: number[], count: HTMLElement}[]} */
const racks = [];
/** @type {boolean[]} */
let shown = hosts.map(() => true);
/** The host that Tab leads to. */
let current = -1;
/** @type {(host: Host) => void} */
let choose = () => {};

/** @param {Host} host */
function cellOf(host) {
  const cell = make("div");
  cell.append(make("span", host.data.name));
  cell.setAttribute("role", "option");
  cell.setAttribute("aria-selected", "false");
  cell.tabIndex = -1;
  cell.dataset.index = String(host.index);
  drawHost(cell, host);
  return cell;
}

/** @param {HTMLElement} cell @param {Host} host */
function drawHost(cell, host) {
  cell.className = `host s-${host.state}`;
  if (host.role) cell.classList.add(`h${host.hue}`, `r-${host.role}`);
  cell.classList.toggle("off", !shown[host.index]);
  cell.setAttribute("aria-label", host.label);
  cell.title = host.label;
  cell.dataset.glyph = host.glyph;
  if (host.mark) cell.dataset.mark = host.mark;
  else delete cell.dataset.mark;
}

/** Shows a host in another state. @param {Host} host */
export function redraw(host) {
  drawHost(cells[host.index], host);
}

/** Draws the racks. @param {(host: Host) => void} chosen is called with the host that somebody chooses */
export function startMap(chosen) {
  choose = chosen;
  const map = element("map");
  const drawn = document.createDocumentFragment();
  picture.racks.forEach((/** @type {{name: string | null, hosts: number[]}} */ rack, /** @type {number} */ number) => {
    const box = make("div", "", "rack");
    box.setAttribute("role", "group");
    box.setAttribute("aria-labelledby", `rack-${number}`);
    const name = make("div", rackWords(rack.name), "rack-name");
    name.id = `rack-${number}`;
    const count = make("span", "", "quiet");
    name.append(" ", count);
    box.append(name);
    for (const index of rack.hosts) {
      cells[index] = cellOf(hosts[index]);
      box.append(cells[index]);
    }
    // Keeps the scroll bar stable before a box is drawn for the first time.
    box.style.setProperty("--hosts", String(rack.hosts.length));
    racks.push({ box, members: rack.hosts, count });
    drawn.append(box);
  });
  map.append(drawn);
  map.addEventListener("click", (event) => {
    const cell = /** @type {Element} */ (event.target).closest(".host");
    if (cell) moveTo(indexOf(cell));
  });
  map.addEventListener("keydown", onKey);
  onFilter(show);
}

/** @param {Element} cell */
function indexOf(cell) {
  return Number(/** @type {HTMLElement} */ (cell).dataset.index);
}

/** @param {boolean[]} next */
function show(next) {
  cells.forEach((cell, index) => {
    if (next[index] !== shown[index]) cell.classList.toggle("off", !next[index]);
  });
  shown = next;
  for (const { box, members, count } of racks) {
    const some = members.filter((index) => shown[index]).length;
    box.hidden = some === 0;
    const of = (/** @type {string[]} */ ...states) => members.filter((index) => states.includes(hosts[index].state)).length;
    const use = `${of("assigned", "inUse")} used, ${of("free", "installed")} free`;
    count.textContent = some === members.length ? `${counted(some, "host")}: ${use}` : `${some} of ${members.length}: ${use}`;
  }
  if (current < 0 || !shown[current]) enterBy(shown.indexOf(true));
}

/** Makes Tab lead to a host. @param {number} index */
function enterBy(index) {
  cells[current]?.setAttribute("tabindex", "-1");
  current = index;
  cells[current]?.setAttribute("tabindex", "0");
}

/** Chooses a host, and moves the focus to it. @param {number} index */
function moveTo(index) {
  enterBy(index);
  cells[index].focus();
  choose(hosts[index]);
}

/** Moves the focus to where Tab leads in the map. */
export function focusMap() {
  cells[current]?.focus();
}

/** Shows which host is chosen. @param {Host | null} host @param {Host | null} before */
export function markChosen(host, before) {
  if (before) cells[before.index].setAttribute("aria-selected", "false");
  if (!host) return;
  cells[host.index].setAttribute("aria-selected", "true");
  if (shown[host.index]) enterBy(host.index);
}

/** The hosts that are shown, rack by rack. */
function lists() {
  return racks.map(({ members }) => members.filter((index) => shown[index])).filter((list) => list.length > 0);
}

/** @param {KeyboardEvent} event */
function onKey(event) {
  if (current < 0 || event.altKey || event.metaKey) return;
  const target = targetOf(event.key, event.ctrlKey);
  if (target === null) return;
  event.preventDefault();
  moveTo(target);
}

/** Where a key leads; null for a key that leads nowhere. @param {string} key @param {boolean} ctrl */
function targetOf(key, ctrl) {
  const all = lists();
  const rack = all.findIndex((list) => list.includes(current));
  if (rack < 0) return null;
  const list = all[rack];
  const at = list.indexOf(current);
  const flat = all.flat();
  const step = (/** @type {number} */ by) => flat[Math.min(Math.max(flat.indexOf(current) + by, 0), flat.length - 1)];
  const beside = (/** @type {number} */ by) => {
    const other = all[Math.min(Math.max(rack + by, 0), all.length - 1)];
    return other[Math.min(at, other.length - 1)];
  };
  const inSquares = document.documentElement.dataset.density === "compact";
  switch (key) {
    case "ArrowDown": return inSquares ? step(SQUARES) : step(1);
    case "ArrowUp": return inSquares ? step(-SQUARES) : step(-1);
    case "ArrowRight": return inSquares ? step(1) : beside(1);
    case "ArrowLeft": return inSquares ? step(-1) : beside(-1);
    case "PageDown": return all[Math.min(rack + 1, all.length - 1)][0];
    case "PageUp": return all[Math.max(rack - 1, 0)][0];
    case "Home": return ctrl ? flat[0] : list[0];
    case "End": return ctrl ? flat[flat.length - 1] : list[list.length - 1];
    case "Enter": case " ": return current;
    default: return null;
  }
}
