"use strict";
// Live figures on the overview and the cluster page, and a slider that answers at once. Every page works without this.
(() => {
  const octets = (value) => {
    for (const [size, unit] of [[1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"]]) {
      if (value >= size) return `${Number((value / size).toPrecision(3))} ${unit}`;
    }
    return `${Math.round(value)} B`;
  };
  const number = (value) => {
    if (value === null) return "\u2013";
    if (Number.isInteger(value) || Math.abs(value) >= 1e4) return Math.round(value).toString().replace(/\B(?=(\d{3})+$)/g, "\u202f");
    return Number(value.toPrecision(4)).toString();
  };
  const show = (name, value) => {
    for (const place of document.querySelectorAll(`[data-figure="${name}"]`)) {
      const forms = { octets, share: (part) => `${(100 * part).toFixed(1)} %` };
      const text = (forms[place.dataset.form] ?? number)(value);
      if (place.textContent !== text) {
        place.textContent = text;
        place.classList.remove("changed-figure");
        void place.offsetWidth;
        place.classList.add("changed-figure");
      }
    }
  };
  const source = document.querySelector('meta[name="centime-events"]');
  if (source && "EventSource" in window) {
    const live = document.getElementById("live");
    const events = new EventSource(source.content);
    let before = null;
    let asking = false;
    const again = async () => { // what is marked is replaced by what the page would show now
      const place = document.querySelector("[data-again]");
      if (!place || asking) return;
      asking = true;
      try {
        const answer = await fetch(location.href);
        const fresh = answer.ok && new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("[data-again]");
        if (fresh && fresh.innerHTML !== place.innerHTML && !place.contains(document.activeElement)) place.replaceWith(fresh);
      } catch { /* the next event asks again */ } finally {
        asking = false;
      }
    };
    events.addEventListener("figures", (event) => {
      const figures = JSON.parse(event.data);
      for (const [name, value] of Object.entries(figures)) show(name, value);
      const now = performance.now();
      if (before && now > before.time) {
        show("pages_per_second", Math.max(0, (figures.visits - before.visits) / ((now - before.time) / 1000)));
        show("bytes_per_second", Math.max(0, (figures.wire_bytes - before.bytes) / ((now - before.time) / 1000)));
      }
      before = { time: now, visits: figures.visits, bytes: figures.wire_bytes };
      live.textContent = "Live.";
      again();
    });
    events.addEventListener("trouble", (event) => { live.textContent = JSON.parse(event.data).error; });
    events.addEventListener("changes", (event) => {
      const list = document.getElementById("changes");
      for (const row of JSON.parse(event.data).changes) {
        const item = document.createElement("li");
        const link = document.createElement("a");
        const here = new URL("page", location.href);
        here.search = new URLSearchParams({ url: row.url }).toString();
        link.href = here.href;
        link.textContent = row.url;
        item.append(`${row.change} `, link);
        list.querySelector(".empty")?.remove();
        list.prepend(item);
        while (list.children.length > 30) list.lastElementChild.remove();
      }
    });
    events.onerror = () => { live.textContent = "The connection was lost; reconnecting."; };
  }
  const slider = document.querySelector('input[data-scale="log"]');
  if (slider) {
    const output = slider.form.querySelector("output");
    const least = Math.log2(slider.min), most = Math.log2(slider.max);
    const hidden = document.createElement("input");
    hidden.type = "hidden";
    hidden.name = slider.name;
    hidden.value = slider.value;
    const value = Number(slider.value);
    slider.removeAttribute("name");
    slider.removeAttribute("list");
    slider.min = String(least);
    slider.max = String(most);
    slider.step = "0.25";
    slider.value = String(Math.log2(value));
    slider.after(hidden);
    const tell = () => {
      hidden.value = String(2 ** Number(slider.value));
      output.textContent = `${Number((2 ** Number(slider.value)).toPrecision(3))} times`;
    };
    tell();
    slider.addEventListener("input", tell);
    slider.addEventListener("change", () => slider.form.requestSubmit());
  }
})();
