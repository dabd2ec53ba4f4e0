// Makes pages live: events of the cluster make the page read itself again, times are
// shown in the browser's zone where that was chosen. Without it pages are complete.
"use strict";
(() => {
  const main = () => document.getElementById("main");
  const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const day = new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" });

  function localTimes() {
    for (const e of document.querySelectorAll("[data-local]")) {
      const at = new Date(e.getAttribute("datetime") || e.dataset.time);
      if (isNaN(at)) continue;
      const short = e.dataset.time !== undefined;
      const today = at.toDateString() === new Date().toDateString();
      e.textContent = (today || short ? "" : day.format(at) + " ") + (short ? clock.format(at).replace(/:\d\d(?!.*:\d\d)/, "") : clock.format(at));
      e.setAttribute("title", at.toString());
    }
  }

  // Whoever writes, selects or walks by keyboard is not disturbed.
  function busy() {
    const active = document.activeElement;
    return document.hidden || main().querySelector("form.act") ||
      (active && active !== document.body && main().contains(active) && active !== main()) ||
      String(window.getSelection()) !== "";
  }

  let reading = false, again = false, last = 0;
  async function refresh() {
    if (reading || busy()) { again = true; return; }
    reading = true;
    again = false;
    try {
      const reply = await fetch(location.href, { headers: { Accept: "text/html" } });
      if (reply.ok) {
        const page = new DOMParser().parseFromString(await reply.text(), "text/html");
        if (page.getElementById("main") && !busy()) {
          main().replaceChildren(...page.getElementById("main").childNodes);
          const footer = document.querySelector("footer");
          if (!footer.contains(document.activeElement)) {
            footer.replaceWith(page.querySelector("footer"));
            addSwitch();
          }
          localTimes();
        }
      }
    } catch { /* the replica is away; the events say when it is back */ }
    last = Date.now();
    reading = false;
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
    events.onopen = () => state("live");
    events.onerror = () => state("waiting for the replica");
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
      state("…");
      if (live) refresh();
    });
    document.querySelector("footer").prepend(toggle);
    state(events && events.readyState === 1 ? "live" : "…");
  }

  localTimes();
  addSwitch();
  follow();
  setInterval(() => { if (live && (again || Date.now() - last > 15000)) refresh(); }, 5000);
  window.addEventListener("pagehide", () => { if (events) events.close(); });
  window.addEventListener("pageshow", e => { if (e.persisted) follow(); });
})();
