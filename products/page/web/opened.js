// Shows why a page does not become ready. This file is not a module, because browsers do not load modules from files.
{
  const form = document.querySelector("form.ask");
  const say = (why) => (form.dataset.state = why);
  if (location.protocol === "file:") say("This page works only on a server: scripts/book --serve starts a server.");
  addEventListener("error", ({ target }) => target instanceof HTMLScriptElement && say(`This page cannot answer: ${target.src} or one of its files cannot be loaded.`), true);
}
