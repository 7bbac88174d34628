// Code that the pages share: the worker, the state in the address, and small pieces of HTML.

/**
 * The library in a worker. The first call starts the worker, and so does the next call after the worker was stopped or
 * has failed.
 */
export class Engine {
  #worker;
  #pending = new Map();
  #next = 0;
  #library;

  /** @param library The name of the file that wasm-bindgen generates. */
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

/** Stops the propagation of a form's keys to the book, whose arrow keys turn pages, and marks the form as ready. */
export function ready(form) {
  form.addEventListener("keydown", (event) => event.stopPropagation());
  form.dataset.ready = performance.now().toFixed(0);
}

let due;

/** Writes the fields of a form that do not have their defaults into the address. */
export function remember(form) {
  clearTimeout(due);
  const chosen = new URLSearchParams();
  for (const field of fields(form)) {
    if (value(field) !== field.dataset.default) chosen.set(field.name, value(field));
  }
  const hash = chosen.toString();
  history.replaceState(null, "", hash ? `#${hash}` : location.pathname + location.search);
}

/** The same after a pause in typing, because browsers limit how often a page may change its address. */
export function rememberSoon(form) {
  clearTimeout(due);
  due = setTimeout(() => remember(form), 300);
}

/** Sets the fields to the values in the address, and all other fields to their defaults. */
export function restore(form) {
  const chosen = new URLSearchParams(location.hash.slice(1));
  for (const field of fields(form)) {
    field.dataset.default ??= value(field);
    const wanted = chosen.get(field.name) ?? field.dataset.default;
    if (field.type === "checkbox") {
      field.checked = wanted === "true";
      continue;
    }
    // A value in a link is shown even if the list lacks it; the error of the answer explains it.
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

/** Shows the errors of the fields, and removes earlier errors. */
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

/** Sets an ARIA state to true, or removes it. */
export function state(of, name, is) {
  is ? of.setAttribute(name, "true") : of.removeAttribute(name);
}

/** An element for a text in which words between backticks are code. */
export function coded(text) {
  return element("span", {}, ...text.split("`").map((part, index) => (index % 2 === 0 ? part : element("code", {}, part))));
}

/** A scrollable code block, which can have the focus so that keys scroll it. */
export function code(label, ...lines) {
  return element("pre", { tabindex: "0", role: "region", "aria-label": label }, element("code", {}, ...lines));
}

/** A table with a header. */
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
