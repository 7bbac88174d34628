// An editor with line numbers, colors, and errors of lines while the user types. The editor is a textarea, which keeps
// its keys and its name, over a picture of the visible lines.
import { colored, load } from "./colors.js";
import { element } from "./page.js";

/** The time without typing before the text is checked, in milliseconds. */
const PAUSE = 400;
/** The number of lines before the visible lines that are parsed, to detect comments of many lines. */
const BEFORE = 200;

/**
 * Makes an editor of a textarea. `wrong` may return a promise for the errors of a text while the user types: lines,
 * columns and messages. A rejected promise shows no errors.
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
      shown.push(element("span", { class: fault && "fault" }, ...known.parts, "\n"));
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

  // An assignment by a script raises no event.
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
