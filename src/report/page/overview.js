// @ts-check
// Headline, findings, clusters and spare hosts.
import { setFilter } from "./filters.js";
import { lackingHosts } from "./verdict.js";
import { HUES, addFolded, clusters, counted, element, errorCount, findings, glyphOf, hosts, hueOf, keyOf, make, moreFindings, natural, picture, version } from "./site.js";

/** @typedef {import("./site.js").Cluster} Cluster */
/** @typedef {import("./site.js").NodeSet} NodeSet */

/** @typedef {{cpu: number, memoryMib: number, sriov: boolean, qat: boolean, cpuModel?: string[], cpuFlags?: string[], cpuArch?: string[]}} Asked */

/** Up to this many names stand in a list. */
const NAMED = 4;
/** Up to this many clusters are shown with their services. */
const FEW = 6;

/** Fills the upper part of the page. */
export function startOverview() {
  const named = picture.racks.filter((/** @type {{name: string | null}} */ rack) => rack.name !== null).length;
  const racks = picture.by ? ` in ${counted(named, "rack")}, by ${picture.by}` : "";
  element("headline").textContent = `${counted(hosts.length, "host")}${racks}, ${counted(clusters.length, "cluster")}`;
  if (version) {
    const { repo, commit, isChanged } = version;
    const at = commit ? ` at ${commit}${isChanged ? ", with uncommitted changes" : ""}` : ", not committed";
    element("title").textContent = `Site: ${repo}${at}`;
    document.title = `${repo}${at}: clusters, racks and hosts`;
  }
  if (clusters.length > HUES) element("hues").textContent = `; colours repeat after ${HUES} clusters`;
  showFindings();
  showClusters();
  showSpare();
}

function showFindings() {
  if (findings.length === 0) return;
  const warnings = findings.length + moreFindings - errorCount;
  const title = [errorCount && counted(errorCount, "error"), warnings && counted(warnings, "warning")].filter(Boolean);
  element("findings").hidden = false;
  element("findings-title").textContent = title.join(", ");
  const items = findings.map(({ severity, code, message, help, places }) => {
    const item = make("li", "", severity);
    item.append(make("strong", `${severity} ${code}`), ` ${message}`);
    for (const { file, line, column, what } of places) {
      const position = [file, line, column].filter((part) => part !== null).join(":");
      item.append(make("div", what ? `${position} (${what})` : position, "place"));
    }
    if (help) item.append(make("div", help, "help"));
    return { row: item, isBad: severity === "error" };
  });
  addFolded(element("findings-list"), items, "warning");
  if (moreFindings > 0) element("findings-list").append(make("li", `… and ${moreFindings} more`));
}

function showClusters() {
  const body = element("cluster-table").querySelector("tbody");
  const byTrouble = [...clusters].sort((a, b) => Number(isQuiet(a)) - Number(isQuiet(b)) || natural(keyOf(a), keyOf(b)));
  addFolded(body, byTrouble.map((cluster) => ({ row: clusterRow(cluster), isBad: !isQuiet(cluster) })), "cluster");
  const lacking = clusters.filter((cluster) => lackingHosts(cluster) > 0).length;
  element("clusters-title").textContent = `${counted(clusters.length, "cluster")}${lacking > 0 ? `, ${lacking} short` : ""}`;
  element("clusters").hidden = clusters.length === 0;
}

/** Whether all is well and stays as it is. @param {Cluster} cluster */
function isQuiet(cluster) {
  const { gone, leftAsItIs, givesBack, nodeSets } = cluster;
  const isStill = nodeSets.every((set) => set.shortOf === 0 && set.added === 0);
  return !gone && !leftAsItIs && givesBack.length === 0 && isStill && lackingHosts(cluster) === 0;
}

/** @param {Cluster} cluster */
function clusterRow(cluster) {
  const key = keyOf(cluster);
  const row = make("tr");
  const head = make("th");
  head.setAttribute("scope", "row");
  const sample = make("span", "", `host sample s-assigned r-ControlPlane h${hueOf(key)}`);
  sample.dataset.glyph = glyphOf(key, "ControlPlane");
  sample.setAttribute("aria-hidden", "true");
  const button = make("button", key, "link name");
  button.setAttribute("type", "button");
  button.title = "Show only hosts of this cluster";
  button.addEventListener("click", () => {
    setFilter({ cluster: key });
    element("hosts").scrollIntoView();
  });
  head.append(sample, button);
  if (cluster.kind === "Provisioning") {
    const name = cluster.provisioning ? ` ${cluster.provisioning}` : "";
    head.append(make("div", `Provisioning${name}`, "quiet"));
  }
  row.append(head);
  for (const role of ["ControlPlane", "Worker"]) {
    const cell = make("td");
    const sets = cluster.nodeSets.filter((set) => set.role === role);
    if (sets.length > 0) cell.append(...meter(together(sets)));
    row.append(cell);
  }
  row.append(notes(cluster), services(cluster));
  return row;
}

/**
 * A role's node sets as one: that of a SIPCluster, or all machines of a Provisioning.
 * @param {NodeSet[]} sets @returns {NodeSet}
 */
function together(sets) {
  const sum = (/** @type {(set: NodeSet) => number} */ of) => sets.reduce((sum, set) => sum + of(set), 0);
  const wanted = sets.some((set) => set.wanted)
    ? { active: sum((set) => set.wanted?.active ?? 0), standby: sum((set) => set.wanted?.standby ?? 0) }
    : null;
  const [have, added, shortOf] = [sum((set) => set.have), sum((set) => set.added), sum((set) => set.shortOf)];
  const mayLackMore = sets.some((set) => set.mayLackMore);
  return { role: sets[0].role, wanted, have, added, shortOf, mayLackMore, shortage: sets.flatMap((set) => set.shortage) };
}

/** How many hosts a node set has of those that it wants. @param {NodeSet} set */
function meter(set) {
  if (!set.wanted) return [make("span", `has ${set.have}`)];
  const { active, standby } = set.wanted;
  const wanted = active + standby;
  const missing = Math.max(wanted - set.have, 0);
  const bar = make("span", "", "meter");
  bar.setAttribute("aria-hidden", "true");
  const full = make("span", "", missing > 0 ? "short" : "full");
  full.style.setProperty("width", `${wanted > 0 ? Math.min(set.have / wanted, 1) * 100 : 100}%`);
  bar.append(full);
  const words = `${set.have} of ${wanted}${standby > 0 ? `, ${standby} standby` : ""}`;
  const parts = [bar, make("span", words)];
  if (set.shortOf > 0) parts.push(make("span", `${set.mayLackMore ? "at least " : ""}${set.shortOf} missing`, "badge bad"));
  // Another node set of the cluster prevents the placement.
  else if (missing > 0) parts.push(make("span", `${missing} not placed`, "badge warn"));
  return parts;
}

/** @param {Cluster} cluster */
function notes(cluster) {
  const cell = make("td");
  const added = cluster.nodeSets.reduce((sum, set) => sum + set.added, 0);
  if (cluster.gone) cell.append(make("span", "gone", "badge bad"));
  if (cluster.leftAsItIs) cell.append(make("span", "unchanged: has errors", "badge bad"));
  if (added > 0) cell.append(make("span", `+ ${added} added`, "badge good"));
  if (cluster.givesBack.length > 0) cell.append(make("span", `↩ ${cluster.givesBack.length} released`, "badge warn"));
  const without = cluster.nodeSets.filter((set) => set.node && set.shortOf > 0).map((set) => set.node ?? "");
  if (without.length > 0) cell.append(make("span", `no host for ${listed(without)}`, "badge bad"));
  // Equal machines share the reasons of a shortage.
  const reasons = new Set([...cluster.errors, ...cluster.nodeSets.flatMap((set) => set.shortage)]);
  if (reasons.size > 0) {
    const why = make("details");
    why.append(make("summary", "why"));
    for (const reason of reasons) why.append(make("div", reason, "proof"));
    cell.append(why);
  }
  return cell;
}

/** @param {Cluster} cluster */
function services(cluster) {
  const cell = make("td");
  const list = make("ul", "", "plain");
  for (const { service, address, ports } of cluster.endpoints) {
    const reached = address ? `${address}:${ports.join(", ")}` : `NodePort ${ports.join(", ")}`;
    const item = make("li", `${service} `);
    item.append(make("code", reached));
    list.append(item);
  }
  if (cluster.endpoints.length === 0) return cell;
  const folded = /** @type {HTMLDetailsElement} */ (make("details"));
  folded.append(make("summary", counted(cluster.endpoints.length, "service")), list);
  // Shown only if there is room.
  folded.open = clusters.length <= FEW && matchMedia("(min-width: 60rem)").matches;
  cell.append(folded);
  return cell;
}

/** The first of some names. @param {string[]} names */
function listed(names) {
  const shown = names.length > NAMED ? [...names.slice(0, NAMED - 1), `${names.length - NAMED + 1} more`] : names;
  return shown.join(", ");
}

/** @param {{selector: string, hardware?: string, asked?: Asked, interfaces?: string[]}} spare */
function askedWords({ selector, hardware, asked, interfaces = [] }) {
  const addressed = interfaces.length > 0 ? ` with an address in ${interfaces.join(", ")}` : "";
  if (!asked) return [selector, hardware].filter(Boolean).join(", ") + addressed;
  const { cpu, memoryMib, sriov, qat, cpuArch = [], cpuModel = [], cpuFlags = [] } = asked;
  const memory = memoryMib % 1024 === 0 ? `${memoryMib / 1024} GiB` : `${memoryMib} MiB`;
  const parts = [cpu && counted(cpu, "CPU"), memoryMib && memory, sriov && "SR-IOV", qat && "QuickAssist", ...cpuArch, ...cpuModel, ...cpuFlags, selector];
  return parts.filter(Boolean).join(", ");
}

function showSpare() {
  const body = element("spare-table").querySelector("tbody");
  element("spare").hidden = picture.spare.length === 0;
  const usedUp = picture.spare.filter((/** @type {{free: number}} */ { free }) => free === 0).length;
  const requests = counted(picture.spare.length, "request");
  element("spare-title").textContent = `Spare hosts: ${usedUp > 0 ? `none for ${usedUp} of ${requests}` : `some for ${requests}`}`;
  const rows = [];
  for (const spare of picture.spare) {
    const { matching, assigned, free, nodeSets, machines = [] } = spare;
    const words = askedWords(spare);
    const row = make("tr");
    const head = make("th");
    head.setAttribute("scope", "row");
    head.append(words ? make("code", words) : "every host");
    const names = nodeSets.map((/** @type {[import("./site.js").Key, string]} */ [cluster, role]) => `${keyOf(cluster)} ${role}`);
    for (const [cluster, , node] of machines) names.push(`${keyOf(cluster)} ${node}`);
    row.append(head);
    for (const number of [matching, assigned, free]) row.append(make("td", String(number), "number"));
    if (free === 0) row.lastElementChild?.classList.add("none");
    row.append(make("td", listed(names)));
    rows.push({ row, isBad: free === 0 });
  }
  addFolded(body, rows, "request");
}
