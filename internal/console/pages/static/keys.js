// Keys for those who read many pages: ? lists them.
"use strict";
(() => {
  const typing = e => e.closest("input, textarea, select, dialog");
  const jobs = document.querySelector("header a[data-key=j]").href;
  const search = () => document.getElementById("search");
  let going = 0; // when g was pressed

  function move(by) {
    const rows = [...document.querySelectorAll("main tbody tr:has(a[href])")];
    const at = rows.indexOf(document.activeElement.closest("tr")) + by;
    const row = rows[Math.max(0, Math.min(at, rows.length - 1))];
    if (row) row.querySelector("a[href]").focus();
  }

  document.addEventListener("keydown", e => {
    if (e.ctrlKey || e.metaKey || e.altKey || typing(e.target)) return;
    const page = Date.now() - going < 1500 && document.querySelector("header a[data-key=" + CSS.escape(e.key) + "]");
    going = e.key === "g" ? Date.now() : 0;
    if (page) location.assign(page.href);
    else if (e.key === "j") move(1);
    else if (e.key === "k") move(-1);
    else if (e.key === "?") document.getElementById("keys").showModal();
    else if (e.key === "/" && search()) search().focus();
    else if (e.key === "/") location.assign(jobs + "#search");
    else return;
    e.preventDefault();
  });

  // All strips are one stop of the Tab key. Arrows lead from one to the next, and to what is marked in them; what a
  // pointer would read is beside it.
  const strips = () => [...document.querySelectorAll(".cells")];
  const marks = strip => [...strip.querySelectorAll("rect:has(title)")];
  const tip = document.createElement("p");
  tip.id = "tip";
  tip.setAttribute("role", "status");
  let at = 0;
  function tell(strip) {
    const mark = marks(strip)[at], place = (mark || strip).getBoundingClientRect();
    tip.textContent = mark ? mark.textContent : strip.getAttribute("aria-label");
    tip.style.left = Math.min(place.left, innerWidth - 260) + "px";
    tip.style.top = place.bottom + 4 + "px";
    document.body.append(tip);
  }
  if (strips()[0]) strips()[0].tabIndex = 0;
  document.addEventListener("focusin", e => e.target.matches(".cells") ? tell(e.target) : tip.remove());
  document.addEventListener("focusout", () => tip.remove());
  document.addEventListener("keydown", e => {
    const all = strips(), from = all.indexOf(e.target), to = all[from + { ArrowUp: -1, ArrowDown: 1, ArrowLeft: 0, ArrowRight: 0 }[e.key]];
    if (from < 0 || !to) return;
    e.preventDefault();
    at = e.key === "ArrowLeft" ? at - 1 : e.key === "ArrowRight" ? at + 1 : marks(to).length - 1; // the latest
    at = Math.max(0, Math.min(at, marks(to).length - 1));
    if (!to.hasAttribute("tabindex")) to.tabIndex = -1;
    to.focus();
    tell(to);
  });
  if (location.hash === "#search" && search()) search().focus();
})();
