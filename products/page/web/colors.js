// Colors of PTX, litmus tests and LLVM IR, by the grammars for editors, of which this reads the parts that they use.
import { element } from "./page.js";

const grammars = new Map();

/** A grammar by its name, with the expressions of its rules compiled; `include` of another one is known when that is there. */
export async function load(name) {
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

/** A line in parts, each text or an element with its scope, and the rules that are open behind it. */
export function colored(line, all, open) {
  const parts = [];
  const add = (text, scope) => text && parts.push(scope ? element("span", { "data-scope": scope }, text) : text);
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

/** Colors a block of code. */
export async function color(code) {
  const text = code.textContent;
  const grammar = code.matches(".language-llvm") ? "llvm" : text.startsWith("PTX ") ? "litmus" : "ptx";
  const all = await load(grammar);
  let open = [];
  const lines = text.split("\n").map((line) => {
    const known = colored(line, all, open);
    open = known.open;
    return known.parts;
  });
  code.replaceChildren(...lines.flatMap((parts, index) => (index > 0 ? ["\n", ...parts] : parts)));
}
