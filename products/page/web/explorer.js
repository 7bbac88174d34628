// The explorer: one operation, on one or two targets.
import { edit } from "./editor.js";
import { Engine, code, coded, copied, element, mark, question, ready, remember, rememberSoon, restore, table } from "./page.js";

const form = document.querySelector("#explorer");
const engine = new Engine();
const SIDES = ["a", "b"];
// The fields of a side; all other fields apply to both sides.
const OF_A_SIDE = ["mcpu", "mattr", "strategy"];
let latest = 0;

/** Sets the fields to the operation that the words of a language ask for. */
async function hear() {
  const words = form.elements.say.value.trim();
  const said = words === "" ? undefined : await engine.call("said", words).catch(() => undefined);
  const { fields, further } = said ? JSON.parse(said) : { fields: {}, further: [] };
  const links = further.flatMap((other) => [" ", element("a", { href: `#${new URLSearchParams({ say: other })}` }, other)]);
  const none = "No atomic operation is named: try atomicAdd, fetch_add, atomicrmw add, __threadfence.";
  document.querySelector("#said").replaceChildren(...(words !== "" && !said ? [none] : []), ...(links.length > 0 ? ["The words also name another operation:", ...links] : []));
  if (!said) return;
  for (const [name, value] of Object.entries(fields)) form.elements[name].value = value;
  for (const name of ["operation", "ordering", "type"]) await adjust(name).catch(() => {});
}

function lists(choices) {
  for (const field of form.querySelectorAll("select[data-list]")) {
    const first = field.dataset.first;
    const wanted = field.dataset.value;
    field.append(...(first === undefined ? [] : [element("option", { value: "" }, first)]));
    field.append(...choices[field.dataset.list].map((value) => element("option", { value, selected: value === wanted }, value)));
  }
  for (const list of form.querySelectorAll("datalist")) {
    list.append(...choices[list.dataset.list].map((value) => element("option", { value })));
  }
}

function asked(side) {
  const { compare, say, ...all } = question(form);
  const both = Object.entries(all).filter(([name]) => !/^[ab][.]/.test(name));
  return { ...Object.fromEntries(both), ...question(form, `${side}.`) };
}

async function show() {
  rememberSoon(form);
  const own = ++latest;
  const compared = form.elements.compare.checked;
  document.querySelector("#side-b").hidden = !compared;
  const { operation } = form.elements;
  form.elements.failure.disabled = operation.value !== "cmpxchg";
  for (const name of ["type", "space", "volatile"]) form.elements[name].disabled = operation.value === "fence";
  const sides = compared ? SIDES : SIDES.slice(0, 1);
  let answers;
  try {
    answers = await Promise.all(sides.map(async (side) => JSON.parse(await engine.call("explore", JSON.stringify(asked(side))))));
  } catch (error) {
    document.querySelector("#answers").replaceChildren(element("p", { class: "wrong" }, error.message));
    return;
  }
  if (own !== latest) return;
  const wrong = sides.flatMap((side, index) =>
    (answers[index].errors ?? []).map((one) => ({ ...one, field: OF_A_SIDE.includes(one.field) ? `${side}.${one.field}` : one.field })));
  mark(form, wrong.filter((one, index) => wrong.findIndex((other) => other.field === one.field && other.message === one.message) === index));
  const texts = answers.map(({ answer }) => answer?.ptx.split("\n") ?? []);
  const shown = answers.map(({ answer, errors }, index) => (answer ? known(answer, texts[1 - index]) : refused(errors)));
  document.querySelector("#answers").replaceChildren(...shown);
}

function refused(errors) {
  return element("section", { class: "answer" }, ...errors.map((one) => element("p", { class: "wrong" }, `error: ${one.message}`)));
}

/** The address of the operation in the reference. */
function inReference() {
  const [operation, ordering, type, space] = ["operation", "ordering", "type", "space"].map((name) => form.elements[name].value);
  if (operation === "fence") return `reference/fence.html#fence-${ordering}`;
  return `reference/${operation}.html?type=${type}#${type}${space === "local" ? "" : `-${ordering}`}`;
}

/** The result for one side. Lines that the other side lacks are marked. */
function known({ target, ptx, changes, row, requires, sass }, other) {
  const lines = ptx === "" ? [] : ptx.split("\n");
  const differs = (line) => other && other.length > 0 && !other.includes(line);
  const marked = lines.flatMap((line) => [differs(line) ? element("mark", {}, line) : line, "\n"]);
  const parts = [
    element("h2", {}, target),
    lines.length > 0 ? code(`PTX for ${target}`, ...marked) : element("p", {}, "No instruction is needed."),
    copied(ptx),
    element("p", {}, element("a", { href: inReference() }, "In the reference, with the PTX of other compilers")),
  ];
  const part = (title, ...body) => parts.push(element("h3", {}, title), ...body);
  if (changes.length > 0) {
    part("Differences", element("ul", {}, ...changes.map(({ name, message }) => element("li", {}, element("code", {}, name), `: ${message}`))));
  }
  if (row) {
    // The chosen sequence of the row is marked.
    const used = row.sequences.map((words) => element("code", {}, words));
    const sequences = used.map((words, index) => element("li", {}, ...(index === row.used ? [element("mark", {}, words), " is used here"] : [words])));
    part("Why it is right", element("p", {}, "NVIDIA's Atomics ABI, row ", element("code", {}, row.name), ": ", element("code", {}, row.words)), element("ul", {}, ...sequences));
  }
  if (requires.length > 0) {
    part("Requirements", table(["form", "requires"], requires.map(({ form, requirement }) => [coded(form), requirement])));
  }
  if (sass) {
    const { family, ptxas, opcodes, membar, errbar, cctl, notes } = sass;
    part(
      "Cost",
      table(["MEMBAR", "ERRBAR", "CCTL", "all"], [[membar, errbar, cctl, opcodes.length].map(String)]),
      code(`Machine code for ${target}`, opcodes.join("\n")),
      element("p", {}, `Machine code of ${family}, by ptxas ${ptxas}. ${notes.map((note) => `${note}. `).join("")}`),
    );
  } else {
    part("Cost", element("p", {}, "Not measured for this GPU or form."));
  }
  return element("section", { class: "answer" }, ...parts);
}

/** Makes the choice of a field possible by changing other fields, and shows a note about the changes. */
async function adjust(field) {
  const { changed, note } = JSON.parse(await engine.call("adjusted", JSON.stringify(asked("a")), field));
  for (const [name, value] of Object.entries(changed)) form.elements[name].value = value;
  document.querySelector("#note").textContent = note;
}

/** Shows every atomic of LLVM IR, with its line. */
async function lines() {
  const shown = document.querySelector("#of-lines");
  const { value } = form.querySelector("#ir");
  if (value.trim() === "") return shown.replaceChildren();
  const known = JSON.parse(await engine.call("ir", JSON.stringify({ ...asked("a"), text: value })));
  const { operations, unread } = known.answer;
  const one = ({ line, source, answer: { answer, errors } }) =>
    element("section", {}, element("p", {}, `line ${line}: `, element("code", {}, source)), answer ? code(`PTX of line ${line}`, answer.ptx || "no instruction") : refused(errors));
  const left = unread.map(({ line, message }) => element("p", { class: "wrong" }, `line ${line} is not read: ${message}`));
  const none = operations.length + unread.length === 0 ? [element("p", {}, "The text has no atomic and no fence.")] : [];
  shown.replaceChildren(...operations.map(one), ...left, ...none);
}

edit(form.querySelector("#ir"), "llvm", async (value) => JSON.parse(await engine.call("ir", JSON.stringify({ ...asked("a"), text: value }))).answer.unread);
form.addEventListener("submit", (event) => event.preventDefault());
form.addEventListener("input", async ({ target }) => {
  if (target.id === "ir") return lines();
  if (target.name === "say") await hear();
  if (target.tagName === "SELECT") await adjust(target.name).catch(() => {});
  await show();
  await lines();
});
form.addEventListener("change", () => remember(form));
/** Restores the fields from the address. If the address has only words, the words determine the fields. */
async function restored() {
  restore(form);
  if (new URLSearchParams(location.hash.slice(1)).size === 1) await hear();
  await show();
}

addEventListener("hashchange", restored);
const choices = await engine.call("choices").catch((error) => {
  form.dataset.state = `This page cannot answer: ${error.message}.`;
  throw error;
});
lists(JSON.parse(choices));
await restored();
ready(form);
