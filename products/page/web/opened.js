// Says why a page does not become ready. It is no module: browsers load no modules from files.
{
  const form = document.querySelector("form.ask");
  const say = (why) => (form.dataset.state = why);
  if (location.protocol === "file:") say("This page answers only where it is served: scripts/book --serve does that.");
  addEventListener("error", ({ target }) => target instanceof HTMLScriptElement && say(`This page cannot answer: ${target.src} or what it needs cannot be loaded.`), true);
}
