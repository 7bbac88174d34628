// The page of litmus tests: an editor, and the output and drawings of the command.
import { edit } from "./editor.js";
import { gallery } from "./gallery.js";
import { Engine, code, copied, element, mark, question, ready, remember, rememberSoon, restore, state, table } from "./page.js";

const form = document.querySelector("#litmus");
const shown = document.querySelector("#shown");
const status = document.querySelector("#status");
const verdict = document.querySelector("#verdict");
const text = form.elements.text;
const engine = new Engine();
const BADGES = {
  never: "Forbidden",
  can: "Allowed",
  always: "Always holds",
  "not-always": "Not always",
  race: "Data race",
  unknown: "Unknown",
};
let places = [];
/** The name of the test's file. */
let named = "test.litmus";
/** The number of runs so far. A later run replaces a run that has not ended. */
let latest = 0;

async function run() {
  remember(form);
  const own = ++latest;
  const started = performance.now();
  const running = form.hasAttribute("aria-busy");
  busy(true);
  if (running) engine.stop();
  const seconds = element("span", { "aria-hidden": "true" });
  verdict.replaceChildren();
  status.replaceChildren("Running…", seconds);
  const clock = setInterval(() => seconds.replaceChildren(` ${Math.round((performance.now() - started) / 1000)} s`), 1000);
  try {
    const { answer, errors } = JSON.parse(await engine.call("litmus", JSON.stringify(question(form))));
    if (own !== latest) return;
    answer ? await say(answer) : refuse(errors);
    form.dataset.took = (performance.now() - started).toFixed(1);
  } catch (error) {
    if (own === latest) nothing(`No verdict: ${error.message}.`);
  } finally {
    clearInterval(clock);
    if (own === latest) busy(false);
  }
}

function busy(is) {
  form.elements.run.disabled = is;
  form.elements.stop.disabled = !is;
  state(form, "aria-busy", is);
}

/** Shows an answer. The promise resolves when the drawing is drawn. */
async function say({ badge, answer, text, svg, threads, warnings }) {
  mark(form, []);
  listed(warnings, "warning");
  placement(threads);
  named = answer.file;
  verdict.replaceChildren(element("strong", { class: `badge ${badge}` }, BADGES[badge]));
  status.textContent = text.slice(answer.file.length + 2, text.indexOf("\n"));
  const said = code("The output of the command", text);
  const all = outcomes(text);
  if (!svg) {
    shown.replaceChildren(...all, said);
    return;
  }
  // An image has no scripts. The text of the drawing can be searched in the text below.
  const image = element("img", { alt: `The execution of ${answer.name}: the text below has the same content` });
  image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(svg)}`;
  shown.replaceChildren(...all, element("figure", { class: "drawing", tabindex: "0" }, image), said);
  await image.decode();
}

/** The outcomes of the text as a table. The outcomes that the condition names are marked. */
function outcomes(text) {
  const lines = text.split("\n");
  const start = lines.findIndex((line) => line.startsWith("Outcomes ("));
  if (start < 0) return [];
  const cells = (line) => line.trim().split(/\s{2,}/);
  const [names, ...rows] = lines.slice(start + 2, lines.indexOf("", start + 2) < 0 ? undefined : lines.indexOf("", start + 2)).filter((line) => !/^  and \d/.test(line)).map(cells);
  const asked = (row) => (row.at(-1) === "*" ? [...row.slice(0, -1).map((cell) => element("mark", {}, cell)), element("mark", {}, "yes")] : [...row, "no"]);
  return [element("div", { class: "outcomes", tabindex: "0", role: "region", "aria-label": "Outcomes" }, table([...names, "in question"], rows.map(asked)))];
}

function refuse(errors) {
  nothing(`${errors.length} error${errors.length === 1 ? "" : "s"}: nothing was run.`);
  mark(form, errors.filter((one) => one.field !== "text"));
  listed(errors.filter((one) => one.field === "text"), "error");
  state(text, "aria-invalid", errors.some((one) => one.field === "text"));
}

/** Shows the reason for a missing answer, and removes the answer to an earlier text. */
function nothing(why) {
  verdict.replaceChildren();
  status.textContent = why;
  mark(form, []);
  listed([], "error");
  placement([]);
  shown.replaceChildren();
}

/** Errors and warnings about the text, as the command prints them: each with its line and a mark below its column. */
function listed(wrong, level) {
  const list = document.querySelector("#messages");
  const lines = text.value.split("\n");
  list.replaceChildren(...wrong.map(({ line, column, message }) => {
    const go = element("button", { type: "button", class: level }, `${level}: ${message} (line ${line}, column ${column})`);
    go.onclick = () => select(lines, line, column);
    const source = lines[line - 1] ?? "";
    const mark = " ".repeat(Math.max(0, column - 1)) + "^";
    return element("li", {}, go, code(`Line ${line}`, `${source}\n${mark}`));
  }));
}

function select(lines, line, column) {
  const before = lines.slice(0, line - 1).reduce((sum, one) => sum + one.length + 1, 0);
  // Columns count characters, and selections units of UTF-16.
  const at = before + [...(lines[line - 1] ?? "")].slice(0, column - 1).join("").length;
  text.focus();
  text.setSelectionRange(at, at + 1);
}

/** A table with selection lists for each thread's GPU, cluster and CTA. */
function placement(threads) {
  places = threads;
  const fieldset = document.querySelector("#places");
  if (threads.length === 0) {
    fieldset.replaceChildren("Run the test first.");
    return;
  }
  const levels = ["gpu", "cluster", "cta"];
  const rows = threads.map((place, thread) => {
    const head = element("th", { scope: "row" }, `P${thread}`);
    if (place.host) return element("tr", {}, head, element("td", { colspan: levels.length }, `the host, ${place.host}`));
    const lists = levels.map((level) => {
      const values = level === "cluster" ? [null, 0, 1, 2, 3] : [0, 1, 2, 3];
      if (!values.includes(place[level])) values.push(place[level]);
      const options = values.map((value) => element("option", { value: value ?? "", selected: value === place[level] }, value === null ? "none" : String(value)));
      const list = element("select", { "aria-label": `${level} of P${thread}` }, ...options);
      list.onchange = () => move(thread, level, list.value === "" ? undefined : Number(list.value));
      return element("td", {}, list);
    });
    return element("tr", {}, head, ...lists);
  });
  const names = ["thread", ...levels].map((name) => element("th", { scope: "col" }, name));
  fieldset.replaceChildren(element("table", {}, element("thead", {}, element("tr", {}, ...names)), element("tbody", {}, ...rows)));
}

async function move(thread, level, number) {
  const { gpu, cluster, cta } = { ...places[thread], [level]: number };
  const before = text.value;
  // If the call fails, the run that ended it shows the failure.
  const placed = await engine.call("placed", before, thread, gpu, cluster ?? undefined, cta).catch(() => undefined);
  // A change of the text in the meantime takes precedence.
  if (placed !== undefined && text.value === before) {
    text.value = placed;
    await run();
    document.querySelector(`[aria-label="${level} of P${thread}"]`)?.focus();
  }
}

function command() {
  const { convention, profile, readings, rounds, choices, "time-limit": time } = question(form);
  const set = (option, value) => (value === "" || value === undefined ? [] : [`--${option} ${value}`]);
  const options = [
    ...set("convention", convention === "manual" ? "" : convention),
    ...set("profile", profile === "default" ? "" : profile),
    ...readings.split(",").map((one) => one.trim()).filter(Boolean).flatMap((one) => set("reading", one)),
    ...set("rounds", rounds),
    ...set("choices", choices),
    ...set("time-limit", time),
  ];
  return ["ptx-atomics litmus", named, ...options, "--outcomes --explain --svg execution.svg"].join(" ");
}

function asFile() {
  const link = element("a", { download: named });
  link.href = URL.createObjectURL(new Blob([text.value], { type: "text/plain" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

function asCommand() {
  const line = command();
  document.querySelector("#command").replaceChildren(element("code", {}, line), " ", copied(line));
}

/** The tests that the list offers, by their paths. */
async function examples() {
  const tests = {};
  const folders = await (await fetch(new URL("examples.json", import.meta.url))).json();
  for (const [folder, all] of Object.entries(folders)) {
    const named = (path) => element("option", { value: path }, path.replace(/^.*[/](.*)[.]litmus$/, "$1"));
    form.elements.example.append(element("optgroup", { label: folder }, ...Object.keys(all).map(named)));
    Object.assign(tests, all);
  }
  return tests;
}

/** Copies the text of the chosen example, if there is one, into the form. */
function take() {
  text.dataset.default = all[form.elements.example.value] ?? all["examples/litmus/message_passing.litmus"] ?? "";
  text.value = text.dataset.default;
}

/** Restores the fields from the address, and runs the test. */
async function restored() {
  restore(form);
  take();
  restore(form);
  await run();
}

// While a test runs, the editor does not ask for errors: the run reports them, too.
edit(text, "litmus", async (value) => (form.hasAttribute("aria-busy") ? [] : JSON.parse(await engine.call("unread", value, form.elements.convention.value))));
form.addEventListener("submit", (event) => event.preventDefault());
form.elements.run.onclick = run;
form.elements.stop.onclick = () => engine.stop();
form.elements.save.onclick = asFile;
form.elements.show.onclick = asCommand;
form.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) run();
});
form.elements.example.onchange = () => {
  take();
  run();
};
text.addEventListener("input", () => rememberSoon(form));
addEventListener("hashchange", restored);
const all = await examples().catch(() => ({}));
gallery(document.querySelector("#gallery"), all, BADGES);
document.querySelector("#gallery").addEventListener("click", ({ target }) => target.closest("a") && text.focus());
await restored();
ready(form);
