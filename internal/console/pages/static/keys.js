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
  if (location.hash === "#search" && search()) search().focus();
})();
