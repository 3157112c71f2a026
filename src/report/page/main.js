// @ts-check
// Assembles the page.
import { startCapacity } from "./capacity.js";
import { showDetails } from "./details.js";
import { startDrain } from "./drain.js";
import { startFilters } from "./filters.js";
import { focusMap, markChosen, startMap } from "./map.js";
import { startOverview } from "./overview.js";
import { element, hosts } from "./site.js";
import { markRow, showTable, startTable } from "./table.js";
import { startVerdict } from "./verdict.js";

/** From this many hosts on, they are squares at first. */
const MANY = 400;

/** @type {import("./site.js").Host | null} */
let chosenHost = null;

/** @param {import("./site.js").Host | null} host */
function chooseHost(host) {
  markChosen(host, chosenHost);
  markRow(host);
  showDetails(host, () => {
    chooseHost(null);
    focusMap();
  });
  chosenHost = host;
}

function startTheme() {
  const theme = /** @type {HTMLSelectElement} */ (element("theme"));
  theme.addEventListener("change", () => {
    if (theme.value) document.documentElement.dataset.theme = theme.value;
    else delete document.documentElement.dataset.theme;
  });
}

function startDensity() {
  const compact = /** @type {HTMLInputElement} */ (element("compact"));
  const show = () => {
    document.documentElement.dataset.density = compact.checked ? "compact" : "names";
  };
  compact.checked = hosts.length >= MANY;
  compact.addEventListener("change", show);
  show();
}

/** The tabs of the two views, as arrows and clicks choose them. */
function startViews() {
  const tabs = [element("map-tab"), element("table-tab")];
  const select = (/** @type {number} */ chosen) => {
    tabs.forEach((tab, number) => {
      tab.setAttribute("aria-selected", String(number === chosen));
      tab.tabIndex = number === chosen ? 0 : -1;
      element(tab.getAttribute("aria-controls") ?? "").hidden = number !== chosen;
    });
    if (tabs[chosen].id === "table-tab") showTable();
  };
  tabs.forEach((tab, number) => {
    tab.addEventListener("click", () => select(number));
    tab.addEventListener("keydown", (event) => {
      if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
      select(1 - number);
      tabs[1 - number].focus();
    });
  });
}

startVerdict();
startOverview();
startCapacity();
startTheme();
startDensity();
startViews();
startMap(chooseHost);
startDrain();
startTable(chooseHost);
startFilters();
chooseHost(null);
addEventListener("keydown", (event) => {
  if (event.key === "Escape") chooseHost(null);
});
