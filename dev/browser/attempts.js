// What somebody would try who could write into a page. Becomes the parts of the
// policy that stopped something, sorted.
new Promise(done => {
  const stopped = new Set(), all = 8;
  const finish = () => done([...stopped].sort());
  document.addEventListener("securitypolicyviolation", e => {
    stopped.add(e.effectiveDirective);
    if (stopped.size === all) finish();
  });
  setTimeout(finish, 20000);
  const put = (name, attributes, text) => {
    const e = document.createElement(name);
    for (const key in attributes) e.setAttribute(key, attributes[key]);
    e.textContent = text || "";
    document.body.append(e);
    return e;
  };
  put("script", {}, "window.hurt = 1");
  put("script", { src: "https://evil.example/hurt.js" });
  put("img", { src: "data:,x", onerror: "window.hurt = 1" });
  put("img", { src: "https://evil.example/seen.png" });
  put("p", { style: "position: fixed" });
  put("style", {}, "body { display: none }");
  put("iframe", { src: "https://evil.example/" });
  fetch("https://evil.example/told").catch(() => {});
  put("form", { action: "https://evil.example/", method: "post" }).submit();
})
