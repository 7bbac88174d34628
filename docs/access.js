// Of the whole book: what its template lacks for those who have no mouse, or do not see the page.
{
  const main = document.querySelector("main");
  main.tabIndex = -1;
  const skip = document.createElement("a");
  skip.className = "skip";
  skip.href = "#";
  skip.textContent = "Skip to the content";
  skip.onclick = (event) => {
    // Pages have their state in the address.
    event.preventDefault();
    (main.querySelector("form.ask :is(textarea, select, input)") ?? main).focus();
  };
  const first = document.createElement("nav");
  first.setAttribute("aria-label", "Skip");
  first.append(skip);
  document.body.prepend(first);

  document.querySelector("#mdbook-menu-bar")?.setAttribute("role", "banner");

  // A button for the label of a hidden checkbox; the links of a hidden table of contents cannot have the focus.
  const label = document.querySelector("#mdbook-sidebar-toggle");
  const contents = document.querySelector("#mdbook-sidebar");
  if (label && contents) {
    const button = document.createElement("button");
    button.type = "button";
    button.className = label.className;
    button.title = label.title;
    button.setAttribute("aria-label", label.title);
    button.setAttribute("aria-controls", contents.id);
    button.append(...label.childNodes);
    button.onclick = () => label.click();
    label.after(button);
    label.hidden = true;
    const follow = () => {
      contents.inert = contents.getAttribute("aria-hidden") === "true";
      button.setAttribute("aria-expanded", String(!contents.inert));
    };
    new MutationObserver(follow).observe(contents, { attributeFilter: ["aria-hidden"] });
    follow();
  }

  // Which version this is of; scripts/book writes it.
  const version = document.createElement("p");
  version.className = "version";
  version.textContent = "ptx-atomics, of this repository";
  main.append(version);

  // What scrolls can have the focus, and so be scrolled by keys.
  const parts = () => main.querySelectorAll("pre > code, .table-wrapper, p:has(> img)");
  const scrolling = () => parts().forEach((part) => (part.scrollWidth > part.clientWidth ? (part.tabIndex = 0) : part.removeAttribute("tabindex")));
  addEventListener("resize", scrolling);
  addEventListener("load", scrolling);
  scrolling();

  // PTX and LLVM IR, which the book's highlighter does not know. From files, browsers load no modules: there, they have no colors.
  const blocks = main.querySelectorAll("code:is(.language-ptx, .language-llvm)");
  if (blocks.length > 0) import(new URL("page/colors.js", document.currentScript.src)).then(({ color }) => Promise.all([...blocks].map(color))).catch(() => {});
}
