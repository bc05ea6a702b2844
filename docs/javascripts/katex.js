document$.subscribe(({ body }) => {
  if (typeof renderMathInElement === "undefined") return; // without a network formulas stay readable TeX
  renderMathInElement(body, {
    delimiters: [
      { left: "$$", right: "$$", display: true },
      { left: "\\(", right: "\\)", display: false },
      { left: "\\[", right: "\\]", display: true },
    ],
  });
});
