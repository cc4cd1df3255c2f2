// What pages do without this file, they do a little better with it: they stay up to date, "/" leads to the search,
// commands are copied, and tables are filtered while one types.
"use strict";

(() => {
  const page = document.getElementById("page");
  const news = document.getElementById("news");
  const main = () => document.getElementById("main");

  // ----- one tree becomes like another one: what stays the same is not touched, so that focus, scrolling and
  // what somebody typed or opened remain -----

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

  // ----- staying up to date -----

  let tag = (page && page.dataset.tag) || "";
  let wanted = false;
  let timer = 0;
  let last = 0;
  let heard = 0;
  // The server shares answers while they are made, and for a second: one that is fetched sooner after a signal may be
  // from before it, and is asked for again.
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
      if (last - heard < shared + Date.now() - last) soon();
      if (answer.status === 304) return;
      if (!answer.ok) {
        say("This page could not be brought up to date");
        if (answer.status >= 500 && !timer) timer = setTimeout(refresh, 10000);
        return;
      }
      tag = answer.headers.get("ETag") || "";
      show(await answer.text());
    } catch {
      // the line broke; the next event, or coming back, tries again
    }
  }

  function show(text) {
    const next = new DOMParser().parseFromString(text, "text/html").getElementById("main");
    if (!next) return;
    const before = main().dataset.summary;
    become(main(), next);
    enhance();
    if (next.dataset.summary && main().dataset.summary !== before) say(main().dataset.summary);
  }

  function say(text) {
    news.textContent = text;
  }

  // Signals come in crowds. Viewers do not all ask in the same instant.
  function soon() {
    if (timer) return;
    const wait = Math.max(0, last + 2000 - Date.now()) + 100 + Math.random() * 900;
    timer = setTimeout(refresh, wait);
  }

  function told() {
    heard = Date.now();
    soon();
  }

  function concerned(event) {
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
        if (concerned(event)) told();
      });
    }
    events.addEventListener("reset", told);
    // What happened after the page was made and before anybody listened is not told again.
    events.addEventListener("open", told);
    document.addEventListener("visibilitychange", () => {
      if (!document.hidden && wanted) soon();
    });
    window.addEventListener("pagehide", () => events.close());
  }

  // ----- small things -----

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
    for (const button of document.querySelectorAll("[data-copy][hidden]")) {
      if (navigator.clipboard) button.hidden = false;
    }
    for (const input of document.querySelectorAll("input[data-filters]")) {
      if (input.value) filter(input);
    }
  }

  document.addEventListener("click", async (event) => {
    const button = event.target.closest && event.target.closest("[data-copy]");
    if (!button) return;
    try {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "Copied";
      say("Copied");
    } catch {
      button.textContent = "Select it instead";
    }
    setTimeout(() => (button.textContent = "Copy"), 2000);
  });

  document.addEventListener("input", (event) => {
    if (event.target.matches("input[data-filters]")) filter(event.target);
  });

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      event.preventDefault();
      const find = document.getElementById("find");
      find.focus();
      find.select();
    }
  });

  if (page && main()) {
    enhance();
    times();
    setInterval(times, 30000);
    listen();
  }
})();
