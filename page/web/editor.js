// An editor: numbers of lines, colors, and what is wrong with a line while it is typed. It is a textarea, whose keys and name stay its own, over a
// picture of the lines that are seen. Colors are by the grammars for editors, of which this reads the parts that they use.
import { element } from "./page.js";

/** How long nothing is typed before the text is looked at, in milliseconds. */
const PAUSE = 400;
/** Lines in front of those that are seen from which on a comment of many lines is known. */
const BEFORE = 200;

const grammars = new Map();

/** A grammar by its name, with the expressions of its rules compiled; `include` of another one is known when that is there. */
async function load(name) {
  if (!grammars.has(name)) {
    const file = await (await fetch(new URL(`${name}.tmLanguage.json`, import.meta.url))).json();
    grammars.set(name, file);
    const others = JSON.stringify(file).matchAll(/"include":"source[.](\w+)"/g);
    await Promise.all([...others].map(([, other]) => load(other)));
  }
  return rules(grammars.get(name).patterns, grammars.get(name));
}

/** The rules of patterns, with those of other places in their order. */
function rules(patterns, grammar) {
  const compiled = (text) => new RegExp(text, "dgm");
  return patterns.flatMap((pattern) => {
    if (pattern.include?.startsWith("#")) return rules([grammar.repository[pattern.include.slice(1)]], grammar);
    if (pattern.include) {
      const other = grammars.get(pattern.include.replace("source.", ""));
      return rules(other.patterns, other);
    }
    if (!pattern.match && !pattern.begin) return rules(pattern.patterns, grammar);
    const { name, captures, beginCaptures, end, patterns: inner = [] } = pattern;
    const scopes = { 0: name, ...Object.fromEntries(Object.entries(captures ?? beginCaptures ?? {}).map(([group, of]) => [group, of.name])) };
    return [{ start: compiled(pattern.match ?? pattern.begin), scopes, name, end: end && compiled(end), inner: end ? rules(inner, grammar) : [] }];
  });
}

/** A line in parts that have a scope or none, and the rules that are open behind it. */
function colored(line, all, open) {
  const parts = [];
  const add = (text, scope) => text && parts.push([text, scope]);
  let at = 0;
  for (;;) {
    const within = open.at(-1);
    const first = (expression) => ((expression.lastIndex = at), expression.exec(line));
    let best = within && { found: first(within.end), ends: true };
    for (const rule of within ? within.inner : all) {
      const found = first(rule.start);
      if (found?.[0] && !(best?.found?.index <= found.index)) best = { found, rule };
    }
    if (!best?.found) break;
    const { found, rule, ends } = best;
    add(line.slice(at, found.index), within?.name);
    at = found.index + found[0].length;
    if (ends) {
      add(found[0], within.name);
      open = open.slice(0, -1);
      continue;
    }
    // A group has its own scope, and the rest that of the whole.
    let done = found.index;
    for (const [group, scope] of Object.entries(rule.scopes).filter(([group]) => group !== "0" && found.indices[group])) {
      const [from, to] = found.indices[group];
      add(line.slice(done, from), rule.scopes[0]);
      add(line.slice(from, to), scope);
      done = to;
    }
    add(line.slice(done, at), rule.scopes[0]);
    if (rule.end) open = [...open, rule];
  }
  add(line.slice(at), open.at(-1)?.name);
  return { parts, open };
}

/**
 * Makes an editor of a textarea. `wrong` may say, as a promise, what is wrong with a text while it is typed: lines, columns and messages; what
 * it rejects is not said.
 */
export function edit(text, grammar, wrong) {
  const numbers = element("span", { class: "numbers" });
  const code = element("span", { class: "code" });
  const picture = element("pre", { class: "picture", "aria-hidden": "true" }, numbers, code);
  const said = element("p", { class: "typed", role: "status" });
  const place = element("div", { class: "editing" });
  text.before(place);
  place.append(picture, text);
  place.after(said);
  let all = [];
  let lines = [];
  let faults = [];

  const draw = () => {
    const style = getComputedStyle(text);
    const height = parseFloat(style.lineHeight);
    const from = Math.max(0, Math.floor(text.scrollTop / height));
    const to = Math.min(lines.length, from + Math.ceil(text.clientHeight / height) + 1);
    let open = [];
    const shown = [];
    for (let at = Math.max(0, from - BEFORE); at < to; at++) {
      const known = colored(lines[at], all, open);
      open = known.open;
      if (at < from) continue;
      const fault = faults.some(({ line }) => line === at + 1);
      const parts = known.parts.map(([part, scope]) => (scope ? element("span", { "data-scope": scope }, part) : part));
      shown.push(element("span", { class: fault && "fault" }, ...parts, "\n"));
    }
    const mark = (at) => (faults.some(({ line }) => line === at + 1) ? element("b", { class: "fault" }, `${at + 1}\n`) : `${at + 1}\n`);
    numbers.replaceChildren(...Array.from({ length: to - from }, (_, index) => mark(from + index)));
    code.replaceChildren(...shown);
    numbers.style.transform = `translateY(${from * height - text.scrollTop}px)`;
    code.style.transform = `translate(${-text.scrollLeft}px, ${from * height - text.scrollTop}px)`;
    place.style.setProperty("--digits", String(lines.length).length);
  };

  const tell = (found) => {
    faults = found;
    const [first] = found;
    const more = found.length > 1 ? ` And ${found.length - 1} more.` : "";
    said.textContent = first ? `Line ${first.line}: ${first.message}.${more}` : "";
    draw();
  };
  const take = () => {
    lines = text.value.split("\n");
    tell([]);
  };

  let due;
  const look = () => {
    clearTimeout(due);
    due = wrong && setTimeout(async () => {
      const { value } = text;
      const found = value.trim() === "" ? [] : await wrong(value).catch(() => []);
      if (text.value === value) tell(found.filter(({ line }) => line));
    }, PAUSE);
  };

  // What a script sets is no event.
  const { get, set } = Object.getOwnPropertyDescriptor(HTMLTextAreaElement.prototype, "value");
  Object.defineProperty(text, "value", {
    get: () => get.call(text),
    set: (value) => {
      set.call(text, value);
      clearTimeout(due);
      take();
    },
  });
  text.addEventListener("input", () => {
    take();
    look();
  });
  text.addEventListener("scroll", draw);
  new ResizeObserver(draw).observe(text);
  load(grammar).then(
    (rules) => {
      all = rules;
      place.classList.add("colored");
      take();
    },
    () => {},
  );
  take();
}
