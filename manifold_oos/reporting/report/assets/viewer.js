"use strict";
/* The embedding viewer: arrays are decoded when a view is shown, points are one trace for each role. */
(() => {
  const { data, escape, ink, color, symbol, glyph, axis, layout, config, toggle, lazily } = moos;
  const SOLID = ["circle", "square", "diamond"];
  const SVG_POINTS = 4000;
  const decoded = new Map();

  function block(name) {
    if (name === undefined) return null;
    if (!decoded.has(name)) {
      const { shape, low, high, wide, data: text } = data.blocks[name];
      const bytes = Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
      const codes = wide ? new Uint32Array(bytes.buffer) : new Uint16Array(bytes.buffer);
      let values = codes;
      if (low) {
        const columns = low.length;
        values = Float64Array.from(codes, (code, i) => (code === 65535 ? NaN : low[i % columns] + (code / 65534) * (high[i % columns] - low[i % columns])));
      }
      decoded.set(name, { shape, values });
    }
    return decoded.get(name);
  }

  class Viewer {
    constructor(root) {
      this.root = root;
      this.spec = data.viewers[root.dataset.viewer];
      this.controls = Object.fromEntries([...root.querySelectorAll("[data-control]")].filter((e) => e.type !== "radio").map((e) => [e.dataset.control, e]));
      this.parts = Object.fromEntries([...root.querySelectorAll("[data-part]")].map((e) => [e.dataset.part, e]));
      this.hidden = new Set();
      this.timer = null;
      this.at = -1;
      this.fill("dataset", [...new Set(this.spec.views.map((view) => view.dataset))]);
      for (const name of ["dataset", "arm", "split"]) this.controls[name].addEventListener("change", () => this.choose(name));
      for (const name of ["axis0", "axis1", "axis2", "known", "new", "wrong"]) this.controls[name].addEventListener("change", () => this.draw());
      root.querySelectorAll("[data-control=dims]").forEach((radio) => radio.addEventListener("change", () => this.draw()));
      this.controls.step.addEventListener("input", () => this.draw());
      this.controls.play.addEventListener("click", () => this.play());
      this.controls.next.addEventListener("click", () => this.nextWrong());
      this.parts.legend.addEventListener("click", (event) => this.hide(event.target.closest("button")));
      this.choose("dataset");
    }

    fill(name, values) {
      const select = this.controls[name], before = select.value;
      select.replaceChildren(...values.map((value) => new Option(value, value)));
      if (values.includes(before)) select.value = before;
      select.disabled = values.length < 2;
    }

    choose(changed) {
      this.stop();
      const { dataset, arm, split } = this.controls;
      const here = this.spec.views.filter((view) => view.dataset === dataset.value);
      if (changed === "dataset") {
        const first = !this.view, moving = here.find((view) => view.steps);
        this.fill("arm", [...new Set(here.map((view) => view.arm))]);
        if (first && moving) arm.value = moving.arm;
      }
      const mine = here.filter((view) => view.arm === arm.value);
      if (changed !== "split") this.fill("split", mine.map((view) => view.label));
      this.view = mine.find((view) => view.label === split.value);
      this.about = this.spec.datasets[this.view.dataset];
      this.known = block(this.view.known);
      this.fresh = block(this.view.new);
      this.d = this.known.shape[1];
      this.cells = new Map((this.about.sprite ? this.about.sprite.samples : []).map((sample, place) => [sample, place]));
      if (changed === "dataset") this.hidden.clear();
      const options = Array.from({ length: this.d }, (_, i) => String(i + 1));
      ["axis0", "axis1", "axis2"].forEach((name, i) => {
        const before = this.controls[name].value;
        this.controls[name].replaceChildren(...options.map((value) => new Option(`y${value}`, value)));
        this.controls[name].value = options.includes(before) ? before : options[Math.min(i, this.d - 1)];
      });
      const three = this.root.querySelector("[data-control=dims][value='3']");
      three.disabled = this.d < 3;
      if (this.d < 3) this.root.querySelector("[data-control=dims][value='2']").checked = true;
      const steps = this.view.steps;
      this.last = steps ? steps.numbers.length - (steps.final ? 1 : 0) : 0;
      this.controls.step.max = this.last;
      this.controls.step.value = this.last;
      this.controls.step.disabled = this.controls.play.disabled = !steps;
      this.parts.steps.classList.toggle("none", !steps);
      if (!steps) this.parts["step-text"].textContent = "this arm has no iterations";
      this.at = -1;
      this.legend();
      this.draw();
      this.say(null);
    }

    legend() {
      const classes = this.view.new_labels ? this.about.classes : [];
      const buttons = classes.map((name, index) => {
        const button = document.createElement("button");
        button.type = "button";
        button.setAttribute("aria-pressed", this.hidden.has(index) ? "false" : "true");
        toggle(button, index, name, color(index), glyph(Math.floor(index / 7)));
        return button;
      });
      this.parts.legend.replaceChildren(...buttons);
    }

    hide(button) {
      if (!button) return;
      const index = Number(button.dataset.index);
      if (this.hidden.has(index)) this.hidden.delete(index); else this.hidden.add(index);
      button.setAttribute("aria-pressed", this.hidden.has(index) ? "false" : "true");
      this.draw();
    }

    /* What the new points are like at the iteration of the slider. */
    moment() {
      const steps = this.view.steps, at = Number(this.controls.step.value), m = this.fresh.shape[0];
      const truth = block(this.view.new_labels);
      const now = { coordinates: this.fresh.values, labels: null, taken: null, confidence: null };
      const cut = (name) => {
        const found = block(steps[name]);
        return found && found.values.subarray(at * m, (at + 1) * m);
      };
      if (steps && at < steps.numbers.length) {
        now.taken = cut("taken");
        now.confidence = cut("confidence");
        now.labels = cut("labels");
        if (at < this.last) now.coordinates = block(steps.coordinates).values.subarray(at * m * this.d, (at + 1) * m * this.d);
      }
      if (at === this.last && this.view.predicted) now.labels = block(this.view.predicted).values;
      now.wrong = now.labels && truth ? Array.from({ length: m }, (_, j) => now.labels[j] !== truth.values[j]) : null;
      return now;
    }

    shown(label) { return label === null || !this.hidden.has(label); }

    axes() {
      const dims = Number(this.root.querySelector("[data-control=dims]:checked").value);
      this.controls.axis2.disabled = dims < 3;
      return ["axis0", "axis1", "axis2"].slice(0, dims).map((name) => Number(this.controls[name].value) - 1);
    }

    draw() {
      const now = this.now = this.moment(), axes = this.axes(), solid = axes.length === 3;
      const n = this.known.shape[0], m = this.fresh.shape[0];
      const labels = { known: block(this.view.known_labels), fresh: block(this.view.new_labels) };
      const scale = this.view.color && { known: block(this.view.color.known).values, fresh: block(this.view.color.new).values };
      const type = solid ? "scatter3d" : n + m > SVG_POINTS ? "scattergl" : "scatter";
      const names = axes.map((_, i) => "xyz"[i]);
      const wanted = (name) => this.controls[name].checked;
      const look = (index) => (solid ? SOLID[Math.floor(index / 7) % 3] : symbol(Math.floor(index / 7)));

      const trace = (points, coordinates, which, start, marker, open) => {
        const found = { type, mode: "markers", customdata: points.map((j) => start + j), hoverinfo: "text", marker };
        axes.forEach((column, i) => { found[names[i]] = points.map((j) => coordinates[j * this.d + column]); });
        found.text = points.map((j) => escape(this.name(start + j)));
        const own = labels[which];
        if (own) {
          marker.color = marker.color || points.map((j) => color(own.values[j]));
          marker.symbol = marker.symbol || points.map((j) => look(own.values[j]) + (open ? "-open" : ""));
          if (open) marker.line.color = marker.color;
        } else if (scale) {
          const all = [...scale.known, ...scale.fresh].filter(Number.isFinite);
          marker.color = marker.color || points.map((j) => scale[which][j]);
          Object.assign(marker, { cmin: Math.min(...all), cmax: Math.max(...all), colorscale: this.view.color.cyclic ? "HSV" : "Viridis" });
          marker.symbol = marker.symbol || (open ? "circle-open" : "circle");
        } else {
          marker.color = marker.color || color(0);
          marker.symbol = marker.symbol || (open ? "circle-open" : "circle");
        }
        return found;
      };
      const pick = (count, which, keep) => Array.from({ length: count }, (_, j) => j).filter((j) => this.shown(labels[which] ? labels[which].values[j] : null) && keep(j));
      const known = wanted("known") ? pick(n, "known", () => true) : [];
      const fresh = wanted("new") ? pick(m, "fresh", () => true) : [];
      const taken = fresh.filter((j) => !now.taken || now.taken[j]), waiting = fresh.filter((j) => now.taken && !now.taken[j]);
      const wrong = wanted("wrong") && now.wrong ? fresh.filter((j) => now.wrong[j]) : [];
      const size = solid ? 4 : n + m > 900 ? 6 : 8;
      const drawn = [
        trace(waiting, now.coordinates, "fresh", n, { size: size - 1, opacity: solid ? 0.25 : 0.4, line: { width: 1 } }, true),
        trace(taken, now.coordinates, "fresh", n, { size, line: { width: 1.6 } }, true),
        trace(known, this.known.values, "known", 0, { size: size + 2, line: { color: ink("paper"), width: solid ? 0 : 1 } }, false),
        trace(wrong, now.coordinates, "fresh", n, { size: solid ? size + 1 : size - 1, color: ink("ink"), symbol: solid ? "cross" : "x-thin-open", line: { color: ink("ink"), width: 1.3 } }, false),
        trace([], now.coordinates, "fresh", n, { size: size + 10, color: ink("link"), symbol: "circle-open", line: { color: ink("link"), width: 2.5 } }, false),
      ];
      ["new, not taken in yet", "new", "training", "wrong label", "chosen point"].forEach((name, i) => { drawn[i].name = name; });
      drawn[3].hoverinfo = drawn[4].hoverinfo = "skip";
      const revision = `${this.view.dataset} ${this.view.arm} ${this.view.label} ${axes}`;
      const range = axes.map((column) => this.range(column));
      const titled = (i, more) => axis(`y${axes[i] + 1}`, { range: range[i], ...more });
      const plain = { showticklabels: false, zeroline: false };
      const place = solid
        ? { scene: { xaxis: titled(0, plain), yaxis: titled(1, plain), zaxis: titled(2, plain), aspectmode: "cube", camera: { eye: { x: 1.25, y: 1.25, z: 0.7 } } }, margin: { l: 0, r: 0, t: 0, b: 0 } }
        : { xaxis: titled(0, { zeroline: false }), yaxis: titled(1, { zeroline: false }), margin: { l: 50, r: 10, t: 12, b: 44 } };
      if (this.mode !== undefined && this.mode !== solid) Plotly.purge(this.parts.plot);
      const fresher = this.mode !== solid;
      this.mode = solid;
      Plotly.react(this.parts.plot, drawn, layout({ ...place, uirevision: revision }), config(solid ? "solid" : "flat"));
      if (fresher) this.parts.plot.on("plotly_hover", (event) => this.say(event.points[0].customdata));
      this.root.dataset.drawn = "yes";
      this.tell(known.length, fresh.length, now);
      if (this.at >= 0) this.mark(this.at);
    }

    /* The same range at every iteration; early iterations may be wild, so only their bulk counts. */
    range(column) {
      const values = [], d = this.d;
      for (const part of [this.known.values, this.fresh.values]) for (let i = column; i < part.length; i += d) if (Number.isFinite(part[i])) values.push(part[i]);
      if (this.view.steps) {
        const all = block(this.view.steps.coordinates).values, bulk = [];
        for (let i = column; i < all.length; i += d) if (Number.isFinite(all[i])) bulk.push(all[i]);
        bulk.sort((a, b) => a - b);
        values.push(bulk[Math.floor(bulk.length * 0.01)], bulk[Math.floor((bulk.length - 1) * 0.99)]);
      }
      const low = values.reduce((a, b) => Math.min(a, b)), high = values.reduce((a, b) => Math.max(a, b));
      const margin = 0.05 * (high - low || 1);
      return [low - margin, high + margin];
    }

    tell(known, fresh, now) {
      const steps = this.view.steps, at = Number(this.controls.step.value), words = [];
      if (steps) {
        const number = at < steps.numbers.length ? steps.numbers[at] : "the end";
        words.push(`${number} of ${steps.numbers[steps.numbers.length - 1]}`);
        if (now.taken) words.push(`${now.taken.reduce((a, b) => a + b, 0)} of ${now.taken.length} new points taken in`);
        if (now.wrong) words.push(`${now.wrong.filter(Boolean).length} wrong label${now.wrong.filter(Boolean).length === 1 ? "" : "s"}`);
        this.parts["step-text"].textContent = words.join(" · ");
        this.controls.step.setAttribute("aria-valuetext", words.join(", "));
      }
      const status = [`${known} training points (filled), ${fresh} new points (hollow)`];
      if (now.wrong) status.push(`${now.wrong.filter(Boolean).length} of ${now.wrong.length} new points have a wrong label (×)`);
      if (this.view.color) status.push(`coloured by ${this.view.color.name}`);
      if (this.view.chosen) status.push(`with ${this.view.chosen}`);
      if (this.view.other) status.push("the table has other values of the grid");
      this.parts.status.textContent = status.join(" · ");
      this.controls.next.disabled = !(now.wrong && now.wrong.some(Boolean));
    }

    sample(point) {
      const n = this.known.shape[0], index = block(point < n ? this.view.known_index : this.view.new_index);
      return index.values[point < n ? point : point - n];
    }
    name(point) {
      const sample = this.sample(point);
      return this.about.names && sample in this.about.names ? this.about.names[sample] : `sample ${sample}`;
    }

    /* The card of a point: its picture and what is known of it. */
    say(point) {
      const { thumb, facts } = this.parts, sheet = this.about.sprite;
      const place = point === null || !sheet ? undefined : this.cells.get(this.sample(point));
      if (place === undefined) {
        thumb.style.backgroundImage = "none";
        thumb.setAttribute("aria-label", point === null ? "No point chosen" : "No picture of this point");
      } else {
        const scale = 126 / Math.max(sheet.width, sheet.height);
        const column = place % sheet.columns, row = Math.floor(place / sheet.columns), rows = Math.ceil(sheet.samples.length / sheet.columns);
        Object.assign(thumb.style, {
          backgroundImage: `url("${sheet.uri}")`,
          backgroundSize: `${sheet.columns * sheet.width * scale}px ${rows * sheet.height * scale}px`,
          backgroundPosition: `${-column * sheet.width * scale}px ${-row * sheet.height * scale}px`,
          width: `${sheet.width * scale + 2}px`, height: `${sheet.height * scale + 2}px`,
        });
        thumb.setAttribute("aria-label", `Picture of ${this.name(point)}`);
      }
      if (point === null) return;
      const n = this.known.shape[0], j = point - n, classes = this.about.classes;
      const rows = [["Point", this.name(point)], ["Set", j < 0 ? "training" : "new"]];
      const own = block(j < 0 ? this.view.known_labels : this.view.new_labels);
      if (own) rows.push(["Class", classes[own.values[j < 0 ? point : j]]]);
      if (j >= 0 && this.now.labels) rows.push(["Label given", `${classes[this.now.labels[j]]}${this.now.wrong && this.now.wrong[j] ? " (wrong)" : ""}`]);
      if (j >= 0 && this.now.confidence) rows.push(["Confidence", String(Number((10 ** this.now.confidence[j]).toPrecision(3)))]);
      facts.replaceChildren(...rows.flatMap(([term, value]) => {
        const dt = document.createElement("dt"), dd = document.createElement("dd");
        dt.textContent = term;
        dd.textContent = value;
        return [dt, dd];
      }));
    }

    mark(point) {
      const n = this.known.shape[0], j = point - n, axes = this.axes();
      const change = Object.fromEntries(axes.map((column, i) => ["xyz"[i], [[this.now.coordinates[j * this.d + column]]]]));
      Plotly.restyle(this.parts.plot, change, [4]);
    }

    nextWrong() {
      const n = this.known.shape[0], wrong = this.now.wrong || [];
      for (let k = 1; k <= wrong.length; k++) {
        const j = (Math.max(this.at - n, -1) + k) % wrong.length;
        if (wrong[j]) {
          this.at = n + j;
          this.mark(this.at);
          this.say(this.at);
          return;
        }
      }
    }

    play() {
      if (this.timer) { this.stop(); return; }
      if (Number(this.controls.step.value) >= this.last) this.controls.step.value = 0;
      this.controls.play.textContent = "Pause";
      this.controls.play.setAttribute("aria-pressed", "true");
      this.draw();
      this.timer = setInterval(() => {
        this.controls.step.value = Number(this.controls.step.value) + 1;
        this.draw();
        if (Number(this.controls.step.value) >= this.last) this.stop();
      }, 700);
    }

    stop() {
      clearInterval(this.timer);
      this.timer = null;
      this.controls.play.textContent = "Play";
      this.controls.play.setAttribute("aria-pressed", "false");
    }
  }

  document.querySelectorAll("[data-viewer]").forEach((root) => {
    let viewer = null;
    lazily(root, () => {
      if (!viewer) { viewer = new Viewer(root); return; }
      viewer.legend();
      viewer.draw();
    });
  });
})();
