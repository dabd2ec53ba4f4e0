// What is wrong with how a page looks, as a list of sentences.
(() => {
  const wrong = new Set();
  const root = document.documentElement;
  if (root.scrollWidth > window.innerWidth) wrong.add(`scrolls sideways: ${root.scrollWidth} of ${window.innerWidth} pixels`);
  if (document.querySelectorAll("h1").length !== 1) wrong.add("has no heading, or several");
  if (window.hurt) wrong.add("ran a script that somebody wrote into it");
  for (const e of document.querySelectorAll("[onerror],[onload],[onclick],[style],script:not([src]),style")) wrong.add(`has code in it: ${e.outerHTML.slice(0, 80)}`);
  for (const e of document.querySelectorAll("input:not([type=hidden]),select,textarea")) if (!e.labels.length) wrong.add(`has a field without a label: ${e.name}`);

  const style = e => getComputedStyle(e);
  const apart = e => e.closest(".skip,.title,.out"); // for who listens, away from the picture
  const scrolls = e => { for (; e; e = e.parentElement) if (/auto|scroll/.test(style(e).overflowX)) return true; return false; };
  const rgb = text => { const [r, g, b, a = 1] = text.match(/[\d.]+/g).map(Number); return { r, g, b, a }; };
  const light = ({ r, g, b }) => {
    const part = c => (c /= 255) <= 0.04045 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const behind = e => { for (; e; e = e.parentElement) { const c = rgb(style(e).backgroundColor); if (c.a > 0) return c; } return { r: 255, g: 255, b: 255 }; };

  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  for (let node; (node = texts.nextNode());) {
    const e = node.parentElement, text = node.data.trim();
    if (!text || apart(e) || e.closest("svg,select,script,title") || !e.checkVisibility()) continue;
    const range = document.createRange();
    range.selectNodeContents(node);
    const box = range.getBoundingClientRect();
    if ((box.right > window.innerWidth + 1 || box.left < -1) && !scrolls(e)) wrong.add(`cuts text off: ${text.slice(0, 60)}`);
    const front = light(rgb(style(e).color)), back = light(behind(e));
    const ratio = (Math.max(front, back) + 0.05) / (Math.min(front, back) + 0.05);
    if (ratio < 4.5) wrong.add(`is hard to read: ${ratio.toFixed(1)} to 1, ${e.className || e.tagName}: ${text.slice(0, 40)}`);
  }
  return [...wrong];
})()
