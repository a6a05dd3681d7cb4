"use strict";
(() => {
  const $ = id => document.getElementById(id);
  const all = selector => [...document.querySelectorAll(selector)];
  const root = document.documentElement, body = document.body;
  const still = matchMedia("(prefers-reduced-motion: reduce)");
  const store = { get: k => { try { return localStorage.getItem(k) } catch { return null } }, set: (k, v) => { try { localStorage.setItem(k, v) } catch {} } };
  const make = (tag, text, attributes = {}) => { const e = document.createElement(tag); if (text) e.textContent = text; for (const k in attributes) e.setAttribute(k, attributes[k]); return e };
  const say = (id, text) => { const e = $(id); if (e && e.textContent !== text) e.textContent = text };
  const number = body.dataset.number;

  // Theme: what the system says, until the reader says otherwise.
  const dark = () => (root.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
  const toggleTheme = () => store.set("headway.theme", root.dataset.theme = dark() ? "light" : "dark");
  $("theme").addEventListener("click", toggleTheme);

  // The position: told once a second, drawn as it moves between.
  const map = $("map");
  const spot = (lat, lon) => `M${(lon * 10).toFixed(1)} ${(-lat * 10).toFixed(1)}h0`;
  const around = lon => ((lon + 540) % 360 + 360) % 360 - 180;
  const coordinate = (v, positive, negative) => `${Math.abs(v).toFixed(3)}° ${v < 0 ? negative : positive}`;
  const light = { sunlit: "in sunlight", penumbra: "in twilight", umbra: "in the Earth’s shadow" };
  const whole = v => v.toFixed(0).replace(/\B(?=(\d{3})+$)/g, "\u202f");
  let last = null, before = null, arrived = 0;

  const draw = () => {
    if (!last) return;
    let { latitude: lat, longitude: lon, altitude_km: alt } = last;
    const since = Math.min(performance.now() - arrived, 3000);
    if (before && last.ms > before.ms && last.ms - before.ms < 5000) {
      const part = since / (last.ms - before.ms);
      lat = Math.max(-90, Math.min(90, lat + (lat - before.latitude) * part));
      lon = around(lon + around(lon - before.longitude) * part);
      alt += (alt - before.altitude_km) * part;
    }
    const d = spot(lat, lon);
    for (const e of all("[data-spot]")) e.setAttribute("d", d);
    say("lat", coordinate(lat, "N", "S"));
    say("lon", coordinate(lon, "E", "W"));
    say("alt", alt.toFixed(1) + " km");
  };

  const link = (state, text) => { const e = $("link"); if (!e) return; e.className = "link " + state; if (e.textContent !== text) e.textContent = text };
  const told = m => {
    before = last; last = m; arrived = performance.now();
    say("over", m.over);
    say("loc", m.loc || m.note || "");
    const f = (m.loc || "").split(" ");
    if (f.length > 8) { say("lat-more", f.slice(0, 4).join(" ")); say("lon-more", f.slice(4, 8).join(" ")) }
    say("speed", m.speed_km_s.toFixed(2) + " km/s");
    say("speed-more", whole(m.speed_km_s * 3600) + " km/h");
    say("light", light[m.light] || m.light);
    say("age", m.age);
    $("footprint").setAttribute("d", m.footprint);
    if (m.drawn) {
      $("past").setAttribute("d", m.drawn.past);
      $("next").setAttribute("d", m.drawn.next);
      m.drawn.night.forEach((d, i) => document.querySelector(`[data-night="${i}"]`).setAttribute("d", d));
      for (const e of all("[data-sun]")) e.setAttribute("d", m.drawn.sun);
    }
    link("live", "live, " + new Date(m.ms).toISOString().slice(11, 19) + " UTC");
    draw();
    countdown(m.ms);
  };

  let source = null;
  const follow = () => {
    if (source || !map || !window.EventSource) return;
    source = new EventSource(`/api/v1/live/${number}`);
    source.addEventListener("moment", e => told(JSON.parse(e.data)));
    source.addEventListener("gone", e => { link("lost", JSON.parse(e.data).error); unfollow() });
    source.addEventListener("error", () => {
      link("lost", "connection lost, trying again");
      // After an answer that is no stream the browser gives up; we do not.
      if (source && source.readyState === EventSource.CLOSED) { unfollow(); setTimeout(follow, 15000 + Math.random() * 15000) }
    });
  };
  const unfollow = () => { source?.close(); source = null };
  // Nobody looks: nobody needs to be told.
  document.addEventListener("visibilitychange", () => { if (document.hidden) { unfollow() } else { before = last = null; follow() } });
  addEventListener("pagehide", unfollow);
  addEventListener("pageshow", e => { if (e.persisted) follow() });
  follow();
  setInterval(() => { if (!still.matches && !document.hidden) draw() }, 100);

  // Search: a combobox as the ARIA practices have it.
  const find = $("find"), found = $("found");
  let options = [], chosen = -1, moved = false, asking = null, timer = 0;
  find.setAttribute("role", "combobox");
  for (const [k, v] of [["aria-autocomplete", "list"], ["aria-expanded", "false"], ["aria-controls", "found"], ["aria-haspopup", "listbox"]]) find.setAttribute(k, v);
  const shut = () => { clearTimeout(timer); asking?.abort(); found.hidden = true; find.setAttribute("aria-expanded", "false"); find.removeAttribute("aria-activedescendant"); chosen = -1; moved = false };
  const choose = i => {
    chosen = i;
    options.forEach((o, k) => o.setAttribute("aria-selected", k === i));
    if (i < 0) { find.removeAttribute("aria-activedescendant"); return }
    find.setAttribute("aria-activedescendant", options[i].id);
    options[i].scrollIntoView({ block: "nearest" });
  };
  const open = label => location.assign("/?object=" + encodeURIComponent(label));
  const search = async () => {
    const q = find.value.trim();
    asking?.abort();
    if (!q) { options = []; shut(); return }
    asking = new AbortController();
    try {
      const answer = await fetch("/api/v1/objects?limit=12&q=" + encodeURIComponent(q), { signal: asking.signal });
      if (!answer.ok) throw new Error(answer.status);
      const { objects } = await answer.json();
      const kept = moved && chosen >= 0 ? options[chosen].dataset.label : ""; // what was chosen stays so while the list changes
      options = objects.map((o, i) => {
        const li = make("li", "", { role: "option", id: "o" + i, "aria-selected": "false", "data-label": o.label });
        li.append(make("span", o.name || o.label), make("small", String(o.number)));
        return li;
      });
      found.replaceChildren(...(options.length ? options : [make("li", "nothing found")]));
      found.hidden = false;
      find.setAttribute("aria-expanded", String(options.length > 0));
      const again = options.findIndex(o => o.dataset.label === kept);
      moved = again >= 0;
      choose(options.length ? Math.max(again, 0) : -1);
    } catch (e) { if (e.name !== "AbortError") { found.replaceChildren(make("li", "the server does not answer")); found.hidden = false } }
  };
  find.addEventListener("input", () => { clearTimeout(timer); timer = setTimeout(search, 120) });
  find.addEventListener("keydown", e => {
    const n = options.length;
    if (e.key === "ArrowDown" || e.key === "ArrowUp") {
      e.preventDefault();
      if (found.hidden) { search(); return }
      moved = true;
      if (n) choose((chosen + (e.key === "ArrowDown" ? 1 : n - 1)) % n);
    } else if (e.key === "Enter" && !found.hidden && chosen >= 0) {
      e.preventDefault();
      open(options[chosen].dataset.label);
    } else if (e.key === "Escape") {
      if (found.hidden) { find.value = ""; find.blur() } else shut();
      e.preventDefault();
    }
  });
  found.addEventListener("pointerdown", e => e.preventDefault()); // the focus stays
  found.addEventListener("click", e => { const o = e.target.closest("[data-label]"); if (o) open(o.dataset.label) });
  find.addEventListener("blur", shut);

  // Your place, and the passes over it.
  const lat = $("place-lat"), lon = $("place-lon");
  const points = ["N", "NE", "E", "SE", "S", "SW", "W", "NW"];
  const compass = a => points[Math.round(a / 45) & 7];
  const format = options => { const f = new Intl.DateTimeFormat(undefined, options); return t => f.format(new Date(t)) };
  const day = format({ weekday: "short", day: "numeric", month: "short" }), time = format({ hour: "2-digit", minute: "2-digit" }), few = 6;
  let passes = [], computing = null, later = 0;
  const countdown = now => {
    const e = $("countdown"), p = passes.find(p => !p.set || Date.parse(p.set.time) > now);
    e.hidden = !p;
    if (!p) return;
    const rise = p.rise ? Date.parse(p.rise.time) : -Infinity, s = Math.max(0, Math.round((rise - now) / 1000));
    const left = s >= 3600 ? `${Math.floor(s / 3600)} h ${Math.floor(s % 3600 / 60)} min` : s >= 60 ? `${Math.floor(s / 60)} min ${s % 60} s` : `${s} s`;
    say("countdown", rise <= now ? "It is up now" + (p.set ? `, until ${time(p.set.time)}.` : ".") : `It rises in ${left}${p.visible ? ", and can be seen" : ""}.`);
  };
  const showPasses = async () => {
    const a = parseFloat(lat.value), b = parseFloat(lon.value);
    const valid = lat.checkValidity() && lon.checkValidity() && isFinite(a) && isFinite(b);
    for (const e of all("[data-you]")) e.setAttribute("d", valid ? spot(a, b) : "");
    if (!valid) return;
    const place = [a.toFixed(2), b.toFixed(2)];
    store.set("headway.place", place.join(","));
    computing?.abort();
    computing = new AbortController();
    try {
      const answer = await fetch(`/api/v1/passes/${number}?lat=${place[0]}&lon=${place[1]}`, { signal: computing.signal });
      const v = await answer.json();
      if (!answer.ok) throw new Error(v.error);
      passes = v.passes;
      $("passes-rows").replaceChildren(...passes.map((p, i) => {
        const tr = make("tr"), eye = make("td");
        const seen = !p.visible ? "not visible" : p.highest.range_km > 3000 ? "sunlit, but far" : "visible";
        eye.append(make("span", seen, { class: seen === "visible" ? "verdict gain" : "soft" }));
        tr.append(make("th", day(p.highest.time), { scope: "row" }),
          make("td", p.rise ? `${time(p.rise.time)} ${compass(p.rise.azimuth)}` : "up already"),
          make("td", `${time(p.highest.time)}, ${Math.round(p.highest.elevation)}° ${compass(p.highest.azimuth)}`),
          make("td", p.set ? `${time(p.set.time)} ${compass(p.set.azimuth)}` : "stays up"), eye);
        tr.hidden = i >= few;
        return tr;
      }));
      $("more").hidden = passes.length <= few;
      say("more", `Show all ${passes.length}`);
      $("passes-scroll").hidden = !passes.length;
      say("passes-note", passes.length ? v.note || "" : "It does not rise 10° above the horizon there within three days.");
      say("zone-of-times", `Times are this device’s (${Intl.DateTimeFormat().resolvedOptions().timeZone}). Visible means that it is sunlit while it is dark where you are.`);
      countdown(last?.ms ?? Date.now());
    } catch (e) { if (e.name !== "AbortError") { passes = []; countdown(0); $("passes-scroll").hidden = $("more").hidden = true; say("passes-note", e.message || "The server does not answer.") } }
  };
  $("more").addEventListener("click", () => {
    const hidden = all("#passes-rows [hidden]");
    for (const tr of hidden) tr.hidden = false;
    $("more").hidden = true;
    hidden[0]?.querySelector("th")?.setAttribute("tabindex", "-1");
    hidden[0]?.querySelector("th")?.focus();
  });
  const soon = () => { clearTimeout(later); later = setTimeout(showPasses, 300) };
  const goTo = (a, b) => { lat.value = Math.max(-90, Math.min(90, a)).toFixed(2); lon.value = around(b).toFixed(2); for (const e of all("[data-you]")) e.setAttribute("d", spot(+lat.value, +lon.value)); soon() };
  $("place").addEventListener("submit", e => { e.preventDefault(); showPasses() });
  lat.addEventListener("input", soon);
  lon.addEventListener("input", soon);
  if (navigator.geolocation && isSecureContext) {
    $("locate").hidden = false;
    $("locate").addEventListener("click", () => {
      say("passes-note", "Asking this device where it is…");
      navigator.geolocation.getCurrentPosition(p => goTo(p.coords.latitude, p.coords.longitude), e => say("passes-note", "This device does not tell where it is: " + e.message), { timeout: 20000, maximumAge: 3600000 });
    });
  }
  const pick = () => { map?.focus({ preventScroll: true }); map?.scrollIntoView({ behavior: still.matches ? "auto" : "smooth", block: "center" }) };
  if (map) {
    map.setAttribute("tabindex", "0");
    map.setAttribute("role", "application");
    map.setAttribute("aria-label", map.getAttribute("aria-label") + ". Click, or press the arrow keys, to say where you are: one degree each, with Shift ten.");
    map.addEventListener("click", e => { const r = map.getBoundingClientRect(); goTo(90 - (e.clientY - r.top) / r.height * 180, (e.clientX - r.left) / r.width * 360 - 180) });
    map.addEventListener("keydown", e => {
      const by = e.shiftKey ? 10 : 1, move = { ArrowUp: [by, 0], ArrowDown: [-by, 0], ArrowLeft: [0, -by], ArrowRight: [0, by] }[e.key];
      if (!move || e.ctrlKey || e.altKey || e.metaKey) return;
      e.preventDefault();
      const a = parseFloat(lat.value), b = parseFloat(lon.value), known = isFinite(a) && isFinite(b);
      known ? goTo(a + move[0], b + move[1]) : goTo(Math.round(last?.latitude ?? 0), Math.round(last?.longitude ?? 0));
    });
    $("pick").addEventListener("click", pick);
  } else $("pick").hidden = true;
  if (!lat.value && !lon.value) { const p = (store.get("headway.place") || "").split(",").map(Number); if (p.length === 2 && p.every(isFinite)) [lat.value, lon.value] = p }
  if (lat.value && lon.value) showPasses();

  $("copy").addEventListener("click", async () => {
    try { await navigator.clipboard.writeText($("dig").textContent); say("copy", "Copied") }
    catch { getSelection().selectAllChildren($("dig")); say("copy", "Selected") }
    setTimeout(() => say("copy", "Copy"), 2000);
  });
  const help = $("keys");
  $("help").addEventListener("click", () => help.showModal());
  help.addEventListener("click", e => { if (e.target === help) help.close() });
  addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || help.open || e.target.closest("input")) return;
    const act = { "/": () => { find.focus(); find.select() }, m: pick, t: toggleTheme, "?": () => help.showModal(), p: () => { lat.focus(); $("passes").scrollIntoView({ behavior: still.matches ? "auto" : "smooth" }) } }[e.key];
    if (act) { e.preventDefault(); act() }
  });
})();
