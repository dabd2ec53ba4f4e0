// Reloads the page on events of the cluster, and shows times in the browser's zone if that
// is chosen. Pages are complete without it.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

  function localTimes() {
    for (const e of document.querySelectorAll("[data-local]")) {
      const at = new Date(e.getAttribute("datetime"));
      if (isNaN(at)) continue;
      const today = at.toDateString() === new Date().toDateString();
      e.textContent = (today ? "" : day.format(at) + " ") + clock.format(at);
      e.setAttribute("title", at.toString());
    }
  }

  // Counts the last seconds until something comes, by the clock of the replica.
  let ahead = 0; // the browser's clock
  function setClock() { ahead = Date.now() - new Date(document.querySelector("footer span time").getAttribute("datetime")); }
  function count() {
    for (const e of document.querySelectorAll("[data-count]")) {
      const s = Math.ceil((new Date(e.getAttribute("datetime")) - Date.now() + ahead) / 1000);
      if (s < 100) e.textContent = s > 0 ? "in " + s + " s" : s > -5 ? "now" : "due";
    }
  }

  // Do not disturb users who fill in a form or select text.
  let touched = false;
  document.addEventListener("input", e => { touched = touched || main().contains(e.target); });
  function busy() {
    return document.hidden || touched || main().querySelector("form.act, form :focus") || String(window.getSelection()) !== "";
  }

  // What stays the same keeps its focus, its scroll position, and whether it is open.
  const morph = {
    ignoreActiveValue: true,
    callbacks: { beforeAttributeUpdated: (name, e) => name !== "tabindex" && !(name === "open" && e.tagName === "DETAILS") },
  };

  // A page that cannot be reloaded stays, with a note that it is old.
  function away(why, next = "It reloads as soon as possible.") {
    let note = document.getElementById("away");
    if (!why) { if (note) note.remove(); return; }
    if (!note) {
      note = document.createElement("p");
      note.id = "away";
      note.className = "note warn";
      note.setAttribute("role", "status");
      main().prepend(note);
    }
    note.textContent = "This page is from " + document.querySelector("footer time").textContent + ". " + why + " " + next;
  }

  // Whoever reads further down a list of the newest keeps the place, and is told how many came.
  const newest = of => [...of.querySelectorAll("[data-newest] tbody tr a[href*='/runs/']")].map(a => a.getAttribute("href"));
  function heldBack(page) {
    const list = main().querySelector("[data-newest]"), have = newest(document), rows = newest(page);
    const at = list && list.getBoundingClientRect();
    if (!list || at.top > 0 || at.bottom < 0) return false;
    const known = rows.findIndex(r => have.includes(r)), count = known < 0 ? rows.length : known;
    if (!count) return true;
    let note = document.getElementById("new");
    if (!note) {
      note = document.createElement("p");
      note.id = "new";
      note.setAttribute("role", "status");
      note.append(document.createElement("button"));
      note.firstChild.addEventListener("click", () => { note.remove(); window.scrollTo(0, 0); refresh(); });
      main().prepend(note);
    }
    note.firstChild.textContent = count + (known < 0 ? " or more" : "") + " new";
    return true;
  }

  let reading = false, again = false, last = 0;
  async function refresh() {
    if (reading || busy()) { again = true; if (!reading) state("held while you use the page"); return; }
    reading = true;
    again = false;
    try {
      // No page redirects: a proxy for single sign-on does, to a provider whose answer scripts may not read.
      const reply = await fetch(location.href, { headers: { Accept: "text/html" }, redirect: "manual" });
      if (reply.type === "opaqueredirect") away("You are logged out at the proxy.", "Load the page again to log in.");
      else away(reply.ok ? "" : "The replica answers " + reply.status + " " + reply.statusText + ".");
      if (reply.ok) {
        if (events && events.readyState === 2) follow(); // browsers give up a stream that was refused
        const page = new DOMParser().parseFromString(await reply.text(), "text/html");
        if (heldBack(page)) {
          again = true;
        } else if (page.getElementById("main") && !busy()) {
          Idiomorph.morph(main(), page.getElementById("main"), morph);
          const footer = document.querySelector("footer");
          if (!footer.contains(document.activeElement)) {
            footer.replaceWith(page.querySelector("footer"));
            addSwitch();
            setClock();
          }
          document.title = page.title;
          const icon = "link[rel=icon]";
          if (document.querySelector(icon).href !== page.querySelector(icon).href) document.querySelector(icon).replaceWith(page.querySelector(icon));
          localTimes();
          count();
          followLog();
        }
      }
    } catch { away("The replica cannot be reached."); }
    last = Date.now();
    reading = false;
    state(events && events.readyState === 1 ? "live" : "waiting for the replica");
  }

  let live = sessionStorage.getItem("live") !== "off", events = null, timer = 0;
  function soon() {
    if (timer || !live) return;
    timer = setTimeout(() => { timer = 0; refresh(); }, Math.max(300, 2000 - (Date.now() - last)));
  }

  function follow() {
    if (events) events.close();
    events = null;
    if (!live) return;
    events = new EventSource(document.body.dataset.events);
    for (const name of ["run", "tick", "act", "replica"]) events.addEventListener(name, soon);
    events.onopen = () => { state("live"); if (document.getElementById("away")) soon(); };
    events.onerror = () => { state("waiting for the replica"); soon(); };
  }

  // Appends to the log of a running run, and shows its outcome at the end.
  let log = null;
  function followLog() {
    if (log) log.close();
    log = null;
    const pre = document.querySelector("pre[data-follow]");
    if (!pre || !live) return;
    const down = () => pre.scrollHeight - pre.scrollTop - pre.clientHeight < 40;
    pre.scrollTop = pre.scrollHeight;
    const source = log = new EventSource(pre.dataset.follow);
    source.addEventListener("log", e => {
      const part = JSON.parse(e.data), end = down();
      pre.append((part.cut ? "… (" + part.cut + " bytes were dropped)\n" : "") + part.text);
      if (end) pre.scrollTop = pre.scrollHeight;
    });
    source.addEventListener("beat", soon);
    source.addEventListener("finished", e => {
      source.close();
      const run = JSON.parse(e.data), status = document.querySelector(".following [role=status]");
      if (status) status.textContent = "Finished: " + run.outcome.replaceAll("_", " ") + (run.reason ? "; " + run.reason : "");
      soon();
    });
  }

  let toggle = null;
  function state(text) { if (toggle) toggle.textContent = live ? "Updates: " + text : "Updates: paused"; }
  function addSwitch() {
    toggle = document.createElement("button");
    toggle.type = "button";
    toggle.addEventListener("click", () => {
      live = !live;
      sessionStorage.setItem("live", live ? "on" : "off");
      follow();
      followLog();
      state("…");
      if (live) refresh();
    });
    document.querySelector("footer").prepend(toggle);
    state(events && events.readyState === 1 ? "live" : "…");
  }

  localTimes();
  addSwitch();
  setClock();
  count();
  setInterval(count, 1000);
  follow();
  followLog();
  setInterval(() => { if (live && (again || Date.now() - last > 15000)) refresh(); }, 5000);
  window.addEventListener("pagehide", () => { if (events) events.close(); if (log) log.close(); });
  window.addEventListener("pageshow", e => { if (e.persisted) { follow(); followLog(); } });
})();
