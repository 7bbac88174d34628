// The page "Check my PTX": the user pastes or drops PTX, and the page shows the findings of a check or of a run at
// their lines.
import { edit } from "./editor.js";
import { Engine, code, copied, element, mark, question, ready, rememberSoon, remember, restore, state } from "./page.js";

const form = document.querySelector("#check");
const shown = document.querySelector("#shown");
const status = document.querySelector("#status");
const { text, ir } = form.elements;
const engine = new Engine("ptx_atomics_check");
/** The number of lines of PTX before and after a finding that are shown with it. */
const AROUND = 3;
const LEVELS = {
  error: "Wrong: an execution shows it",
  possible: "Possibly wrong: neither proved nor shown for a given launch",
  warning: "The manual requires it",
  note: "Right, but more than is needed",
  "not-checked": "Not checked",
};
/** The labels of a run's findings. */
const RAN = { error: "Wrong in this run", warning: "A warning of this run", "not-checked": "The run cannot continue" };
/** The number of checks and runs so far. A later one replaces one that has not ended. */
let latest = 0;

/** Asks a function of the library, and shows its answer. */
async function ask(name, say) {
  // A whole file is too long for an address, and is not remembered.
  if (isShort()) remember(form);
  const own = ++latest;
  const started = performance.now();
  if (form.hasAttribute("aria-busy")) engine.stop();
  busy(true);
  status.textContent = name === "run" ? "Running…" : "Checking…";
  try {
    const { answer, errors } = JSON.parse(await engine.call(name, JSON.stringify(question(form))));
    if (own !== latest) return;
    mark(form, errors ?? []);
    answer ? say(answer) : refuse(errors, name);
    form.dataset.took = (performance.now() - started).toFixed(1);
  } catch (error) {
    if (own !== latest) return;
    status.textContent = `No answer: ${error.message}.`;
    shown.replaceChildren();
  } finally {
    if (own === latest) busy(false);
  }
}

const check = () => ask("check", sayChecked);
const run = () => ask("run", sayRan);

function isShort() {
  return text.value.length + ir.value.length < 4000;
}

function busy(is) {
  form.elements.run.disabled = is;
  form.elements.execute.disabled = is;
  form.elements.stop.disabled = !is;
  state(form, "aria-busy", is);
}

function refuse(errors, name) {
  for (const [field, part] of [["ir", "#of-ir"], ["launch", "#of-run"], ["seeds", "#of-run"]]) {
    if (errors.some((error) => error.field === field)) document.querySelector(part).open = true;
  }
  status.textContent = `Nothing was ${name === "run" ? "run" : "checked"}.`;
  shown.replaceChildren();
}

function sayChecked({ kernels, findings: found, unread, order }) {
  const findings = [...(order?.lost ?? []).map(lost), ...found];
  const of = (level) => findings.filter((finding) => finding.level === level).length;
  status.replaceChildren(badge(of("error") + unread.length, of("possible"), "Not proved"), ` ${counted(findings.length, "finding")} in ${counted(kernels.length, "kernel")}`);
  const lines = text.value.split("\n");
  const parts = [...unread.map(({ line, message }) => finding({ level: "error", line, message, notes: [], edits: [] }, lines)), ...findings.map((one) => finding(one, lines))];
  shown.replaceChildren(...(order ? [kept(order)] : []), ...kernels.map(kernel), ...parts);
}

function sayRan({ runs }) {
  const of = (status) => runs.filter((one) => one.status === status).length;
  const findings = runs.reduce((sum, one) => sum + one.findings.length + one.failed.length, 0);
  status.replaceChildren(badge(of(1), of(2), "Not finished"), ` ${counted(findings, "finding")} in ${counted(runs.length, "run")}`);
  const lines = text.value.split("\n");
  shown.replaceChildren(...runs.map((one) => ran(one, lines)));
}

/** The findings of a run, and the final contents of memory. */
function ran({ summary, chosen, findings, failed, printed, memory, command }, lines) {
  const held = [...(printed ? [printed] : []), ...memory];
  return element(
    "section",
    {},
    element("p", {}, element("strong", {}, summary)),
    ...(chosen ? [element("p", {}, chosen)] : []),
    ...failed.map((why) => element("section", { class: "finding error" }, element("h3", {}, RAN.error), element("p", {}, why))),
    ...findings.map((one) => finding(one, lines)),
    ...(held.length > 0 ? [element("h3", {}, "At the end"), code("Memory at the end", ...held)] : []),
    ...(command ? [element("p", {}, element("code", {}, command), " ", copied(command))] : []),
  );
}

/** A finding for an operation of the IR that the PTX does not keep. */
function lost({ function: kernel, source: [line, source], summary, reasons, lines }) {
  return { check: "order", level: "error", kernel, line: lines.at(-1), first: lines[0], message: `${summary}: ${reasons}`, notes: [`The LLVM IR has, on line ${line}: ${source}`], edits: [] };
}

function kept({ kept, lost, not_checked: open }) {
  return element("p", {}, `Of the LLVM IR, ${counted(kept + lost.length + open, "atomic or fence", "atomics and fences")}: ${kept} kept, ${lost.length} not, ${open} not checked.`);
}

/** The verdict in a word. There is a separate word for a result with open questions. */
function badge(errors, unknown, unproved) {
  const [kind, words] = errors > 0 ? ["never", "Wrong"] : unknown > 0 ? ["unknown", unproved] : ["can", "Nothing wrong was found"];
  return element("strong", { class: `badge ${kind}` }, words);
}

function counted(count, of, all = `${of}s`) {
  return `${count} ${count === 1 ? of : all}`;
}

function kernel({ kernel, races, assumptions, is_asynchronous: isAsynchronous, ran }) {
  const verdicts = {
    free: "no execution has a data race, under the assumptions below",
    race: "has a data race",
    divergent: "has a barrier that some threads do not reach",
    open: "the check has no proof that no execution has a data race",
  };
  const ordinary = isAsynchronous ? "has asynchronous operations, whose waits and fences are checked; the proof for ordinary accesses does not follow them" : verdicts[races];
  return element(
    "section",
    {},
    element("p", {}, element("code", {}, kernel), `: ${ordinary}.`),
    ...(assumptions.length > 0 && !isAsynchronous ? [element("ul", {}, ...assumptions.map((one) => element("li", {}, one)))] : []),
    ...(ran ? [element("details", {}, element("summary", {}, "The launch of the execution"), element("p", {}, ran))] : []),
  );
}

/** A finding, with the lines of PTX around it. */
function finding({ check, level, line, first, message, notes, help, edits, explained }, lines) {
  const near = (at) => Array.from({ length: 2 * AROUND + 1 }, (_, index) => at - AROUND + index);
  const numbers = [...new Set([...(first ? near(first) : []), ...(line ? near(line) : [])])].filter((at) => at >= 1 && at <= lines.length).sort((a, b) => a - b);
  const listed = numbers.flatMap((at, index) => {
    const gap = index > 0 && numbers[index - 1] !== at - 1 ? ["…\n"] : [];
    const row = `${String(at).padStart(5)}  ${lines[at - 1]}`;
    return [...gap, at === line || at === first ? element("mark", {}, row) : row, "\n"];
  });
  const go = element("button", { type: "button", class: level }, line ? `line ${line}: ${message}` : message);
  go.onclick = () => select(line || 1);
  return element(
    "section",
    { class: `finding ${level}` },
    element("h3", {}, check === "order" ? "Weaker than the LLVM IR" : (check === "run" ? RAN : LEVELS)[level]),
    go,
    ...(listed.length > 0 ? [code(`The lines around line ${line}`, ...listed)] : []),
    ...notes.map((note) => element("p", {}, note)),
    ...(help ? [element("p", {}, element("strong", {}, "Remedy: "), help)] : []),
    ...(edits.length > 0 ? [mended(edits)] : []),
    ...(explained ? [element("details", {}, element("summary", {}, "As a litmus test, with an execution"), code("A litmus test", explained))] : []),
  );
}

/** A button that applies the edits, and repeats the check. */
function mended(edits) {
  const button = element("button", { type: "button" }, "Change it, and check again");
  button.onclick = async () => {
    const lines = text.value.split("\n");
    // The edits are applied from the last line to the first, so that the numbers of earlier lines stay valid.
    for (const { line, before, instruction } of [...edits].sort((a, b) => b.line - a.line)) {
      lines.splice(before ? line - 1 : line, 0, `    ${instruction.replace(/;?$/, ";")}`);
    }
    text.value = lines.join("\n");
    await check();
  };
  return button;
}

function select(line) {
  const lines = text.value.split("\n");
  const at = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  text.focus();
  text.setSelectionRange(at, at + (lines[line - 1] ?? "").length);
  text.scrollTop = (text.scrollHeight / lines.length) * Math.max(0, line - 4);
}

function asCommand() {
  const { block, grid, profile } = question(form);
  const set = (option, value) => (value === "" ? [] : [`--${option} ${value}`]);
  const line = ["ptx-atomics check kernel.ptx", ...set("block", block), ...set("grid", grid), ...set("profile", profile === "default" ? "" : profile), "--explain"].join(" ");
  document.querySelector("#command").replaceChildren(element("code", {}, line), " ", copied(line));
}

async function examples() {
  const tests = await (await fetch(new URL("kernels.json", import.meta.url))).json();
  const named = (path) => element("option", { value: path }, path.replaceAll("_", " "));
  form.elements.example.append(...Object.keys(tests).map(named));
  return tests;
}

/** Copies the text of the chosen example, if there is one, into the form. */
function take() {
  text.dataset.default = all[form.elements.example.value] ?? "";
  text.value = text.dataset.default;
}

async function dropped(file) {
  if (!file) return;
  form.elements.example.value = "";
  text.value = await file.text();
  await check();
}

async function restored() {
  restore(form);
  take();
  restore(form);
  if (text.value !== "") await check();
}

// While a check runs, the editor does not ask for errors: the check reports them, too.
edit(ir, "llvm");
edit(text, "ptx", async (value) => (form.hasAttribute("aria-busy") ? [] : JSON.parse(await engine.call("unread", value))));
form.addEventListener("submit", (event) => event.preventDefault());
form.elements.run.onclick = check;
form.elements.execute.onclick = run;
form.elements.stop.onclick = () => engine.stop();
form.elements.show.onclick = asCommand;
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.target.closest("#of-run") ? run() : check();
});
form.elements.example.onchange = () => {
  take();
  check();
};
form.elements.file.onchange = ({ target }) => dropped(target.files[0]);
form.addEventListener("paste", ({ target }) => target.closest("#of-run") || setTimeout(check));
form.addEventListener("input", () => isShort() && rememberSoon(form));
for (const kind of ["dragover", "drop"]) {
  form.addEventListener(kind, (event) => {
    if (![...event.dataTransfer.types].includes("Files")) return;
    event.preventDefault();
    if (kind === "drop") dropped(event.dataTransfer.files[0]);
  });
}
addEventListener("hashchange", restored);
const all = await examples().catch(() => ({}));
await restored();
ready(form);
