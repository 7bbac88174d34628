// What the pages share: the worker, the state in the address, and small pieces of HTML.

/** The library in a worker, which is started by the first call, and again by the next one after it was stopped or failed. */
export class Engine {
  #worker;
  #pending = new Map();
  #next = 0;
  #library;

  /** @param library The name of the file that wasm-bindgen has made. */
  constructor(library = "ptx_atomics_page") {
    this.#library = library;
  }

  #start() {
    const worker = new Worker(new URL("worker.js", import.meta.url), { type: "module", name: this.#library });
    worker.onmessage = ({ data: { id, value, failed } }) => {
      if (failed !== undefined) {
        this.stop(failed);
        return;
      }
      this.#pending.get(id).resolve(value);
      this.#pending.delete(id);
    };
    worker.onerror = (event) => {
      event.preventDefault();
      this.stop(event.message || "the library of this page cannot be loaded");
    };
    return worker;
  }

  /** Calls a function of the library. */
  call(name, ...args) {
    this.#worker ??= this.#start();
    const id = this.#next++;
    return new Promise((resolve, reject) => {
      this.#pending.set(id, { resolve, reject });
      this.#worker.postMessage({ id, name, args });
    });
  }

  /** Ends all calls. */
  stop(why = "stopped") {
    this.#worker?.terminate();
    this.#worker = undefined;
    const pending = [...this.#pending.values()];
    this.#pending.clear();
    pending.forEach(({ reject }) => reject(new Error(why)));
  }
}

/** An element with attributes and children; text is text, never HTML. */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children);
  return made;
}

/** Keeps the keys of a form from the book, whose arrows turn pages, and says that the form answers. */
export function ready(form) {
  form.addEventListener("keydown", (event) => event.stopPropagation());
  form.dataset.ready = performance.now().toFixed(0);
}

let due;

/** Writes the fields of a form that are not at their defaults into the address. */
export function remember(form) {
  clearTimeout(due);
  const chosen = new URLSearchParams();
  for (const field of fields(form)) {
    if (value(field) !== field.dataset.default) chosen.set(field.name, value(field));
  }
  const hash = chosen.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

/** The same, when nothing was typed for a moment: browsers bound how often a page may do it. */
export function rememberSoon(form) {
  clearTimeout(due);
  due = setTimeout(() => remember(form), 300);
}

/** Sets the fields to what the address says, and all others to their defaults. */
export function restore(form) {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const field of fields(form)) {
    field.dataset.default ??= value(field);
    const wanted = chosen.get(field.name) ?? field.dataset.default;
    if (field.type === "checkbox") {
      field.checked = wanted === "true";
      continue;
    }
    // What somebody linked is shown, though no list has it: its error says so.
    if (field.tagName === "SELECT" && ![...field.options].some((option) => option.value === wanted)) {
      field.append(element("option", { value: wanted }, wanted));
    }
    field.value = wanted;
  }
}

/** The values of the fields whose names begin with a prefix, under the rest of the name. */
export function question(form, prefix = "") {
  const named = fields(form).filter((field) => field.name.startsWith(prefix));
  return Object.fromEntries(named.map((field) => [field.name.slice(prefix.length), field.type === "checkbox" ? field.checked : field.value]));
}

function fields(form) {
  return [...form.elements].filter((field) => field.name);
}

function value(field) {
  return field.type === "checkbox" ? String(field.checked) : field.value;
}

/** Says of each field what is wrong with it, and of all fields that nothing is wrong any more. */
export function mark(form, wrong) {
  form.querySelectorAll(".wrong").forEach((message) => message.remove());
  for (const field of fields(form)) {
    const messages = wrong.filter((one) => one.field === field.name);
    state(field, "aria-invalid", messages.length > 0);
    field.removeAttribute("aria-describedby");
    if (messages.length === 0) continue;
    field.setAttribute("aria-describedby", `${field.id}-wrong`);
    const text = messages.map((one) => one.message).join("; ");
    field.closest("label, .editor").after(element("p", { class: "wrong", id: `${field.id}-wrong` }, text));
  }
}

/** An ARIA state that is true or not there. */
export function state(of, name, is) {
  is ? of.setAttribute(name, "true") : of.removeAttribute(name);
}

/** A text whose words between backticks are code. */
export function coded(text) {
  return element("span", {}, ...text.split("`").map((part, index) => (index % 2 === 0 ? part : element("code", {}, part))));
}

/** Code that may scroll, and can have the focus for that. */
export function code(label, ...lines) {
  return element("pre", { tabindex: "0", role: "region", "aria-label": label }, element("code", {}, ...lines));
}

/** A table with a line of names. */
export function table(names, rows) {
  const cells = (kind, row) => element("tr", {}, ...row.map((cell) => element(kind, kind === "th" ? { scope: "col" } : {}, cell)));
  return element("table", {}, element("thead", {}, cells("th", names)), element("tbody", {}, ...rows.map((row) => cells("td", row))));
}

/** A button that copies a text. */
export function copied(text) {
  const button = element("button", { type: "button" }, "Copy");
  button.onclick = async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = "Copy"), 1500);
  };
  return button;
}
