// @ts-check
// Details of the selected host.
import { element, keyOf, make, picture, roleWords, standing } from "./site.js";

/** @typedef {import("./site.js").Host} Host */

/** Whether the details of a host fit beside the others; the style sheet has the same condition. */
const hasRoom = matchMedia("(min-width: 60rem) and (min-height: 40rem)");

/** Shows a host, or that none is chosen. @param {Host | null} host @param {() => void} close is called to choose none */
export function showDetails(host, close) {
  const panel = element("details");
  panel.replaceChildren();
  if (!host) {
    panel.append(make("p", "Select a host to see its owner and the reasons.", "quiet"));
    return;
  }
  const { data } = host;
  const button = make("button", "Close", "close");
  button.setAttribute("type", "button");
  button.addEventListener("click", close);
  panel.append(button, make("h3", data.name, "name"), make("p", standing(data), "standing"));
  if (data.whyNotFree) panel.append(make("p", `No cluster can have it: it ${data.whyNotFree}.`));

  const list = make("dl");
  const add = (/** @type {string} */ term, /** @type {string | undefined} */ text) => {
    if (text) list.append(make("dt", term), make("dd", text));
  };
  add("Namespace", data.namespace);
  add("Cluster", data.assigned && keyOf(data.assigned.cluster));
  add("Request kind", host.kind);
  add("Machine", host.node);
  add("Role", data.assigned && roleWords(data.assigned.role));
  add("Released by", data.givenBackBy && keyOf(data.givenBackBy));
  if (picture.by && !(picture.by in (data.topology ?? {}))) add(picture.by, data.rack);
  for (const [label, value] of Object.entries(data.topology ?? {})) add(label, value);
  if (picture.hardware) add("Hardware", data.hardware);
  add("Defined in", data.place);
  const facts = make("ul");
  for (const fact of data.facts) facts.append(make("li", fact));
  const more = /** @type {HTMLDetailsElement} */ (make("details"));
  more.append(make("summary", "Details"), list, make("h4", "Facts"), facts);
  more.append(make("h4", "Reasons of other clusters"), make("code", `sipgen explain ${host.key}`, "command"));
  more.open = hasRoom.matches;
  more.addEventListener("toggle", () => {
    if (more.open && !hasRoom.matches) panel.scrollIntoView();
  });
  panel.append(more);
}
