// @ts-check
// The verdict: what is short, what breaks next, what to buy, and how old the snapshot is.
import { capacity, clusters, counted, element, errorCount, keyOf, make, snapshot } from "./site.js";

/** Up to this many names stand in a sentence of the verdict. */
const VERDICT_NAMES = 3;
/** A snapshot is current for this many days. */
const CURRENT_DAYS = 7;
const DAY = 24 * 60 * 60 * 1000;

/** @typedef {"good" | "warn" | "bad" | "quiet"} Tone */

/** How many hosts a cluster lacks: those that cannot be found, or else those that it does not get. @param {import("./site.js").Cluster} cluster */
export function lackingHosts({ nodeSets }) {
  const missing = nodeSets.map(({ wanted, have }) => (wanted ? Math.max(wanted.active + wanted.standby - have, 0) : 0));
  const sum = (/** @type {number[]} */ counts) => counts.reduce((sum, count) => sum + count, 0);
  return sum(nodeSets.map(({ shortOf }) => shortOf)) || sum(missing);
}

/** Fills the verdict. */
export function startVerdict() {
  const sentences = [served(), errors(), nextLoss(), purchase(), snapshotAge()];
  for (const sentence of sentences) {
    if (!sentence) continue;
    const { id, tone, fact, details } = sentence;
    const item = make("li", "", tone);
    item.id = id;
    item.append(make("strong", fact));
    if (details) item.append(make("div", details, "quiet"));
    element("verdict").append(item);
  }
}

/** @param {string} id @param {Tone} tone @param {string} fact @param {string} [details] */
function sentence(id, tone, fact, details = "") {
  return { id, tone, fact, details };
}

/** @param {string[]} names */
function some(names) {
  const more = names.length - VERDICT_NAMES;
  return more > 0 ? `${names.slice(0, VERDICT_NAMES).join(", ")} and ${more} more` : names.join(", ");
}

function served() {
  if (clusters.length === 0) return sentence("verdict-served", "quiet", "No cluster is requested");
  const lacking = clusters.filter((cluster) => lackingHosts(cluster) > 0);
  if (lacking.length === 0) {
    const all = clusters.length === 1 ? "The only cluster is" : `All ${clusters.length} clusters are`;
    return sentence("verdict-served", "good", `${all} served`);
  }
  const missing = lacking.reduce((sum, cluster) => sum + lackingHosts(cluster), 0);
  const atLeast = lacking.some(({ nodeSets }) => nodeSets.some(({ mayLackMore }) => mayLackMore)) ? "at least " : "";
  const fact = `${lacking.length} of ${counted(clusters.length, "cluster")} short of ${atLeast}${counted(missing, "host")}`;
  return sentence("verdict-served", "bad", fact, some(lacking.map((cluster) => `${keyOf(cluster)}: ${lackingHosts(cluster)}`)));
}

function errors() {
  if (errorCount === 0) return null;
  return sentence("verdict-errors", "bad", `${counted(errorCount, "error")} in the inputs`, "sipgen generate writes nothing until they are fixed");
}

/** What the loss of one rack does. */
function nextLoss() {
  const { losses, by } = capacity;
  const total = counted(losses.length, "rack");
  if (losses.length === 0) return null;
  const fatal = losses.filter(({ quorums }) => quorums);
  // A row of a large loss names the first clusters only.
  const names = [...new Set(fatal.flatMap(({ quorums }) => quorums.replace(/ and \d+ more$/, "").split(", ")))];
  const details = `if one ${by} is lost`;
  if (fatal.length > 0) {
    return sentence("verdict-losses", "bad", `${fatal.length} of ${total}: quorum of ${some(names)} lost`, details);
  }
  const lacking = losses.filter(({ lacking }) => lacking).length;
  if (lacking > 0) {
    return sentence("verdict-losses", "warn", `${lacking} of ${total}: hosts cannot all be replaced`, details);
  }
  return sentence("verdict-losses", "good", "Any one rack can be lost", `${total}, by ${by}`);
}

function purchase() {
  const { purchase, kinds } = capacity;
  if (!purchase) return null;
  return sentence("verdict-purchase", "warn", `To buy: ${purchase}`, some(kinds));
}

function snapshotAge() {
  if (!snapshot) return null;
  if (!snapshot.date) return sentence("verdict-snapshot", "warn", "Snapshot of unknown age", "it is not committed, or older than this clone");
  const days = Math.max(Math.floor((Date.now() - Date.parse(snapshot.date)) / DAY), 0);
  const tone = days > CURRENT_DAYS ? "warn" : "good";
  return sentence("verdict-snapshot", tone, `Snapshot ${counted(days, "day")} old`, `last changed on ${snapshot.date}`);
}
