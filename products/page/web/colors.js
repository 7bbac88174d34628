// Colors of PTX, litmus tests and LLVM IR, by the grammars for editors. This file supports the features that these
// grammars use.
import { element } from "./page.js";

const grammars = new Map();

/**
 * Loads a grammar by its name, and compiles the expressions of its rules; an `include` of another grammar is resolved
 * when that grammar is loaded.
 */
export async function load(name) {
  if (!grammars.has(name)) {
    const file = await (await fetch(new URL(`${name}.tmLanguage.json`, import.meta.url))).json();
    grammars.set(name, file);
    const others = JSON.stringify(file).matchAll(/"include":"source[.](\w+)"/g);
    await Promise.all([...others].map(([, other]) => load(other)));
  }
  return rules(grammars.get(name).patterns, grammars.get(name));
}

/** The rules of patterns. Included rules are at the position of their `include`. */
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

/**
 * Splits a line into parts, each a text or an element with its scope. Also returns the rules that are still open after
 * the line.
 */
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
    // A group has its own scope; the text outside of groups has the scope of the whole match.
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
