// Pages work without this file. It keeps them up to date and says when it cannot, moves the focus with the keyboard,
// copies commands, and filters and sorts tables.
"use strict";

(() => {
  const page = document.getElementById("page");
  const news = document.getElementById("news");
  const main = () => document.getElementById("main");

  // ----- Morph one tree into another. Unchanged nodes stay, so that focus, scroll position, typed text and
  // open details are kept. -----

  const key = (node) => (node.nodeType === 1 && node.id) || "";
  const alike = (a, b) => a.nodeType === b.nodeType && a.nodeName === b.nodeName && key(a) === key(b);

  function attributes(from, to) {
    for (const { name } of [...from.attributes]) {
      if (!to.hasAttribute(name) && !(name === "open" || name === "hidden")) from.removeAttribute(name);
    }
    for (const { name, value } of to.attributes) {
      if (from.getAttribute(name) === value || name === "hidden") continue;
      if (name === "open" && from.nodeName === "DETAILS") continue;
      from.setAttribute(name, value);
    }
  }

  function become(from, to) {
    if (from.nodeType !== 1) {
      if (from.nodeValue !== to.nodeValue) from.nodeValue = to.nodeValue;
      return;
    }
    if (from.isEqualNode(to)) return;
    attributes(from, to);
    if (from.matches("input, textarea, select")) return;
    let at = from.firstChild;
    for (let next = to.firstChild; next; ) {
      const wanted = next;
      next = next.nextSibling;
      let found = at;
      if (key(wanted)) {
        while (found && !alike(found, wanted)) found = found.nextSibling;
      }
      if (found && alike(found, wanted)) {
        while (at !== found) {
          const gone = at;
          at = at.nextSibling;
          gone.remove();
        }
        at = found.nextSibling;
        become(found, wanted);
      } else {
        from.insertBefore(wanted, at);
      }
    }
    while (at) {
      const gone = at;
      at = at.nextSibling;
      gone.remove();
    }
  }

  // ----- Keep the page up to date. -----

  let tag = (page && page.dataset.tag) || "";
  let wanted = false;
  let timer = 0;
  let last = 0;
  let signalled = 0;
  // The server caches answers for a second. One that is fetched sooner after a signal may be older than the signal,
  // and is fetched again.
  const shared = 1500;

  async function refresh() {
    timer = 0;
    if (document.hidden) {
      wanted = true;
      return;
    }
    wanted = false;
    last = Date.now();
    const headers = { "Kalypso-Fragment": "main", Accept: "text/html" };
    if (tag) headers["If-None-Match"] = tag;
    try {
      const answer = await fetch(location.pathname + location.search, { headers, credentials: "same-origin", cache: "no-store" });
      if (last - signalled < shared + Date.now() - last) soon();
      if (answer.status === 304) return;
      if (answer.status === 401) {
        ended();
        return;
      }
      if (!answer.ok) {
        announce("This page could not be updated");
        if (answer.status >= 500 && !timer) timer = setTimeout(refresh, 10000);
        return;
      }
      tag = answer.headers.get("ETag") || "";
      show(await answer.text());
    } catch {
      // The connection broke. The next event, or making the page visible, tries again.
    }
  }

  function show(text) {
    const next = new DOMParser().parseFromString(text, "text/html").getElementById("main");
    if (!next) return;
    const before = main().dataset.summary;
    become(main(), next);
    enhance();
    if (next.dataset.summary && main().dataset.summary !== before) announce(main().dataset.summary);
  }

  function announce(text) {
    news.textContent = text;
  }

  // Signals come in bursts. A random delay keeps viewers from fetching all at once.
  function soon() {
    if (timer) return;
    const wait = Math.max(0, last + 2000 - Date.now()) + 100 + Math.random() * 900;
    timer = setTimeout(refresh, wait);
  }

  function signal() {
    signalled = Date.now();
    soon();
  }

  function matches(event) {
    const concerns = (main().dataset.concerns || "").split(" ").filter(Boolean);
    let fetches = [];
    try {
      fetches = JSON.parse(event.data).fetch || [];
    } catch {
      return true;
    }
    return fetches.some((address) => concerns.some((concern) => address.startsWith(concern)));
  }

  function listen() {
    if (!main() || !main().dataset.concerns || !window.EventSource) return;
    const events = new EventSource("/api/v1/events");
    for (const type of ["environment", "promotion", "report", "cluster"]) {
      events.addEventListener(type, (event) => {
        if (matches(event)) signal();
      });
    }
    events.addEventListener("reset", signal);
    // Events between the rendering of the page and this connection are not repeated.
    events.addEventListener("open", () => {
      found();
      signal();
    });
    events.addEventListener("error", lose);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && wanted) soon();
    });
    window.addEventListener("pagehide", () => events.close());
  }

  // ----- Honest: a page that is not kept up to date says so. -----

  const lost = document.getElementById("lost");
  let losing = 0;
  let since = "";

  function lose() {
    if (losing || !lost) return;
    since = new Date().toTimeString().slice(0, 5);
    losing = setTimeout(() => {
      lost.textContent = "Connection lost since " + since + ". This page shows the state of then, and tries again.";
      lost.hidden = false;
    }, 4000);
  }

  function found() {
    clearTimeout(losing);
    losing = 0;
    if (lost) lost.hidden = true;
  }

  function ended() {
    found();
    lost.textContent = "Your sign-in has ended. This page shows the last state. ";
    const again = document.createElement("a");
    again.href = "/-/sign-in?to=" + encodeURIComponent(location.pathname + location.search);
    again.textContent = "Sign in again";
    lost.append(again);
    lost.hidden = false;
  }

  // ----- Tables sort by a column, if all of their rows are there. -----

  const valueOf = (cell) => {
    const time = cell.querySelector("time[datetime]");
    return time ? -Date.parse(time.dateTime) : cell.dataset.value || cell.innerText.trim();
  };

  function sortBy(head) {
    const table = head.closest("table");
    const down = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = table.tBodies[0];
    const column = head.cellIndex;
    const rows = [...body.rows].filter((row) => row.cells.length > column);
    const compare = (a, b) => (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
    rows.sort((a, b) => compare(valueOf(a.cells[column]), valueOf(b.cells[column])) * (down ? -1 : 1));
    body.append(...rows);
  }

  function sortable() {
    if (document.querySelector('a[rel="next"]')) return; // only a part of the rows is here
    for (const head of document.querySelectorAll("table:not(.flow, .plan, .objects) thead th:not(.type)")) {
      const table = head.closest("table");
      if (head.querySelector("button, a") || head.closest(".matrix, .diff") || !head.textContent.trim() || table.tBodies[0].rows.length < 3) continue;
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sort";
      button.append(...head.childNodes);
      head.append(button);
    }
  }

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("button.sort");
    if (button) sortBy(button.closest("th"));
  });

  // ----- A cell of the matrix opens beside it. Without scripts, and on phones, it is a page. -----

  async function beside(link) {
    const answer = await fetch(link.href, { headers: { "Kalypso-Fragment": "main", Accept: "text/html" }, credentials: "same-origin" });
    const found = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
    if (!found) throw new Error("no page");
    for (const part of found.querySelectorAll(".crumbs, .command, .timebar")) part.remove();
    let side = document.getElementById("side");
    if (!side) {
      side = document.createElement("dialog");
      side.id = "side";
      side.addEventListener("click", (event) => {
        if (event.target === side || event.target.closest("[data-close]")) side.close();
      });
      page.append(side);
    }
    const bar = document.createElement("p");
    bar.className = "side-bar";
    const whole = document.createElement("a");
    whole.href = link.href;
    whole.textContent = "Open as a page";
    const close = document.createElement("button");
    close.type = "button";
    close.className = "quiet";
    close.dataset.close = "";
    close.textContent = "Close";
    bar.append(whole, close);
    const content = document.createElement("div");
    content.className = "side-content";
    content.append(bar, ...found.childNodes);
    side.replaceChildren(content);
    side.setAttribute("aria-label", content.querySelector("h1").textContent);
    if (!side.open) side.showModal();
    side.scrollTop = 0;
    times();
  }

  document.addEventListener("click", (event) => {
    const link = event.target.closest && event.target.closest(".matrix td a");
    if (!link || !page || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey || window.innerWidth < 700) return;
    event.preventDefault();
    beside(link).catch(() => location.assign(link.href));
  });

  // ----- Filters apply when something is chosen. -----

  document.addEventListener("change", (event) => {
    const form = event.target.closest("form.filter[data-auto]");
    if (form && event.target.matches("select, input[list]")) form.requestSubmit();
  });

  // An address has only the filters that are set.
  document.addEventListener("formdata", (event) => {
    if (!event.target.matches("form.filter[data-auto]")) return;
    for (const [name, value] of [...event.formData]) if (value === "") event.formData.delete(name);
  });

  // ----- Details -----

  function lasting(seconds) {
    if (seconds < 7200) return Math.floor(seconds / 60) + " min";
    if (seconds < 172800) return Math.floor(seconds / 3600) + " h";
    return Math.floor(seconds / 86400) + " days";
  }

  function times() {
    for (const time of document.querySelectorAll("time[datetime]:not([data-fixed])")) {
      const seconds = (Date.now() - Date.parse(time.dateTime)) / 1000;
      if (!(seconds >= 0)) continue;
      const text = seconds < 60 ? "just now" : lasting(seconds) + " ago";
      if (time.textContent !== text) time.textContent = text;
    }
  }

  function filter(input) {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    for (const row of document.querySelectorAll(input.dataset.filters)) {
      const hide = !words.every((word) => (row.dataset.text || row.textContent.toLowerCase()).includes(word));
      if (row.hidden !== hide) row.hidden = hide;
      if (!hide) shown++;
    }
    for (const part of document.querySelectorAll(".part")) {
      part.hidden = !part.querySelector("tbody tr:not([hidden])");
    }
    const count = document.getElementById("shown");
    if (count) count.textContent = String(shown);
  }

  function enhance() {
    sortable();
    for (const button of document.querySelectorAll("form.filter[data-auto] button:not([hidden])")) {
      if (!button.form.querySelector('input:not([type="hidden"]):not([data-filters]):not([list])')) button.hidden = true;
    }
    for (const tools of document.querySelectorAll("[data-map-tools][hidden]")) tools.hidden = false;
    draw();
    for (const button of document.querySelectorAll("[data-copy][hidden]")) {
      if (navigator.clipboard) button.hidden = false;
    }
    for (const input of document.querySelectorAll("input[data-filters]")) {
      if (input.value) filter(input);
    }
  }

  // ----- The map: one element is transformed, so that zooming stays cheap. -----

  const view = { scale: 1, x: 0, y: 0 };
  const map = () => document.getElementById("map");
  let rest = 0;

  function zoomed() {
    return view.scale !== 1 || view.x !== 0 || view.y !== 0;
  }

  function draw() {
    const box = map();
    if (!box) return;
    const svg = box.querySelector("svg");
    box.classList.toggle("zoomed", zoomed());
    svg.style.transform = zoomed() ? `translate(${view.x}px, ${view.y}px) scale(${view.scale})` : "";
    box.style.height = view.scale < 1 && zoomed() ? Math.max(240, svg.height.baseVal.value * view.scale + 20) + "px" : "";
  }

  // While it moves, the drawing is a picture on a layer of its own; at rest it is drawn sharply again.
  function moving() {
    const box = map();
    box.classList.add("moving");
    clearTimeout(rest);
    rest = setTimeout(() => box.classList.remove("moving"), 200);
    requestAnimationFrame(draw);
  }

  function unscroll(box) {
    if (zoomed()) return;
    view.x = -box.scrollLeft;
    box.scrollLeft = 0;
  }

  // Keeps the point at x and y, in pixels of the box, where it is.
  function zoom(factor, x, y) {
    unscroll(map());
    const scale = Math.min(8, Math.max(0.1, view.scale * factor));
    view.x = x - ((x - view.x) * scale) / view.scale;
    view.y = y - ((y - view.y) * scale) / view.scale;
    view.scale = scale;
    moving();
  }

  function pan(x, y) {
    unscroll(map());
    view.x += x;
    view.y += y;
    moving();
  }

  function fit() {
    const box = map();
    const svg = box.querySelector("svg");
    box.scrollLeft = 0;
    const across = (box.clientWidth - 20) / svg.width.baseVal.value;
    const down = (window.innerHeight * 0.8) / svg.height.baseVal.value;
    Object.assign(view, { scale: Math.min(across, down), x: 0, y: 0 });
    moving();
  }

  function reset() {
    Object.assign(view, { scale: 1, x: 0, y: 0 });
    moving();
  }

  function zoomBy(what) {
    const box = map();
    if (what === "fit") fit();
    else if (what === "reset") reset();
    else zoom(what === "in" ? 1.4 : 1 / 1.4, box.clientWidth / 2, Math.min(box.clientHeight, window.innerHeight) / 2);
  }

  const fingers = new Map();
  let dragged = false;

  function within(box, event) {
    const bounds = box.getBoundingClientRect();
    return [event.clientX - bounds.left, event.clientY - bounds.top];
  }

  document.addEventListener(
    "wheel",
    (event) => {
      const box = event.target.closest && event.target.closest("#map");
      if (!box || !(event.ctrlKey || event.metaKey)) return;
      event.preventDefault();
      zoom(Math.exp(-Math.max(-50, Math.min(50, event.deltaY)) / 150), ...within(box, event));
    },
    { passive: false },
  );

  document.addEventListener("pointerdown", (event) => {
    const box = event.target.closest && event.target.closest("#map");
    if (!box || event.button !== 0) return;
    fingers.set(event.pointerId, event);
    dragged = false;
  });

  document.addEventListener("pointermove", (event) => {
    const before = fingers.get(event.pointerId);
    if (!before || !map()) return;
    const [x, y] = [event.clientX - before.clientX, event.clientY - before.clientY];
    if (fingers.size === 1) {
      if (event.pointerType === "touch" && !zoomed()) return; // the page scrolls
      if (!dragged && Math.hypot(x, y) < 4) return;
      pan(x, y);
    } else if (fingers.size === 2) {
      const other = [...fingers.values()].find((finger) => finger.pointerId !== event.pointerId);
      const apart = (finger) => Math.hypot(finger.clientX - other.clientX, finger.clientY - other.clientY);
      if (apart(before) > 0) zoom(apart(event) / apart(before), ...within(map(), other));
    }
    dragged = true;
    fingers.set(event.pointerId, event);
  });

  for (const end of ["pointerup", "pointercancel"]) {
    document.addEventListener(end, (event) => fingers.delete(event.pointerId));
  }

  // A drag that ends on a link does not follow it.
  document.addEventListener(
    "click",
    (event) => {
      if (dragged && event.target.closest && event.target.closest("#map")) {
        event.preventDefault();
        event.stopPropagation();
      }
      dragged = false;
    },
    true,
  );
  document.addEventListener("dragstart", (event) => {
    if (event.target.closest && event.target.closest("#map")) event.preventDefault();
  });

  document.addEventListener("click", (event) => {
    const button = event.target.closest && event.target.closest("[data-zoom]");
    if (button && map()) zoomBy(button.dataset.zoom);
  });

  document.addEventListener("keydown", (event) => {
    if (!map() || event.target !== map() || event.ctrlKey || event.metaKey || event.altKey) return;
    const act = {
      "+": () => zoomBy("in"), "=": () => zoomBy("in"), "-": () => zoomBy("out"), 0: reset, f: fit,
      ArrowLeft: () => pan(60, 0), ArrowRight: () => pan(-60, 0), ArrowUp: () => pan(0, 60), ArrowDown: () => pan(0, -60),
    }[event.key];
    if (!act || (event.key.startsWith("Arrow") && !zoomed())) return;
    event.preventDefault();
    act();
  });

  document.addEventListener("click", async (event) => {
    const button = event.target.closest && event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      announce("Copied");
    } catch {
      button.textContent = "Cannot copy";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

  document.addEventListener("input", (event) => {
    if (event.target.matches("input[data-filters]")) filter(event.target);
  });

  // ----- Time: the slider moves among the moments at which something happened; its end is now. -----

  function momentsOf(slider) {
    const links = [...slider.closest(".time").querySelectorAll("[data-at]")];
    return links.map((link) => ({ at: Number(link.dataset.at), text: link.textContent, href: link.href })).reverse();
  }

  function choose(slider, moment) {
    slider.value = moment ? moment.at : slider.max;
    slider.dataset.href = moment ? moment.href : "";
    slider.form.querySelector("output").textContent = moment ? moment.text : "now";
    slider.setAttribute("aria-valuetext", moment ? moment.text : "now");
  }

  function nearest(slider) {
    const at = Number(slider.value);
    let best = null;
    let distance = Number(slider.max) - at;
    for (const moment of momentsOf(slider)) {
      if (Math.abs(moment.at - at) < distance) {
        best = moment;
        distance = Math.abs(moment.at - at);
      }
    }
    return best;
  }

  document.addEventListener("input", (event) => {
    if (event.target.matches("[data-moments]")) choose(event.target, nearest(event.target));
  });

  document.addEventListener("change", (event) => {
    if (event.target.matches("[data-moments]")) event.target.form.requestSubmit();
  });

  document.addEventListener("submit", (event) => {
    const slider = event.target.querySelector("[data-moments]");
    if (!slider || !slider.dataset.href) return;
    event.preventDefault();
    location.assign(slider.dataset.href);
  });

  document.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (!step || !event.target.matches("[data-moments]")) return;
    event.preventDefault(); // a step is a moment, not a second; Enter shows it
    const moments = [...momentsOf(event.target), null];
    const at = Number(event.target.value);
    let i = moments.findIndex((moment) => !moment || moment.at >= at);
    if (step > 0 && moments[i] && moments[i].at > at) i--;
    choose(event.target, moments[Math.min(moments.length - 1, Math.max(0, i + step))]);
  });

  // ----- The palette: the search field lists what it finds, pages and actions while the user types. -----

  const find = document.getElementById("find");
  let list = null;
  let chosen = -1;
  let asked = 0;

  function commands() {
    const links = document.querySelectorAll(".rail a[href]:not(.brand, .rest), main .actions a[href]");
    return [...links].map((link) => ({ kind: link.closest(".rail") ? "page" : "action", name: link.textContent.replace(/\s+/g, " ").trim(), address: link.getAttribute("href") }));
  }

  function open(hits) {
    if (!list) {
      list = document.createElement("ul");
      list.id = "palette";
      list.className = "palette";
      list.setAttribute("role", "listbox");
      list.setAttribute("aria-label", "Found");
      find.form.append(list);
      for (const [name, value] of Object.entries({ role: "combobox", "aria-controls": "palette", "aria-autocomplete": "list" })) find.setAttribute(name, value);
    }
    list.replaceChildren(
      ...hits.slice(0, 12).map((hit, i) => {
        const item = document.createElement("li");
        item.id = "hit-" + i;
        item.setAttribute("role", "option");
        item.dataset.href = hit.address;
        const kind = document.createElement("span");
        kind.className = "badge";
        kind.textContent = hit.kind;
        item.append(kind, " " + hit.name);
        if (hit.about) {
          const about = document.createElement("span");
          about.className = "muted";
          about.textContent = " " + hit.about;
          item.append(about);
        }
        return item;
      }),
    );
    list.hidden = hits.length === 0;
    find.setAttribute("aria-expanded", String(hits.length > 0));
    pick(hits.length > 0 ? 0 : -1);
  }

  function pick(i) {
    chosen = i;
    if (!list) return;
    [...list.children].forEach((item, n) => item.setAttribute("aria-selected", String(n === i)));
    if (i >= 0) find.setAttribute("aria-activedescendant", "hit-" + i);
    else find.removeAttribute("aria-activedescendant");
  }

  function close() {
    if (list) list.hidden = true;
    if (find) find.setAttribute("aria-expanded", "false");
    chosen = -1;
  }

  async function look() {
    const text = find.value.trim();
    const words = text.toLowerCase().split(/\s+/).filter(Boolean);
    const known = commands().filter((one) => words.every((word) => one.name.toLowerCase().includes(word)));
    open(text ? known : known.slice(0, 8));
    const mine = ++asked;
    if (!text) return;
    try {
      const answer = await fetch("/search?q=" + encodeURIComponent(text), { headers: { Accept: "application/json" }, credentials: "same-origin" });
      if (!answer.ok || mine !== asked || document.activeElement !== find) return;
      open([...(await answer.json()).items, ...known]);
    } catch {
      // Pages and actions are enough until the server is back.
    }
  }

  if (find) {
    let typing = 0;
    find.addEventListener("input", () => {
      clearTimeout(typing);
      typing = setTimeout(look, 90);
    });
    find.addEventListener("blur", () => setTimeout(close, 150));
    find.addEventListener("keydown", (event) => {
      const shown = list && !list.hidden ? list.children.length : 0;
      if (event.key === "Escape") {
        close();
      } else if ((event.key === "ArrowDown" || event.key === "ArrowUp") && shown) {
        event.preventDefault();
        pick((chosen + (event.key === "ArrowDown" ? 1 : shown - 1)) % shown);
      } else if (event.key === "Enter" && shown && chosen >= 0) {
        event.preventDefault();
        location.assign(list.children[chosen].dataset.href);
      }
    });
    find.form.addEventListener("mousedown", (event) => {
      const item = event.target.closest("[data-href]");
      if (!item) return;
      event.preventDefault();
      location.assign(item.dataset.href);
    });
  }

  // ----- The keyboard: "/" and Ctrl-K search, j and k go through a list, g and a letter opens a page. -----

  const places = { f: "/", i: "/needs", m: "/map", w: "/workloads", c: "/clusters", p: "/promotions", a: "/history", l: "/plan", d: "/compare", n: "/figures", r: "/-/repositories" };
  let went = 0;

  function search() {
    const find = document.getElementById("find");
    if (!find) return;
    find.focus();
    find.select();
  }

  function step(by) {
    const all = [...document.querySelectorAll("main tbody th a, main .needs .what a, main .hits a, main .cards h2 a")].filter((a) => a.offsetParent);
    const at = all.indexOf(document.activeElement);
    const next = all[Math.min(all.length - 1, Math.max(0, at + by))];
    if (next) next.focus();
  }

  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && !event.altKey && event.key.toLowerCase() === "k") {
      event.preventDefault();
      search();
      return;
    }
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (typing || event.ctrlKey || event.metaKey || event.altKey) return;
    if (Date.now() - went < 1000 && places[event.key]) {
      event.preventDefault();
      location.assign(places[event.key]);
    } else if (event.key === "/") {
      event.preventDefault();
      search();
    } else if (event.key === "j" || event.key === "k") {
      step(event.key === "j" ? 1 : -1);
    }
    went = event.key === "g" ? Date.now() : 0;
  });

  if (page && main()) {
    enhance();
    times();
    setInterval(times, 30000);
    listen();
  }
})();
