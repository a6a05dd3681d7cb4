"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const root = document.documentElement;
  const still = matchMedia("(prefers-reduced-motion: reduce)");

  // Theme: what the system says, until the reader says otherwise.
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const toggleTheme = () => {
    root.dataset.theme = dark() ? "light" : "dark";
    try { localStorage.setItem("headway.theme", root.dataset.theme) } catch {}
  };
  $("theme").addEventListener("click", toggleTheme);

  // Filter: every word must occur in the name or the file.
  const filter = $("filter");
  const items = [...document.querySelectorAll("[data-search]")];
  const rows = items.filter(e => e.closest("#overview"));
  const apply = () => {
    const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const e of items) e.hidden = !words.every(w => e.dataset.search.includes(w));
    const shown = rows.filter(e => !e.hidden).length;
    $("count").textContent = words.length ? shown + " of " + rows.length : "";
    $("nomatch").hidden = shown > 0 || !words.length;
  };
  if (filter) {
    filter.addEventListener("input", apply);
    if (filter.value) apply(); // kept by the browser over a reload
  }

  // Cards: j and k.
  const cards = () => [...document.querySelectorAll(".card")].filter(e => !e.hidden);
  const go = e => {
    e.focus({ preventScroll: true });
    e.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "start" });
  };
  let at = null;
  const step = by => {
    const all = cards();
    if (!all.length) return;
    const i = all.indexOf(document.activeElement?.closest?.(".card") || at);
    at = all[i < 0 ? (by > 0 ? 0 : all.length - 1) : Math.min(Math.max(i + by, 0), all.length - 1)];
    go(at);
  };

  const help = $("keys");
  $("help").addEventListener("click", () => help.showModal());
  help.addEventListener("click", e => { if (e.target === help) help.close() });

  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || help.open) return;
    if (e.target === filter) {
      if (e.key === "Escape") { filter.value = ""; apply(); filter.blur() }
      if (e.key === "Enter") { filter.blur(); step(1) }
      return;
    }
    const act = {
      j: () => step(1), ArrowRight: () => step(1), k: () => step(-1), ArrowLeft: () => step(-1),
      "/": () => { filter?.focus(); filter?.select() },
      o: () => { at = null; document.activeElement?.blur(); go($("overview")) },
      t: toggleTheme, "?": () => help.showModal(),
      Escape: () => { if (filter) { filter.value = ""; apply() } },
    }[e.key];
    // Arrows scroll what can scroll; only elsewhere do they move between cards.
    if (!act || e.key.startsWith("Arrow") && e.target.closest("pre, .scroll")) return;
    e.preventDefault();
    act();
  });

  // Tooltip: the titles serve those without a script.
  const tip = $("tip");
  for (const spot of document.querySelectorAll("[data-tip]")) {
    spot.querySelector("title")?.remove();
    const show = e => {
      const [head, ...rest] = spot.dataset.tip.split(/(?<=:) |, (?=interval|n=|a classic)/);
      tip.replaceChildren(...[head, ...rest].map((line, i) => Object.assign(document.createElement(i ? "div" : "b"), { textContent: line })));
      tip.hidden = false;
      const mark = spot.querySelector("circle").getBoundingClientRect(), box = tip.getBoundingClientRect();
      const left = mark.left + mark.width / 2 - box.width / 2;
      const above = mark.top - box.height - 10;
      tip.style.left = Math.min(Math.max(left, 8), root.clientWidth - box.width - 8) + "px";
      tip.style.top = (above < 60 ? mark.bottom + 10 : above) + "px";
      spot.classList.add("on");
    };
    const hide = () => { tip.hidden = true; spot.classList.remove("on") };
    spot.addEventListener("pointerenter", show);
    spot.addEventListener("pointerleave", hide);
    spot.addEventListener("pointercancel", hide);
  }
  addEventListener("scroll", () => { tip.hidden = true }, { passive: true });
})();
