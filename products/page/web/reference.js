// The tables of the reference, filtered by the choices of the form: a GPU, a scope, a state space, a strategy, a type.
// The address has the choices. `reference` has the data; docs/reference/src/data.rs describes its format. This file is
// not a module, because browsers do not load modules from files.
{
  const form = document.querySelector("form.filter");
  const place = document.querySelector("#tables");
  const gpus = form.dataset.gpus.split(",");
  const OLD = "old";
  const { texts, types } = reference;

  const safe = (text) => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;");
  /** A text with code between backticks. */
  const coded = (text) => safe(text).split("`").map((part, index) => (index % 2 === 0 ? part : `<code>${part}</code>`)).join("");
  const link = (to, text) => `<a href="${safe(to)}">${text}</a>`;

  /**
   * The indices of the GPUs in a cell: `sm_20 to sm_50, sm_90 with ptx85`. A name without a version of PTX stands for
   * all versions.
   */
  const numbers = (cell) => {
    const named = (name) => gpus.flatMap((gpu, index) => (gpu === name || gpu.startsWith(`${name} with`) ? [index] : []));
    return cell.split(", ").flatMap((part) => {
      const [first, last] = part.split(" to ").map((name) => named(name.trim()));
      return last ? gpus.map((_, index) => index).filter((index) => index >= Math.min(...first) && index <= Math.max(...last)) : first;
    });
  };

  /** Whether the form selects the cell of a column. */
  const is = (name, cell, wanted) => {
    if (!wanted || cell === "all") return true;
    if (name !== "GPU") return cell.split(", ").includes(wanted);
    const has = numbers(cell);
    return wanted === OLD ? has.some((number) => number >= Number(form.dataset.first)) : has.includes(gpus.indexOf(wanted));
  };

  /** The renderers of columns. */
  const SHOWN = {
    PTX: (text, title) => coded(text).replace(/^code (\d+)$/m, (all, number) => link(`#${title}-code-${number}`, all)).replaceAll("\n", "<br>"),
    barriers: (text) => {
      const [range, where] = text.split("\n");
      return where ? `<details><summary>${range}</summary>${where}</details>` : range;
    },
    notes: (text) => text.split("\n").map((line) => line.replace(/^\S+/, (name) => link(`../reference.html#${name}`, name))).join("<br>"),
  };

  /** The selected rows of a table, as HTML; empty if no row is selected. */
  const table = ([head, ...rows], title, chosen) => {
    const names = head.map((number) => texts[number]);
    const cells = (row) => row.map((number) => texts[number]);
    const asked = rows.map(cells).filter((row) => row.every((cell, index) => is(names[index], cell, chosen[names[index]])));
    if (asked.length === 0) return { count: 0, html: "<p>No row matches the selection.</p>" };
    // On a telephone, each cell has its own line, with the name of its column.
    const shown = (cell, index) => `<td data-column="${names[index]}">${(SHOWN[names[index]] ?? safe)(cell, title)}`;
    const body = asked.map((row) => `<tr>${row.map(shown).join("")}`).join("");
    const columns = names.map((name) => `<th scope="col">${name}`).join("");
    return { count: asked.length, html: `<div class="table-wrapper"><table><thead><tr>${columns}<tbody>${body}</table></div>` };
  };

  const heading = (level, id, text) => `<h${level} id="${id}"><a class="header" href="#${id}">${text}</a></h${level}>`;

  const section = ({ title, needs, tables, codes }, chosen) => {
    let count = 0;
    const parts = tables.map(({ head, abi, explorer, own, others }) => {
      const known = table(own, title, chosen);
      count += known.count;
      return [
        heading(3, `${title}-${head.replaceAll(",", "").replaceAll(" ", "-")}`, `${title}: ${head}`),
        texts[abi] && `<p>${coded(texts[abi]).replaceAll("\n", "<br>")}</p>`,
        known.html,
        explorer && `<p>${link(`../explorer.html#${explorer}`, "Other targets and options")}</p>`,
        others && `<details><summary>Other compilers</summary>${table(others, title, chosen).html}</details>`,
      ].join("");
    });
    const used = codes.map((lines, index) => {
      const id = `${title}-code-${index + 1}`;
      const code = lines.map((number) => safe(texts[number])).join("\n");
      return parts.some((part) => part.includes(`"#${id}"`)) ? `<p id="${id}">Code ${index + 1}:</p><pre><code>${code}</code></pre>` : "";
    });
    const said = needs && `<p>Of the forms below, ${coded(needs)}.</p>`;
    return { count, html: `<section>${heading(2, title, title)}${said}${parts.join("")}${used.join("")}</section>` };
  };

  const show = () => {
    const chosen = Object.fromEntries(new FormData(form));
    const asked = types.filter(({ title }) => !chosen.type || title === chosen.type).map((type) => section(type, chosen));
    place.innerHTML = asked.map(({ html }) => html).join("");
    form.querySelector("output").textContent = `${asked.reduce((sum, { count }) => sum + count, 0)} rows`;
    dispatchEvent(new Event("resize"));
  };

  const remember = () => {
    const chosen = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value !== form.elements[name].options[0].value));
    history.replaceState(null, "", `${location.pathname}${chosen.size > 0 ? `?${chosen}` : ""}${location.hash}`);
  };

  /** Scrolls to the target of the address: the browser does not scroll to elements that a script makes later. */
  const follow = () => {
    if (location.hash) document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("keydown", (event) => event.stopPropagation());
  form.addEventListener("input", () => {
    remember();
    show();
  });
  const set = (name, value) => {
    const field = form.elements[name];
    if (field && [...field.options].some((option) => option.value === value)) field.value = value;
  };
  // A link to a heading selects its type.
  if (location.hash) set("type", location.hash.slice(1).split("-")[0]);
  for (const [name, value] of new URLSearchParams(location.search)) set(name, value);
  // The form starts after the scripts of the book have processed the page: with a thousand cells, these scripts would
  // take seconds.
  addEventListener("DOMContentLoaded", () => {
    form.hidden = false;
    show();
    follow();
    form.dataset.ready = performance.now().toFixed(0);
  });
}
