// The gallery of the page of litmus tests, ordered by shapes: each test is a card with its execution, which is drawn
// when the card becomes visible.
import { Engine, element } from "./page.js";

/** The shapes, each with an expression for the paths of its tests. The first matching shape is used. */
const SHAPES = [
  ["Message passing", "Data, then a flag; the reader observes the flag and expects the data", /litmus[/](MP|message_passing|cta_flag|cluster_flag|last_block)/],
  ["Store buffering", "Each thread writes a variable, then reads the other thread's", /litmus[/](SB|RWC|store_buffering)/],
  ["Load buffering", "Each thread reads a variable, then writes the other thread's", /litmus[/]LB/],
  ["Writes that race", "Whether all threads agree on the order of independent writes", /litmus[/](IRIW|2\+2W|R-|S-)/],
  ["Chains", "A thread passes on a write that it has observed", /litmus[/](WRC|ISA2|red-)/],
  ["Locks and exchanges", "Compare and swap, with the ordering of its failure", /litmus[/](spinlock|ticket_lock|cas-|exch)/],
  ["Barriers", "All threads of a CTA or a cluster wait for each other", /litmus[/]bar/],
  ["Asynchronous operations", "Copies, tensor cores and mbarriers, each with its most frequent mistake", /litmus[/]async[/]/],
  ["Threads of the host", "x86-64 or AArch64 with a GPU: either side polls, and the other raises the flag", /litmus[/]host[/]/],
  ["One location", "Reads and writes of the same bytes", /./],
];

const stem = (path) => path.replace(/^.*[/](.*)[.]litmus$/, "$1");

/** Fills an element with the cards of tests, by their paths, when the element is opened. */
export function gallery(place, tests, badges) {
  const engine = new Engine();
  const draw = async (card) => {
    const { answer } = JSON.parse(await engine.call("litmus", JSON.stringify({ text: tests[card.dataset.path] })));
    if (!answer) return;
    card.querySelector(".badge").textContent = badges[answer.badge];
    card.querySelector(".badge").classList.add(answer.badge);
    if (answer.svg) card.querySelector("img").src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(answer.svg)}`;
  };
  const seen = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting) continue;
      seen.unobserve(target);
      draw(target).catch(() => {});
    }
  });
  const card = (path) => {
    const said = [...tests[path].matchAll(/^"([^"\n]*)"$/gm)].map(([, line]) => line).join(" ");
    const made = element(
      "a",
      { href: `#example=${encodeURIComponent(path)}`, "data-path": path },
      element("span", { class: "frame" }, element("img", { alt: "" })),
      element("strong", {}, stem(path)),
      " ",
      element("span", { class: "badge" }),
      element("span", { class: "said" }, said),
    );
    seen.observe(made);
    return made;
  };
  const shown = () => {
    const paths = Object.keys(tests);
    const part = (shape) => {
      const [name, about] = shape;
      const own = paths.filter((path) => SHAPES.find(([, , names]) => names.test(path)) === shape);
      return element("section", {}, element("h2", {}, name), element("p", {}, about), element("div", { class: "cards" }, ...own.map(card)));
    };
    place.append(...SHAPES.map(part));
  };
  place.closest("details").addEventListener("toggle", shown, { once: true });
}
