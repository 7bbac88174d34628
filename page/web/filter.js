// The tables of the reference, as far as they are asked for: a GPU, a scope, a state space, a strategy, a type. What is chosen is in the address.
// It is no module: browsers load no modules from files.
{
  const form = document.querySelector("form.filter");
  const gpus = form.dataset.gpus.split(",");
  const OLD = "old";

  /** The numbers of the GPUs of a cell: `sm_20 to sm_50, sm_90 with ptx85`. A name without a version of PTX is of all its versions. */
  const numbers = (cell) => {
    if (cell === "all") return gpus.map((_, index) => index);
    const named = (name) => gpus.flatMap((gpu, index) => (gpu === name || gpu.startsWith(`${name} with`) ? [index] : []));
    return cell.split(", ").flatMap((part) => {
      const [first, last] = part.split(" to ").map((name) => named(name.trim()));
      return last ? gpus.map((_, index) => index).filter((index) => index >= Math.min(...first) && index <= Math.max(...last)) : first;
    });
  };

  /** Whether a row is asked for. */
  const is = (row, names) => {
    const chosen = new FormData(form);
    return names.every((name, index) => {
      const wanted = chosen.get(name);
      const cell = row.cells[index].textContent.trim();
      if (!wanted) return true;
      if (name !== "GPU") return cell === "all" || cell.split(", ").includes(wanted);
      const has = numbers(cell);
      return wanted === OLD ? has.some((number) => number >= Number(form.dataset.first)) : has.includes(gpus.indexOf(wanted));
    });
  };

  const show = () => {
    for (const table of document.querySelectorAll("main table")) {
      const names = [...table.tHead.rows[0].cells].map((cell) => cell.textContent.trim());
      const rows = [...table.tBodies[0].rows];
      rows.forEach((row) => (row.hidden = !is(row, names)));
    }
    const type = form.elements.type.value;
    let hidden = false;
    for (const part of document.querySelector("main").children) {
      if (part.tagName === "H2") hidden = type !== "" && part.textContent.trim() !== type;
      if (part !== form && part.className !== "version") part.hidden = hidden;
    }
    const count = document.querySelectorAll("main tbody tr:not([hidden])").length;
    form.querySelector("output").textContent = `${count} rows`;
  };

  const remember = () => {
    const chosen = new URLSearchParams([...new FormData(form)].filter(([name, value]) => value !== (name === "GPU" ? OLD : "")));
    history.replaceState(null, "", `${location.pathname}${chosen.size > 0 ? `?${chosen}` : ""}${location.hash}`);
  };

  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("keydown", (event) => event.stopPropagation());
  form.addEventListener("input", () => {
    remember();
    show();
  });
  for (const [name, value] of new URLSearchParams(location.search)) {
    const field = form.elements[name];
    if (field && [...field.options].some((option) => option.value === value)) field.value = value;
  }
  form.hidden = false;
  show();
  // A link to what was hidden has moved.
  if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
}
